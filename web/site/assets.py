"""Static files of the leaderboard by hashed name: ``site.css`` is served as ``site.<hash>.css`` and never changes.

``site.css`` itself is put together from the palettes and the parts in ``static/site/style``: one request, one name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from types import MappingProxyType

from codec_superb.web.theme import DARK, LIGHT, Palette

MEDIA_TYPES = MappingProxyType({
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",  # RFC 9239: application/javascript is obsolete
    ".svg": "image/svg+xml",
})  # fmt: skip
_PLOTLY = "plotly.js"
_STYLE = "site.css"
_STYLE_PARTS = ("base", "forms", "tables", "charts", "pages", "codec", "compare", "listening", "print")
"""In cascade order: later rules override earlier ones."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file."""

    name: str
    """With its hash, as in the address."""
    media_type: str
    content: bytes


def asset_url(name: str) -> str:
    """Return the address of ``static/site/<name>``, or of ``plotly.js``; KeyError for a file that is not there."""
    return f"/static/{asset_named(name).name}"


def asset_named(name: str) -> Asset:
    """Find a file by its plain name; KeyError for a file that is not there."""
    return _by_name()[name]


def asset_names() -> Collection[str]:
    """Return the names of all files, as in their addresses."""
    return _by_hash().keys()


def asset(hashed: str) -> Asset | None:
    """Find a file by the name in its address; None for an unknown name."""
    return _by_hash().get(hashed)


@cache
def _by_name() -> dict[str, Asset]:
    folder = files("codec_superb.web") / "static" / "site"
    found = {entry.name: entry.read_bytes() for entry in folder.iterdir() if PurePath(entry.name).suffix in MEDIA_TYPES}
    found[_STYLE] = _style()
    found[_PLOTLY] = _plotly()
    return {name: _asset(name, content) for name, content in found.items()}


@cache
def _by_hash() -> dict[str, Asset]:
    return {entry.name: entry for entry in _by_name().values()}


def _asset(name: str, content: bytes) -> Asset:
    path = PurePath(name)
    return Asset(
        name=f"{path.stem}.{sha256(content).hexdigest()[:16]}{path.suffix}",
        media_type=MEDIA_TYPES[path.suffix],
        content=content,
    )


def _style() -> bytes:
    static = files("codec_superb.web") / "static"
    # the report has the first part too
    parts = [static / "multiples.css", *(static / "site" / "style" / f"{name}.css" for name in _STYLE_PARTS)]
    texts = [_colour_rules(), *(part.read_text(encoding="utf-8") for part in parts)]
    return "\n".join(texts).encode()


def _plotly() -> bytes:
    """Return the plotly.js bundled in the package plotly, so that no content delivery network is used."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_bytes()


def _colour_rules() -> str:
    """Write the custom properties of both palettes; paper is always light."""
    # prefers-color-scheme is the choice of the visitor's system; data-theme that on this site, which wins
    light, dark = _declarations(LIGHT), _declarations(DARK)
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
    )


def _declarations(palette: Palette) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.variables().items())
