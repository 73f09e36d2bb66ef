"""Nothing of a private clip is anywhere that somebody looks: pages, API, exports, queue, log, database, disk."""

from __future__ import annotations

import re
import resource
from collections import deque
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest
from sqlalchemy import JSON, String, Text, cast, select
from starlette.testclient import TestClient
from support.limits import limit
from support.logged import Logged
from support.profile import amount
from support.server.people import log_in, make_token
from support.server.private import CANARY, Board

from codec_superb.cli.verification.private_job import run_private
from codec_superb.cli.verification.worker import Context
from codec_superb.server.database.models import Base, PrivateResult, VerificationJob
from codec_superb.server.private_sets.queue import enqueue
from codec_superb.server.private_sets.registry import find_or_not_found

PAGES = amount(120, 250)
"""Read by each of two visitors, the nearest first: all addresses of the API are among them."""
_FILLED = {
    "name": "opus_16k", "number": "0", "side": "reference", "picture": "reference", "category": "audio",
    "metric": "mel", "figure": "mseb_retrieval_mrr", "codec": "opus_16k", "dataset": "mini", "clip": "mini/clip001",
    "chart": "clips", "address": "x",
}  # fmt: skip


def everything(client: TestClient, board: Board, starts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield path and text of every page that links reach, and of every address of the API that is read."""
    wanted, seen = deque([*starts, *_addresses(board)]), set()
    while wanted and len(seen) < PAGES:
        path = wanted.popleft().partition("#")[0]
        if path in seen:
            continue
        seen.add(path)
        answer = client.get(path, headers={"accept": "text/html" if "/api/" not in path else "*/*"})
        assert answer.status_code < 500, path
        yield path, answer.text + str(answer.headers)
        if "text/html" in answer.headers.get("content-type", ""):
            links = re.findall(r'(?:href|src|data-figure)="([^"]+)"', answer.text)
            found = [urljoin(path, unescape(link)) for link in links]
            wanted += [link for link in found if link.startswith("/") and "/static/" not in link]


def _addresses(board: Board) -> Iterator[str]:
    document = board.app.openapi()
    known = _FILLED | dict.fromkeys(("submission_id", "identity", "old", "new"), board.submission)
    for path, methods in document["paths"].items():
        asked = [each["name"] for each in methods.get("get", {}).get("parameters", ()) if each.get("required")]
        query = "&".join(f"{name}={known.get(name, 'x')}" for name in asked if f"{{{name}}}" not in path)
        yield re.sub(r"{(\w+)}", lambda found: known.get(found[1], "x"), path) + (f"?{query}" if query else "")


@pytest.mark.sample(1, among="private clips stay private")
def test_a_run_with_a_failing_clip_leaves_no_trace(
    board: Board, broken_clips: Path, capfd: pytest.CaptureFixture[str], logged: Logged
) -> None:
    """Visitors, a moderator, the log and every column of the database: neither names nor salt nor path."""
    salt = board.add("private-2026", broken_clips)
    job = board.run("private-2026")
    assert (job.state, job.outcome) == ("done", "measured")
    assert job.message.startswith("1 of 22 clips without resynthesis (load: AudioFileError 1). audio: ")
    pages = dict(everything(board.client, board, ("/", "/private", "/datasets", "/custom", "/codecs/opus_16k")))
    log_in(board.client, make_token(board.database))
    pages |= dict(everything(board.client, board, ("/moderation", "/moderation/audit", "/private")))
    assert "private-2026" in pages["/private"]
    assert len(pages) > 100
    told = capfd.readouterr()
    for path, text in {**pages, "output": told.out + told.err, "log": logged.text}.items():
        assert [word for word in (CANARY, salt, salt[:16]) if word in text] == [], path
    assert list((board.settings.storage / "private").glob("run-*")) == []
    with board.database.transaction() as session:
        for table in Base.metadata.sorted_tables:
            for column in table.columns:
                if isinstance(column.type, String | Text | JSON) and (table.name, column.name) != (
                    "private_datasets", "path",
                ):  # fmt: skip
                    held = session.scalars(select(cast(column, Text)).where(cast(column, Text).contains(CANARY)))
                    assert held.all() == [], (table.name, column.name)


@pytest.mark.sample(1, among="private clips stay private")
def test_what_is_kept_is_rounded(board: Board, clips: Path) -> None:
    """A whole run gives a gap between two scores of three decimals, and the version is not run twice."""
    board.add("private-2026", clips)
    job = board.run("private-2026")
    assert job.message == "22 clips measured. audio: 22 clips"
    with board.database.transaction() as session:
        (row,) = session.scalars(select(PrivateResult)).all()
    assert row.summary.keys() == {"clips", "complete", "score", "low", "high"}
    numbers = [row.gap, row.gap_low, row.gap_high, *(row.summary[name] for name in ("score", "low", "high"))]
    assert all(round(number, 3) == number for number in numbers)
    assert row.gap_low < row.gap < row.gap_high
    (gap,) = board.client.get("/api/v1/codecs/opus_16k/private").json()["gaps"]
    assert gap["gap"]["value"] == row.gap
    # of the scores as they are shown: rounded by itself it would tell a further digit
    assert round(gap["public"]["value"], 3) - gap["private"]["value"] == pytest.approx(row.gap, abs=1e-9)
    with board.database.transaction(write=True) as session:
        (again,) = enqueue(session, "private-2026", ["opus_16k"], actor="the test")
    assert again.left_out == "this version was run: once only"


@pytest.mark.sample(1, among="private clips stay private")
def test_another_state_of_the_clips_is_not_run(board: Board, clips: Path) -> None:
    """The commitment holds: a changed dataset ends the job, and says no more than that. A full disk is tried again."""
    board.add("private-2026", clips)
    with board.database.transaction(write=True) as session:
        found = find_or_not_found(session, "private-2026")
        committed, found.commitment = found.commitment, "0" * 64
    job = board.run("private-2026")
    assert (job.outcome, job.message) == ("cannot run", "the dataset is not the one that was committed to")
    assert board.client.get("/api/v1/private-sets").json()["gaps"] == []

    def without_room(context: Context, job: VerificationJob) -> None:
        with limit(resource.RLIMIT_FSIZE, 100):
            run_private(context, job)

    with board.database.transaction(write=True) as session:
        find_or_not_found(session, "private-2026").commitment = committed
    job = board.run("private-2026", {"private": without_room})
    assert (job.state, job.attempts, job.message) == (
        "queued", 0, "there is no room on the disk of this machine; it waits for 10 minutes",
    )  # fmt: skip
