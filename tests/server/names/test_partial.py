"""Results of which clips are lacking: which take nobody's place, and whose place they hold under a condition."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select
from support.pipeline.stats import draw_rows, failed
from support.server.ingest import CLIPS, Service, categories, make_file

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Submission, VerificationJob
from codec_superb.server.moderation.service import decide
from codec_superb.server.names.claims import name_warnings
from codec_superb.server.verification.candidates import enqueue_unverified

SEEDS = count(50)
BITS = parse_condition("bits:0.1")
CODECS = {
    "test_clips_that_failed_under_a_condition_were_asked_for": "opus_24k",
    "test_results_of_few_clips_wait_where_the_others_failed": "opus_12k",
    "test_clips_that_were_not_asked_for_claim_nothing": "opus_16k",
    "test_all_of_a_small_dataset_take_no_place_of_a_large_one": "opus_32k",
}
"""Codec, and with it accounts, of each test."""


@pytest.fixture
def send(request: pytest.FixtureRequest, service: Service, tmp_path: Path) -> Any:
    """Send results of an account under bit errors: of how many clips of a dataset, and how many of them failed."""
    codec = CODECS[request.function.__name__]  # the service is of all tests

    def sent(account: str, *, clips: int = CLIPS, of: int = CLIPS, lost: int = 0, dataset: str = "mini") -> Any:
        sender = f"{account}_{codec}"
        rows = draw_rows(next(SEEDS), clips, dataset=dataset)
        for place in range(clips - lost, clips):
            rows[place] = failed(rows[place].clip, dataset=dataset, category=rows[place].category)
        about = {"clips": of}
        data = make_file(rows, tmp_path / sender, codec=codec, condition=BITS, about=about)
        return service.send(data, account=sender).json()

    return sent


def test_clips_that_failed_under_a_condition_were_asked_for(send: Any) -> None:
    """Half of the clips fail under bit errors: a complete result of another account waits, the honest one stands."""
    assert send("ann", lost=6)["status"] == "self-reported"
    assert [warning["kind"] for warning in send("mallory")["warnings"]] == ["standing"]
    assert send("ann", lost=5)["status"] == "self-reported"


def test_results_of_few_clips_wait_where_the_others_failed(send: Any) -> None:
    """Under a name of the catalogue five of twelve say too little to stand in the way of who has all."""
    waits = send("mallory", lost=7)
    assert (waits["status"], [warning["kind"] for warning in waits["warnings"]]) == ("held", ["name"])
    assert send("ann")["status"] == "self-reported"


def test_clips_that_were_not_asked_for_claim_nothing(send: Any) -> None:
    """Seven of twelve give way to who asked for all, clips that failed among them, but not to fewer that are left."""
    assert send("mallory", clips=7)["status"] == "self-reported"
    assert send("eve", lost=6)["status"] == "held"
    assert send("ann", lost=4)["status"] == "self-reported"
    assert send("bob")["status"] == "held"


def test_all_of_a_small_dataset_take_no_place_of_a_large_one(service: Service, send: Any) -> None:
    """However many clips of it failed."""
    service.know("large", categories(30, "large"))
    assert send("ann", clips=28, of=30, lost=14, dataset="large")["status"] == "self-reported"
    assert send("mallory")["status"] == "held"


def test_who_sends_again_while_a_run_is_waited_for(service: Service, tmp_path: Path) -> None:
    """The newest is run alone: it takes the place of the one before, which waited for nobody but the worker."""

    def honest(account: str = "alice") -> dict[str, Any]:
        seed = next(SEEDS)
        data = make_file(draw_rows(seed, CLIPS), tmp_path / str(seed), codec="mp3_48k", about={"clips": CLIPS})
        answer: dict[str, Any] = service.send(data, account=account).json()
        return answer

    assert honest("mallory")["status"] == "self-reported"
    first, second = honest(), honest()
    for answer in (first, second):
        assert [each["kind"] for each in answer["warnings"] if each["holds"]] == ["standing"]
    with service.database.transaction(write=True) as session:
        before, newest = (session.get_one(Submission, each["id"]) for each in (first, second))
        assert (before.status, before.reason, newest.status) == ("withdrawn", "version 3 came after it", "held")
        assert enqueue_unverified(session) >= 1
        queued = session.scalars(select(VerificationJob.submission_id)).all()
        assert newest.id in queued
        assert before.id not in queued
        session.execute(delete(VerificationJob))


def test_no_two_anonymous_files_are_of_one_sender(service: Service, tmp_path: Path) -> None:
    """A few clips that would stand in front of another visitor's say so, where a moderator decides about them."""
    with service.database.transaction(write=True) as session:
        whole = make_file(draw_rows(next(SEEDS), CLIPS), tmp_path / "whole", codec="opus_96k")
        decide(session, service.send(whole, account=None).json()["id"], "accept", "", actor="moderator")
    few = make_file(draw_rows(next(SEEDS), 6), tmp_path / "few", codec="opus_96k", about={"clips": CLIPS})
    later = service.send(few, account=None).json()["id"]
    with service.database.transaction() as session:
        told = [text for _, text in name_warnings(session, session.get_one(Submission, later))]
    assert told == ["stands in front of the results of an anonymous upload under a name of the catalogue"]


def test_beside_a_partial_result_that_was_run_again(service: Service, tmp_path: Path) -> None:
    """What stands behind it waits for nobody, nor does a complete one of as many clips; one of fewer clips waits."""

    def clean(account: str, clips: int, of: int, dataset: str = "mini") -> tuple[str, list[str]]:
        rows = draw_rows(next(SEEDS), clips, dataset=dataset)
        data = make_file(rows, tmp_path / account, codec="aac_24k", about={"clips": of})
        answer = service.send(data, account=account).json()
        return answer["id"], [each["kind"] for each in answer["warnings"] if each["holds"]]

    service.know("larger", categories(2 * CLIPS, "larger"))
    part, _ = clean("verity", 2 * CLIPS - 2, 2 * CLIPS, "larger")
    with service.database.transaction(write=True) as session:
        decide(session, part, "verify", "", actor="moderator")
    assert clean("bert", CLIPS - 2, CLIPS)[1] == []
    assert clean("carla", CLIPS, CLIPS)[1] == ["standing"]
    assert clean("dora", 2 * CLIPS, 2 * CLIPS, "larger")[1] == []
