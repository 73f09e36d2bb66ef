"""Whose self-reported results stand for a name of the catalogue, those of which clips are lacking among them."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select
from support.pipeline.stats import draw_rows, failed
from support.server.ingest import CLIPS, Service, categories, kinds, make_file, standing, token_of
from support.server.people import log_in

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Submission, VerificationJob
from codec_superb.server.moderation.repository import behind_others
from codec_superb.server.moderation.service import decide
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
}
"""Codec, and with it accounts, of each test."""


def whole(folder: Path, codec: str, clips: int = CLIPS, dataset: str = "mini") -> bytes:
    """Pack clean results of all clips."""
    return part(folder, codec, clips, clips, dataset)


def part(folder: Path, codec: str, clips: int, of: int = CLIPS, dataset: str = "mini") -> bytes:
    """Pack clean results of some clips."""
    return make_file(draw_rows(next(SEEDS), clips, dataset=dataset), folder, codec=codec, about={"clips": of})


def decided(service: Service, identity: str, decision: Any) -> None:
    """Decide as a moderator does, or the worker."""
    with service.database.transaction(write=True) as session:
        decide(session, identity, decision, "because", actor="moderator")


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


def claim(since: int, account: int, **told: Any) -> Claim:
    """Describe what an account has, complete unless told otherwise."""
    usual: dict[str, Any] = {"complete": True, "whole": True, "clips": CLIPS, "ok": CLIPS}
    return Claim(str(since), account, since, **(usual | told))


def partly(since: int, account: int, ok: int, **told: Any) -> Claim:
    """Describe partial results."""
    return claim(since, account, complete=False, whole=False, ok=ok, **told)


def test_the_order_of_claims() -> None:
    """Complete before partial ones of no more clips, a moderator's choice before those of nobody, then the first."""
    assert order([claim(1, 1), claim(2, 2)])[0].since == 1
    assert order([claim(1, 1), claim(2, 2, accepted=True), claim(3, 3)])[0].since == 2
    assert order([claim(1, 1, accepted=True), claim(2, 2, accepted=True)])[0].since == 2
    assert order([claim(1, 1), partly(2, 2, CLIPS - 1, accepted=True)])[0].since == 1
    assert order([partly(1, 1, CLIPS), claim(2, 2)])[0].since == 2
    assert order([partly(1, 1, CLIPS + 1), claim(2, 2)])[0].since == 1
    verified = partly(1, 1, CLIPS + 1, accepted=True, verified=True)
    assert order([verified, partly(2, 1, CLIPS)])[0] == verified
    assert order([verified, partly(2, 2, CLIPS, accepted=True)])[0] == verified
    assert order([verified, claim(2, 1)])[0].since == 2


CLAIMS = st.lists(
    st.builds(
        lambda account, complete, ok, accepted: (account, complete, ok, accepted),
        st.integers(1, 30), st.booleans(), st.integers(1, CLIPS), st.booleans(),
    ),
    min_size=1, max_size=40, unique_by=lambda told: told[0],
)  # fmt: skip


@given(CLAIMS, st.randoms(use_true_random=False))
def test_who_comes_later_takes_no_place_of_complete_results(told: list[Any], random: Random) -> None:
    """Whatever order claims are read in: what nobody accepted never stands in front of another's complete ones."""
    made = [
        claim(since, account, complete=complete, whole=complete, ok=ok, accepted=accepted)
        for since, (account, complete, ok, accepted) in enumerate(told, 1)
    ]
    found = order(random.sample(made, len(made)))
    assert found == order(made)
    assert len({each.account for each in found}) == len(found) == min(len(made), 20)
    later = claim(len(made) + 1, 99)
    first = order([*made, later])[0]
    assert first == (later if not found[0].complete and found[0].ok <= CLIPS else found[0])
