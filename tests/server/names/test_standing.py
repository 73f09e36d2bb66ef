"""Whose self-reported results stand for a name of the catalogue, those of which clips are lacking among them."""

from __future__ import annotations

from itertools import count, permutations
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from support.pipeline.stats import draw_rows, failed
from support.server.board import make_submission
from support.server.ingest import CLIPS, Service, categories, kinds, make_file, standing, token_of
from support.server.people import log_in

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.board.repository import counted_submissions
from codec_superb.server.database.models import Submission, VerificationJob
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.repository import behind_others
from codec_superb.server.moderation.service import decide
from codec_superb.server.moderation.verified_first import place_anew
from codec_superb.server.names.claims import name_warnings
from codec_superb.server.names.standing import Claim, order
from codec_superb.server.verification.candidates import enqueue_unverified

SEEDS = count(50)
BITS = parse_condition("bits:0.1")
CODECS = {
    "test_clips_that_failed_under_a_condition_were_asked_for": "opus_24k",
    "test_results_of_few_clips_wait_where_the_others_failed": "opus_12k",
    "test_clips_that_were_not_asked_for_claim_nothing": "opus_16k",
    "test_all_of_a_small_dataset_take_no_place_of_a_large_one": "opus_32k",
    "test_a_verified_result_of_a_few_clips_under_a_condition": "opus_128k",
}
"""Codec, and with it accounts, of each test."""


def whole(folder: Path, codec: str, clips: int = CLIPS, dataset: str = "mini") -> bytes:
    """Pack clean results of all clips."""
    return part(folder, codec, clips, clips, dataset)


def part(folder: Path, codec: str, clips: int, of: int = CLIPS, dataset: str = "mini") -> bytes:
    """Pack clean results of some clips."""
    return make_file(draw_rows(next(SEEDS), clips, dataset=dataset), folder, codec=codec, about={"clips": of})


def decided(service: Service, identity: str, decision: Any, *, actor: str = "moderator") -> None:
    """Decide as a moderator does, or the worker, or the account that takes back what it sent."""
    with service.database.transaction(write=True) as session:
        decide(session, identity, decision, "because", actor=actor)


def listed_behind(service: Service, codec: str) -> list[tuple[str, str]]:
    """Return what moderators see of results behind others' of a codec."""
    with service.database.transaction() as session:
        found = [(each.id, first.id) for each, first in behind_others(session, 50) if each.codec.name == codec]
    log_in(service.client, token_of(service.database, "moderator", ["moderate"]))
    try:
        page = service.client.get("/moderation").text
    finally:
        service.client.cookies.clear()
    assert all(f"/submissions/{first}/diff/{each}" in page for each, first in found)
    return found


@pytest.fixture
def stands(service: Service) -> Any:
    """Tell which submission stands for a codec under bit errors."""
    return lambda codec: standing(service, codec, BITS.name)


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


def test_clips_that_failed_under_a_condition_were_asked_for(send: Any, stands: Any) -> None:
    """Half of the clips fail under bit errors: a complete result of another account is behind the honest one."""
    assert kinds(send("ann", lost=6)) == []
    assert kinds(send("mallory")) == ["standing"]
    newest = send("ann", lost=5)
    assert kinds(newest) == []
    assert stands("opus_24k") == newest["id"]


def test_results_of_few_clips_wait_where_the_others_failed(send: Any) -> None:
    """Under a name of the catalogue five of twelve say too little to stand in the way of who has all."""
    waits = send("mallory", lost=7)
    assert (waits["status"], [warning["kind"] for warning in waits["warnings"]]) == ("held", ["name"])
    assert send("ann")["status"] == "self-reported"


def test_clips_that_were_not_asked_for_claim_nothing(send: Any, stands: Any) -> None:
    """Seven of twelve give way to who asked for all, clips that failed among them, but not to fewer that are left."""
    assert kinds(send("mallory", clips=7)) == []
    assert kinds(send("eve", lost=6)) == ["standing"]
    honest = send("ann", lost=4)
    assert kinds(honest) == []
    assert kinds(send("bob")) == ["standing"]
    assert stands("opus_16k") == honest["id"]


def test_all_of_a_small_dataset_take_no_place_of_a_large_one(service: Service, send: Any) -> None:
    """However many clips of it failed."""
    service.know("large", categories(30, "large"))
    assert kinds(send("ann", clips=28, of=30, lost=14, dataset="large")) == []
    assert kinds(send("mallory")) == ["standing"]


