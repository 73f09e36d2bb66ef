"""What the board says of private datasets: rows, the mark of a gap that stands out, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import FastAPI
from sqlalchemy import update
from starlette.testclient import TestClient
from support.html import elements, forbidden
from support.pipeline.stats import draw_rows, failed
from support.server.board import make_submission
from support.server.private import CANARY, Board, add_gaps, add_private_set

from codec_superb.pipeline.tables.rows import MetricValue
from codec_superb.server.database.models import PrivateDataset, PrivateResult, Submission
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.private_sets.repository import all_rows, rows_of
from codec_superb.server.private_sets.results import reduced

USUAL = {"opus_16k": 0.02, "mp3_64k": 0.03, "lc3_32k": 0.025, "speex_8k": 0.035, "codec2_1200": 0.03}


def test_a_fitted_codec_stands_out_beside_other_families(client: TestClient, app: FastAPI, database: Database) -> None:
    """Ten variants of one's own do not move what is typical; page, codec page and API mark the same codecs."""
    fitted = {f"fitted_{number}": 0.2 for number in range(10)}
    with database.transaction(write=True) as session:
        add_gaps(session, add_private_set(session), USUAL | fitted)
        rows = {row.codec: row for row in all_rows(session)}
    assert {codec for codec, row in rows.items() if row.stands_out} == set(fitted)
    assert rows["fitted_0"].typical == 0.03
    app.state.board.refresh()
    page = client.get("/private").text
    assert page.count("gap stands out") == len(fitted)
    assert forbidden(page) == []
    assert CANARY not in page
    codec = client.get("/codecs/fitted_3").text
    assert len(elements(codec, "section", **{"aria-labelledby": "private"})) == 1
    assert "may be fitted to the public one" in codec
    assert "gap stands out" not in client.get("/codecs/mp3_64k").text
    answer = client.get("/api/v1/private-sets").json()
    assert {gap["codec"] for gap in answer["gaps"] if gap["stands_out"]} == set(fitted)
    assert (answer["sets"][0]["salt"], answer["sets"][0]["manifest_hash"]) == (None, None)
    assert client.get("/api/v1/codecs/nobody/private").status_code == 404


def test_when_a_set_is_replaced(client: TestClient, app: FastAPI, database: Database) -> None:
    """Page and API tell the day; of a set that is retired, that day instead."""
    with database.transaction(write=True) as session:
        made = add_private_set(session)
        add_gaps(session, made, USUAL)
        made.rotates = datetime(2999, 1, 31, tzinfo=UTC)
    app.state.board.refresh()
    assert ", replaced 2999-01-31" in client.get("/private").text
    assert client.get("/api/v1/private-sets").json()["sets"][0]["rotates"] == "2999-01-31"
    with database.transaction(write=True) as session:
        session.execute(update(PrivateDataset).values(retired=datetime(2998, 12, 30, tzinfo=UTC)))
        bump_revision(session)
    app.state.board.refresh()
    page = client.get("/private").text
    assert ", retired 2998-12-30" in page
    assert "2999-01-31" not in page


def test_the_largest_gap_is_first(database: Database) -> None:
    """No difference at all is larger than a better private score, and what has no gap comes last."""
    gaps = {"below_1": -0.02, "none_1": None, "above_1": 0.01, "same_1": 0.0}
    with database.transaction(write=True) as session:
        add_gaps(session, add_private_set(session), gaps)
        assert [row.codec for row in all_rows(session)] == ["above_1", "same_1", "below_1", "none_1"]


def test_without_five_other_families_nothing_stands_out(database: Database) -> None:
    """Nobody knows then what is typical."""
    with database.transaction(write=True) as session:
        few = dict(list(USUAL.items())[:4])
        add_gaps(session, add_private_set(session), few | {"fitted_1": 0.4})
        assert [(row.typical, row.stands_out) for row in rows_of(session, "fitted_1")] == [(None, False)]


