"""Debian's files are asked for where apt is configured to ask, and then at the public address."""

from __future__ import annotations

from pathlib import Path

import pytest

from codec_superb.data_manifests.packages.debian_mirrors import PUBLIC, addresses

_FILE = "/pool/main/t/tuxpaint-stamps/stamps.deb"
_ONE_LINE = """
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://mirror.example/debian/ bookworm main
deb-src http://source.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb cdrom:[Debian]/ bookworm main
deb ftp://old.example/debian bookworm main
deb https://vendor.example/apt stable main
"""
_DEB822 = """
# Types: deb
Types: deb deb-src
URIs: https://first.example/debian
 https://second.example/linux/debian
Suites: bookworm

Types: deb
Enabled: no
URIs: https://off.example/debian
Suites: bookworm

Types: deb-src
URIs: https://sources.example/debian
Suites: bookworm
"""


@pytest.mark.parametrize(
    ("name", "text", "mirrors"),
    [
        ("sources.list", _ONE_LINE, ["http://mirror.example/debian"]),
        (
            "sources.list.d/debian.sources",
            _DEB822,
            ["https://first.example/debian", "https://second.example/linux/debian"],
        ),
        ("sources.list.d/notes.txt", _ONE_LINE, []),
    ],
    ids=["one line", "deb822", "neither"],
)
def test_mirrors_of_apt_come_first(tmp_path: Path, name: str, text: str, mirrors: list[str]) -> None:
    """Only archives of Debian's binary packages, without what is commented out or disabled; the public one is last."""
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    assert addresses(PUBLIC + _FILE, tmp_path) == tuple(mirror + _FILE for mirror in [*mirrors, PUBLIC])


def test_other_addresses_are_left_alone(tmp_path: Path) -> None:
    """A mirror of Debian has only Debian's files; the public mirror is not asked twice."""
    (tmp_path / "sources.list").write_text(f"deb http://mirror.example/debian x main\ndeb {PUBLIC} x main\n")
    assert addresses("https://example.org/a.deb", tmp_path) == ("https://example.org/a.deb",)
    assert addresses(PUBLIC + _FILE, tmp_path) == (f"http://mirror.example/debian{_FILE}", PUBLIC + _FILE)


def test_without_apt_the_public_address_is_left(tmp_path: Path) -> None:
    """macOS, Windows and other distributions have no such folder."""
    assert addresses(PUBLIC + _FILE, tmp_path / "absent") == (PUBLIC + _FILE,)