def test_a_verified_result_of_a_few_clips_under_a_condition(send: Any, service: Service, stands: Any) -> None:
    """It takes no place of another's that asked for all clips: what claims nothing clean claims nothing here."""
    codec = CODECS["test_a_verified_result_of_a_few_clips_under_a_condition"]
    honest = send("vic", lost=2)["id"]
    part = send("eve", clips=1)["id"]
    decided(service, part, "verify")
    assert stands(codec) == honest
    whole = send("eve")["id"]
    assert stands(codec) == honest
    decided(service, whole, "verify")
    assert stands(codec) == whole
    for identity in (whole, honest):
        decided(service, identity, "withdraw", actor="eve")
    assert stands(codec) == part
    later = send("ann", lost=5)["id"]
    assert stands(codec) == later


def test_who_was_first_stands_until_one_is_run_again(service: Service, tmp_path: Path) -> None:
    """Nobody's word holds another's: honest results are public behind a fiction, in front of it once they are run."""
    codec = "mp3_48k"

    def send(account: str) -> str:
        seed = next(SEEDS)
        answer = service.send(whole(tmp_path / str(seed), codec), account=account).json()
        assert kinds(answer) == ([] if account == "mallory" else ["standing"])
        assert any("came first" in note for note in answer["notes"]) == (account != "mallory")
        return str(answer["id"])

    fiction, honest = send("mallory"), [send("alice"), send("alice")]
    again = send("mallory")
    assert standing(service, codec) == again
    others = send("bob")
    with service.database.transaction(write=True) as session:
        enqueue_unverified(session)
        queued = set(session.scalars(select(VerificationJob.submission_id)))
        assert queued & {fiction, again, others, *honest} == {again, honest[1], others}  # of each account the newest
        session.execute(delete(VerificationJob))
    assert listed_behind(service, codec) == [(others, again), (honest[1], again)]
    told = {each for each in (fiction, again, others, *honest)
            if "behind the results of another account" in service.client.get(f"/submissions/{each}").text}  # fmt: skip
    assert told == {others, honest[1]}
    with service.database.transaction() as session:
        remarks = {each: [*name_warnings(session, session.get_one(Submission, each))] for each in (again, others)}
    assert [len(remarks[each]) for each in (again, others)] == [0, 1]  # as a moderator reads them now
    cited = service.client.get("/api/v1/leaderboard").json()["revision"]
    for decision, stands in (("hold", fiction), ("reject", fiction)):
        decided(service, again, decision)
        assert standing(service, codec) == stands
    decided(service, fiction, "withdraw")
    assert standing(service, codec) == honest[1]
    assert listed_behind(service, codec) == [(others, honest[1])]
    decided(service, others, "verify")
    assert standing(service, codec) == others
    assert listed_behind(service, codec) == []
    decided(service, others, "hold")
    assert standing(service, codec) == honest[1]
    decided(service, others, "accept")  # a moderator chose
    assert standing(service, codec) == others
    (then,) = [
        entry["submission"]
        for entry in service.client.get(f"/api/v1/snapshots/{cited}").json()["submissions"]
        if entry["codec"] == codec
    ]
    assert then == again


def test_who_gave_way_does_not_come_back_by_what_is_sent_later(service: Service, tmp_path: Path) -> None:
    """A clip that came first reserves no place; who takes back a version that was replaced keeps it."""
    codec = "mp3_64k"

    def send(account: str, clips: int) -> str:
        data = part(tmp_path / str(next(SEEDS)), codec, clips)
        return str(service.send(data, account=account).json()["id"])

    send("mallet", 1)
    honest = send("alan", CLIPS)
    fiction = send("mallet", CLIPS)
    assert standing(service, codec) == honest
    corrected = send("alan", CLIPS)
    for account, identity in (("alan", honest), ("mallet", fiction)):
        decided(service, identity, "withdraw", actor=account)
        assert standing(service, codec) == corrected
    again = send("mallet", CLIPS)
    decided(service, corrected, "withdraw", actor="alan")
    send("alan", CLIPS)
    assert standing(service, codec) == again


def test_no_two_anonymous_files_are_of_one_sender(service: Service, tmp_path: Path) -> None:
    """One behind another visitor's says so, where a moderator decides about it: accepted, it is in front."""
    codec = "opus_96k"
    first, second, few = (
        service.send(data, account=None).json()["id"]
        for data in (whole(tmp_path / "1", codec), whole(tmp_path / "2", codec), part(tmp_path / "3", codec, 6))
    )
    decided(service, first, "accept")
    with service.database.transaction() as session:
        for later in (second, few):
            told = [text for _, text in name_warnings(session, session.get_one(Submission, later))]
            assert told == ["is shown behind the results of an anonymous upload, until it is run again or accepted"]
    for identity in (second, few):
        decided(service, identity, "accept")
        assert standing(service, codec) == second  # complete


