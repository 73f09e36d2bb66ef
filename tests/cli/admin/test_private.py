"""``codec-superb admin private``, from a folder of clips to the opened commitment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.server.board import make_submission
from support.server.ingest import categories, register
from support.server.private import CANARY, private_clips

from codec_superb.cli.main import call
from codec_superb.pipeline.private_sets.commitment import commitment
from codec_superb.server.database.models import VerificationJob
from codec_superb.server.database.session import Database


@pytest.fixture
def admin(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command with --json and return what it prints; ``code`` is the exit code that must come."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))

    def run(*arguments: str, code: int = 0) -> Any:
        assert call(["admin", "private", *arguments, "--storage", str(tmp_path / "storage"), "--json"]) == code
        told = capsys.readouterr()
        assert CANARY not in told.out
        return json.loads(told.out) if code == 0 else told.err

    return run


@pytest.fixture
def database(tmp_path: Path, admin: Callable[..., Any]) -> Iterator[Database]:
    """Open the database beside the commands, with a public dataset and two codecs on it."""
    assert admin("list") == []
    with closing(Database(f"sqlite:///{tmp_path / 'storage' / 'leaderboard.sqlite'}")) as opened:
        register(opened, "mini", categories())
        with opened.transaction(write=True) as session:
            make_submission(session, "opus_12k")
            make_submission(session, "mp3_64k", 64.0, datasets={"elsewhere": ("audio",)})
        yield opened


def test_from_clips_to_the_opened_commitment(admin: Callable[..., Any], database: Database, tmp_path: Path) -> None:
    """Public facts are printed, secrets only when a retired dataset is opened; each codec is queued once."""
    clips = str(private_clips(tmp_path))
    made = admin("add", "private-a", "--path", clips, "--compared-with", "mini", "--rotates", "2999-01-31")
    assert (made["clips"], made["rotates"], made["retired"]) == ({"audio": 22}, "2999-01-31", None)
    assert made["seconds"] == {"audio": round(sum(4000 + 100 * n for n in range(22)) / 16000)}
    assert admin("list") == [made]
    queued = admin("enqueue", "private-a", "--all")
    assert {entry["codec"]: entry["left_out"] for entry in queued} == {
        "opus_12k": "", "mp3_64k": "it has no results on mini",
    }  # fmt: skip
    (again,) = admin("enqueue", "private-a", "--codec", "opus_12k")
    assert again["left_out"] == "its job is queued"
    assert "which is in use: retire it first" in admin("open", "private-a", code=2)
    assert admin("retire", "private-a")["retired"]
    with database.transaction() as session:
        assert [job.state for job in session.query(VerificationJob)] == ["failed"]
    opened = admin("open", "private-a")
    assert commitment(opened["salt"], opened["manifest_hash"]) == made["commitment"] == opened["commitment"]
    assert "which is retired" in admin("enqueue", "private-a", "--all", code=2)
    assert admin("open", "private-a") == opened


def test_what_cannot_be(admin: Callable[..., Any], database: Database, tmp_path: Path) -> None:
    """Names, datasets and dates that do not fit are said in one line."""
    clips = private_clips(tmp_path)
    few = tmp_path / "few" / "audio"
    few.mkdir(parents=True)
    (clips / "audio" / f"{CANARY}-00.wav").rename(few / "one.wav")
    for number in range(1, 4):
        (clips / "audio" / f"{CANARY}-{number:02}.wav").rename(few / f"{number}.wav")
    fits = {"--path": str(clips), "--compared-with": "mini"}
    for name, changed, words in (
        ("private-a", {"--path": str(few.parent)}, "expected a category with 20 clips or more, got 4 audio"),
        ("private-a", {}, "expected a category with 20 clips or more, got 18 audio"),
        ("Private A", {"--path": str(few.parent)}, "expected a name of lower-case letters"),
        ("mini", {}, "a dataset is called mini already"),
        ("private-a", {"--compared-with": "nothing"}, "expected a public dataset of the board"),
    ):
        options = [word for pair in (fits | changed).items() for word in pair]
        (line,) = admin("add", name, *options, code=2).splitlines()
        assert words in line
    assert "no private dataset is called 'nothing'" in admin("retire", "nothing", code=2)
    assert "--codec" in admin("enqueue", "private-a", code=2)