def test_small_groups_failed_runs_and_hidden_versions(client: TestClient, app: FastAPI, database: Database) -> None:
    """A row of fewer than 20 clips is never shown; a failed run has no gap; a version that is held is hidden."""
    with database.transaction(write=True) as session:
        made = add_gaps(session, add_private_set(session), USUAL | {"broken_1": None})
        small = update(PrivateResult).where(PrivateResult.submission_id == made["mp3_64k"])
        session.execute(small.values(summary={"clips": 19, "complete": True, "score": 0.7, "low": 0.6, "high": 0.8}))
        session.execute(update(Submission).where(Submission.id == made["lc3_32k"]).values(status="held"))
        bump_revision(session)
        rows = {row.codec: row for row in all_rows(session)}
    assert set(rows) == {"opus_16k", "speex_8k", "codec2_1200", "broken_1"}
    assert (rows["broken_1"].gap.value, rows["broken_1"].complete, rows["broken_1"].stands_out) == (None, False, False)
    app.state.board.refresh()
    assert "<small>incomplete</small>" in client.get("/private").text
    assert client.get("/api/v1/codecs/mp3_64k/private").json()["gaps"] == []


def test_rows_say_whose_word_they_are_and_a_new_version_erases_none(
    client: TestClient, app: FastAPI, database: Database
) -> None:
    """Forged families do not move what is typical; a version that was run stays, marked, whatever is sent after it."""
    with database.transaction(write=True) as session:
        dataset = add_private_set(session)
        add_gaps(session, dataset, USUAL)
        gaps = {f"forged{number}_1": 0.5 for number in range(9)} | {"mine_1": 0.2}
        forged = add_gaps(session, dataset, gaps, status="self-reported")
        make_submission(session, "mine_1", 12.0, 0.7)
        session.execute(update(Submission).where(Submission.id == forged["mine_1"]).values(status="withdrawn"))
        bump_revision(session)
    app.state.board.refresh()
    found = {gap["codec"]: gap for gap in client.get("/api/v1/private-sets").json()["gaps"]}
    told = ("version", "current", "source", "submitter", "typical_gap", "stands_out")
    assert [found["mine_1"][name] for name in told] == [1, False, "withdrawn", "someone", 0.03, True]
    assert [found["opus_16k"][name] for name in told[:4]] == [1, True, "verified", "someone"]
    page = client.get("/private").text
    badges = {"self-reported": 9, "withdrawn": 1, "version 1": 1, "verified": 5}
    assert {word: page.count(f">{word}</span>") for word in badges} == badges


def test_too_few_clips_are_not_kept(board: Board) -> None:
    """Nineteen values behind one metric, clips that failed, a category of seven: nothing, no gap, nothing.

    Four speakers have no interval.
    """
    rows = draw_rows(3, 75, dataset="private", categories=("speech", "audio", "music"))
    speech = [row for row in rows if row.category == "speech"]
    for row in speech[:6]:
        row.metrics["pesq"] = MetricValue(status="undefined", reason="no utterance")
    audio = [row for row in rows if row.category == "audio"]
    speakers = [row.model_copy(update={"cluster": f"{n % 4:012x}"}) for n, row in enumerate(audio)]
    audio[0] = failed(audio[0].clip, dataset="private", category="audio")
    with board.database.transaction(write=True) as session:
        dataset = add_private_set(session)
        dataset.counts = {"speech": 25, "audio": 25, "music": 7}
        found = reduced(session, board.submission, dataset, [*speech, *audio, *rows[2::3]])
        (of_few,) = reduced(session, board.submission, dataset, speakers).results
    assert (of_few.gap is None, of_few.gap_low, of_few.summary["low"]) == (False, None, None)
    assert of_few.summary["score"] is not None
    (kept,) = found.results
    assert (kept.category, kept.gap, kept.summary["complete"]) == ("audio", None, False)
    assert found.words == (
        "speech: nothing kept, fewer than 20 clips behind a metric; audio: 25 clips, no gap: a side is incomplete"
    )