def test_beside_a_partial_result_that_was_run_again(service: Service, tmp_path: Path) -> None:
    """A complete one of as many clips is in front of it; one of fewer clips is not, nor another partial one."""
    codec = "aac_24k"
    service.know("larger", categories(2 * CLIPS, "larger"))

    def send(account: str, data: bytes) -> str:
        answer = service.send(data, account=account).json()
        assert kinds(answer) == []
        return str(answer["id"])

    verified = send("verity", part(tmp_path / "1", codec, 2 * CLIPS - 2, 2 * CLIPS, "larger"))
    decided(service, verified, "verify")
    for account, data in (("bert", part(tmp_path / "2", codec, CLIPS - 2)), ("carla", whole(tmp_path / "3", codec))):
        send(account, data)
        assert standing(service, codec) == verified
    large = send("dora", whole(tmp_path / "4", codec, 2 * CLIPS, "larger"))
    assert standing(service, codec) == large


def claim(place: float, account: int, **told: Any) -> Claim:
    """Describe what an account has, complete unless told otherwise."""
    usual: dict[str, Any] = {"version": 1, "complete": True, "whole": True, "clips": CLIPS, "ok": CLIPS}
    return Claim(str(account), account, place, **(usual | told))


def partly(place: float, account: int, ok: int, **told: Any) -> Claim:
    """Describe partial results."""
    return claim(place, account, complete=False, whole=False, ok=ok, **told)


def test_the_order_of_claims() -> None:
    """Complete before partial ones of no more clips, else as they were; of older programs' equal places the newest."""
    verified = partly(0.5, 1, CLIPS + 1, verified=True)
    for first, others in (
        (claim(0, 1), [claim(1, 2), claim(inf, 3), claim(inf, 4, version=2)]),
        (claim(-1, 2), [claim(0, 1)]),
        (claim(0, 1), [partly(-1, 2, CLIPS)]),
        (claim(inf, 2), [partly(0, 1, CLIPS)]),
        (partly(0, 1, CLIPS + 1), [claim(inf, 2)]),
        (claim(0, 1, version=2), [claim(0, 2)]),
        (verified, [partly(0, 1, CLIPS)]),
        (verified, [partly(-1, 2, CLIPS)]),
        (claim(inf, 1), [verified]),
        (claim(0, 2), [verified]),
        (verified, [claim(1, 2)]),
        (claim(1, 2, ok=CLIPS + 1), [verified]),
    ):
        for claims in permutations([first, *others]):
            assert order(claims)[0] == first, (first, others)


@pytest.mark.parametrize("seed", range(4))
def test_nobody_takes_the_place_of_complete_results(database: Database, seed: int) -> None:
    """Whatever comes and goes: another one stands where a moderator says so, or the account gave the place up."""
    draw = Random(seed)
    with database.transaction(write=True) as session:
        for _ in range(40):
            before = shown(session)
            public = session.scalars(select(Submission).where(Submission.status == "self-reported")).all()
            waiting = session.scalars(select(Submission).where(Submission.status.in_(("held", "withdrawn")))).all()
            what = draw.choice(["send", "send", "send", "withdraw", "hold", "accept"])
            if what == "send" or not public or (what == "accept" and not waiting):
                what, one = "send", sent(session, f"{draw.choice('abc')} {seed}", draw.choice([CLIPS, CLIPS, 6, 1]))
            else:
                one = draw.choice(waiting if what == "accept" else public)
                decide(session, one.id, what, "because", actor="moderator")  # type: ignore[arg-type]
            after = shown(session)
            if before is None or after is None or before.account_id == after.account_id:
                continue
            gave_way = not before.complete and after.complete and after.id == one.id and after.ok >= before.ok
            assert (
                (what, one.id) == ("accept", after.id)
                or gave_way
                or (what in ("withdraw", "hold") and one.id == before.id)
            )


def sent(session: Session, account: str, ok: int) -> Submission:
    """Store self-reported results of a codec of the catalogue as a file that came, of ``ok`` clips."""
    row = session.get_one(Submission, make_submission(session, "opus_16k", 16.0, owner=account, status="pending"))
    row.codec.owner, row.complete, row.ok, row.clips = None, ok == CLIPS, ok, CLIPS
    row.status = "self-reported"
    session.flush()
    place_anew(session, row, "pending")
    session.flush()
    return row


def shown(session: Session) -> Submission | None:
    """Return what stands; it alone of the self-reported ones is not behind."""
    session.expire_all()
    found = counted_submissions(session).get("opus_16k")
    front = select(Submission.id).where(Submission.status == "self-reported", Submission.behind.is_(False))
    assert session.scalars(front).all() == ([] if found is None else [found.submission])
    return None if found is None else session.get_one(Submission, found.submission)
