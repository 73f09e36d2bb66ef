"""Addresses of a file of Debian's archive: at the mirrors that apt is configured with here, then the public one.

apt's own settings are read as sources.list(5) describes them, in both formats. apt itself is not needed, and where it
is not there, only the public address is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

PUBLIC = "https://deb.debian.org/debian"
APT = Path("/etc/apt")
# the one-line format; after it the fields of deb822, whose values go on in indented lines
_LINE = re.compile(r"\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s")
_FIELD = re.compile(r"(?im)^(uris|types|enabled):[ \t]*(.*(?:\n[ \t]+.*)*)")


def addresses(url: str, apt: Path = APT) -> tuple[str, ...]:
    """Return the addresses to ask for the file at ``url``: itself alone unless it lies below :data:`PUBLIC`."""
    if not url.startswith(f"{PUBLIC}/"):
        return (url,)
    path = url.removeprefix(PUBLIC)
    return tuple(dict.fromkeys([*(mirror.rstrip("/") + path for mirror in _mirrors(apt)), url]))


def _mirrors(apt: Path) -> Iterator[str]:
    for file in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        if file.suffix not in {".list", ".sources"}:
            continue
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # apt would refuse it; the public address is left
            continue
        for uri in _deb822(text) if file.suffix == ".sources" else _lines(text):
            parts = urlsplit(uri)
            # Debian's mirrors serve the archive as /debian; /debian-security and other vendors' pools lack the file.
            if parts.scheme in {"http", "https"} and parts.path.rstrip("/").endswith("/debian"):
                yield uri


def _lines(text: str) -> Iterator[str]:
    yield from (match[1] for line in text.splitlines() if (match := _LINE.match(line)))


def _deb822(text: str) -> Iterator[str]:
    without_comments = re.sub(r"(?m)^#.*\n?", "", text)
    for stanza in re.split(r"\n\s*\n", without_comments):
        fields = {match[1].lower(): match[2].split() for match in _FIELD.finditer(stanza)}
        if fields.get("enabled", ["yes"])[:1] != ["no"] and "deb" in fields.get("types", []):
            yield from fields.get("uris", [])
