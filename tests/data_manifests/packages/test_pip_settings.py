"""What pip is configured with is what we use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.packages.pip_settings import PipSettings, local_path, read_pip_settings


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Give an environment whose configuration files are all below ``tmp_path``."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    (tmp_path / "prefix").mkdir()
    return {
        "HOME": str(tmp_path / "user"),
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "PIP_CONFIG_FILE": str(tmp_path / "own.conf"),
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_any_setting_the_public_index_is_asked() -> None:
    """A machine that says nothing gets pip's own defaults."""
    settings = read_pip_settings({"PIP_CONFIG_FILE": os.devnull})
    assert settings == PipSettings(indexes=(None,))


def test_variables_are_read() -> None:
    """Each PIP_ variable that a download needs is taken."""
    settings = read_pip_settings(
        {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": "https://one.example/simple",
            "PIP_EXTRA_INDEX_URL": "file:///srv/two%20b https://three.example/simple",
            "PIP_FIND_LINKS": "/opt/wheels https://links.example/ file:///opt/more",
            "PIP_CERT": "/etc/ca.pem",
            "PIP_CLIENT_CERT": "/etc/me.pem",
            "PIP_PROXY": "http://proxy.example:3128",
            "PIP_TRUSTED_HOST": "one.example two.example:8443",
            "PIP_DEFAULT_TIMEOUT": "60",
            "PIP_RETRIES": "1",
        }
    )
    assert settings == PipSettings(
        indexes=("https://one.example/simple", "file:///srv/two%20b", "https://three.example/simple"),
        find_links=(Path("/opt/wheels"), Path("/opt/more")),
        cert="/etc/ca.pem",
        client_cert="/etc/me.pem",
        proxy="http://proxy.example:3128",
        trusted_hosts=("one.example", "two.example:8443"),
        timeout=60.0,
        retries=1,
    )


def test_later_files_and_variables_overrule_earlier_ones(tmp_path: Path, environ: dict[str, str]) -> None:
    """System, user, environment, own file, variables: as pip orders them."""
    _write(tmp_path / "xdg/pip/pip.conf", "[global]\nindex-url = https://system.example\ntimeout = 1\nretries = 1\n")
    _write(tmp_path / "user/.config/pip/pip.conf", "[global]\nindex_url = https://user.example\ntimeout = 2\n")
    _write(tmp_path / "prefix/pip.conf", "[global]\ncert = /site.pem\n")
    _write(tmp_path / "own.conf", "[global]\ncert = ~/own.pem\n[download]\ntimeout = 3\n")
    settings = read_pip_settings(environ)
    assert settings.indexes == ("https://user.example",)
    assert (settings.timeout, settings.retries) == (3.0, 1)
    assert settings.cert is not None
    assert settings.cert.endswith("/own.pem")
    assert read_pip_settings(environ | {"PIP_TIMEOUT": "9"}).timeout == 9.0


def test_several_extra_indexes_stand_on_lines_of_their_own(tmp_path: Path, environ: dict[str, str]) -> None:
    """The usual way to write a list in pip.conf is understood."""
    _write(tmp_path / "own.conf", "[global]\nextra-index-url =\n    https://one.example\n    file:///two\n")
    assert read_pip_settings(environ).indexes == (None, "https://one.example", "file:///two")


def test_no_index_means_no_index() -> None:
    """With no-index only local folders are looked into."""
    settings = read_pip_settings({"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_INDEX_URL": "https://x"})
    assert settings.indexes == ()


def test_what_cannot_be_read_is_told(tmp_path: Path, environ: dict[str, str]) -> None:
    """A broken file or number is named, not ignored."""
    with pytest.raises(DatasetError, match="pip's setting timeout is no number: 'soon'"):
        read_pip_settings({"PIP_CONFIG_FILE": os.devnull, "PIP_TIMEOUT": "soon"})
    _write(tmp_path / "own.conf", "index-url = https://no.section\n")
    with pytest.raises(DatasetError, match=r"cannot read pip's configuration .*own\.conf"):
        read_pip_settings(environ)


def test_local_addresses_are_told_from_addresses_on_a_network() -> None:
    """``file:`` addresses and plain paths are paths; the rest is not."""
    assert local_path("file:///srv/a%20b") == Path("/srv/a b")
    assert local_path("/srv/wheels") == Path("/srv/wheels")
    assert local_path("https://example.org/simple") is None
