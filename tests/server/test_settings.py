"""Settings that cannot be meant are refused at the start, in one sentence that names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from codec_superb.cli.main import call
from codec_superb.server.settings import Settings


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "TRUSTED_PROXY",
            "127.0.0.1",
            "is no setting; the nearest is CODEC_SUPERB_SERVER_TRUSTED_PROXIES",
        ),
        ("DATABASE_URL", "sqlite:///x", "the nearest is CODEC_SUPERB_SERVER_DATABASE"),
        ("CHECK_WORKERS", "0", "CHECK_WORKERS: expected a number of at least 1 with SQLite, got '0'"),
        ("CHECK_SECONDS", "0", "CHECK_SECONDS: expected a number above 0"),
        ("BASE_URL", "board.example.org", "BASE_URL: expected the address of a whole site"),
        ("BASE_URL", "https://board.example.org/submit", "BASE_URL: expected the address of a whole site"),
        ("TRUSTED_PROXIES", "proxy", "TRUSTED_PROXIES: expected an address or a network"),
        ("TRUSTED_PROXIES", "[127.0.0.1", "TRUSTED_PROXIES: expected addresses separated by commas"),
        ("SECRET_KEY", "do-not-tell", "SECRET_KEY: String should have at least 32 characters"),
    ],
)
def test_a_setting_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    name: str, value: str, words: str,
) -> None:  # fmt: skip
    """Exit 2, nothing is made, and a secret is not repeated."""
    monkeypatch.setenv(f"CODEC_SUPERB_SERVER_{name}", value)
    assert call(["admin", "token", "list", "--storage", str(tmp_path / "storage")]) == 2
    told = capsys.readouterr().err
    assert words in " ".join(told.split())
    assert "Traceback" not in told
    assert "do-not-tell" not in told
    assert not (tmp_path / "storage").exists()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("127.0.0.1", ("127.0.0.1",)),
        (" 10.0.0.0/8, ::1 ", ("10.0.0.0/8", "::1")),
        ('["172.30.7.2"]', ("172.30.7.2",)),
        ("", ()),
    ],
)
def test_proxies_are_a_list(monkeypatch: pytest.MonkeyPatch, given: str, read: tuple[str, ...]) -> None:
    """One address, several with commas, or JSON as every list."""
    monkeypatch.setenv("CODEC_SUPERB_SERVER_TRUSTED_PROXIES", given)
    assert Settings().trusted_proxies == read
