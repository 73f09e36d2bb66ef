"""Static files: names that change with their content, one style sheet with both palettes."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files

from codec_superb.web.site.assets import asset, asset_named, asset_url
from codec_superb.web.theme import DARK, LIGHT


def style() -> str:
    """Read the style sheet as it is served."""
    return asset_named("site.css").content.decode()


def test_names_carry_the_hash_of_the_content() -> None:
    """Whoever has the name has the content, for good."""
    for name in ("site.css", "theme.js", "charts.js", "board.js", "favicon.svg", "plotly.js"):
        found = asset(asset_url(name).removeprefix("/static/"))
        assert found is not None
        assert sha256(found.content).hexdigest()[:16] in found.name


def test_style_holds_both_palettes() -> None:
    """Light for everybody, dark where the system or the visitor wants it, each colour of the theme."""
    base, system, chosen = style().split("\n")[:3]
    for name, colour in LIGHT.variables().items():
        assert f"--{name}: {colour};" in base
    for name, colour in DARK.variables().items():
        assert f"--{name}: {colour};" in system
        assert f"--{name}: {colour};" in chosen
    assert "prefers-color-scheme: dark" in system
    assert '[data-theme="dark"]' in chosen


def test_style_holds_every_part() -> None:
    """No file of the folder is forgotten."""
    served = style()
    for part in (files("codec_superb.web") / "static" / "site" / "style").iterdir():
        assert part.read_text(encoding="utf-8") in served


def test_style_uses_only_colours_of_the_theme() -> None:
    """A colour that is typed in would not change with the palette."""
    parts = style().split("\n", 3)[3]
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", re.sub(r"/\*.*?\*/", "", parts, flags=re.DOTALL)) == []
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", parts))
    assert used <= {*LIGHT.variables(), "side", "wide", "measure", "radius"}


def test_pages_load_nothing_from_elsewhere() -> None:
    """No style or script of ours names another host, but for the namespace of SVG."""
    for entry in (files("codec_superb.web") / "static" / "site").iterdir():
        if entry.is_file():
            hosts = re.findall(r"https?://[^\s\"']+", entry.read_text(encoding="utf-8"))
            assert set(hosts) <= {"http://www.w3.org/2000/svg"}


def test_an_invented_name_is_not_found() -> None:
    """Only names that were given out are answered."""
    assert asset("site.0123456789abcdef.css") is None
    assert asset("../secret.css") is None
