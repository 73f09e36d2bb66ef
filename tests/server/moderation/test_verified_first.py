"""Of verified results of a name that nobody owns, that which says more stands: all of them are true."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, permutations
from threading import Barrier
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import sha
from support.server.board import CLIPS, Probed, make_submission
from support.server.verified import attest

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.board.repository import Counted, counted_submissions
from codec_superb.server.database.models import Attestation, BoardChange, Codec, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import Decision, decide
from codec_superb.server.moderation.verified_first import Verified, stands
from codec_superb.server.names import catalogue

OPUS = "opus_16k"
MINI = {"mini": CATEGORIES}
OTHER = {"mini_passages": ("speech",)}
WER = Probed("asr_wer_pct", 8.0, 4.0)
EER = Probed("asv_eer_pct", 3.0, 1.0, backend="resemblyzer")


def sent(
    session: Session, by: str | None, codec: str = OPUS, *, part: int = 0, verify: bool = True, **told: Any
) -> str:
    """Store results of a codec of the catalogue, of ``part`` clips of each category where given, and verify them."""
    made = make_submission(session, codec, 16.0, owner=by, **told)
    row = session.get_one(Submission, made)
    row.codec.owner = None
    if part:
        row.complete, row.ok, row.clips = False, part, part
        row.document = {**row.document, "datasets": [each | {"selected": part} for each in row.document["datasets"]]}
        for result in row.results:
            result.complete, result.ok, result.clips = False, part, part
    session.flush()
    if verify:
        decided(session, made, "verify")
    return made


def decided(session: Session, made: str, decision: Decision) -> None:
    """Decide as the worker does, or a moderator."""
    decide(session, made, decision, "because", actor="moderator")
    session.flush()


def standing(session: Session, codec: str = OPUS) -> str:
    """Return the one that the board shows; one alone of its name is not behind."""
    session.expire_all()
    front = select(Submission.id).join(Codec).where(Codec.name == codec, Submission.condition == "")
    front = front.where(Submission.status == "verified", Submission.behind.is_(False))
    shown = counted_submissions(session)[codec]
    assert session.scalars(front).all() == [shown.submission]
    assert (shown.status, shown.confirmed) == ("verified", None)
    assert shown.run_again[-1] == shown.submission
    return shown.submission


class TestStories:
    """Each attacker's results are honest, and were run again."""

    def test_another_dataset(self, database: Database) -> None:
        """A run on another registered dataset does not replace that by which all are ranked, whichever came first."""
        with database.transaction(write=True) as session:
            for codec in ("opus_6k", "opus_12k"):
                sent(session, "ann", codec, datasets=MINI)
            sent(session, "bob", "opus_12k", datasets=MINI)
            first = sent(session, "mallory", datasets=OTHER)
            assert standing(session) == first
            ranked = sent(session, "ann", datasets=MINI)
            assert standing(session) == ranked
            sent(session, "mallory", datasets=OTHER)
            sent(session, "eve", datasets=OTHER)
            assert standing(session) == ranked
            both = sent(session, "bob", datasets=MINI | OTHER)
            assert standing(session) == both

    def test_an_account_that_has_the_place_takes_it_to_no_other_dataset(self, database: Database) -> None:
        """Whoever sent the usual dataset first, and another one then, leaves the place to who has the usual one."""
        with database.transaction(write=True) as session:
            sent(session, "ann", "opus_12k", datasets=MINI)
            sent(session, "mallory", datasets=MINI)
            honest = sent(session, "ann", datasets=MINI)
            sent(session, "mallory", datasets=OTHER)
            assert standing(session) == honest

    def test_a_bare_run(self, database: Database) -> None:
        """Figures of applications stay; whoever adds to them stands."""
        with database.transaction(write=True) as session:
            rich = sent(session, "ann", applications=[WER])
            sent(session, "mallory")
            assert standing(session) == rich
            richer = sent(session, "bob", applications=[WER, EER])
            assert standing(session) == richer
            odd = Probed(WER.figure, 8.0, 4.0, backend="faster-whisper:odd")
            sent(session, "mallory", applications=[odd, EER])
            assert standing(session) == richer

    def test_figures_that_nobody_ran_again_take_no_place(self, database: Database) -> None:
        """They are their account's word; once another attestation covers them they count."""
        with database.transaction(write=True) as session:
            bare = sent(session, "ann")
            rich = sent(session, "mallory", applications=[WER], verify=False)
            attest(session, rich, "bits")
            decided(session, rich, "verify")
            assert standing(session) == bare
            session.execute(delete(Attestation))
            decided(session, rich, "hold")
            decided(session, rich, "verify")
            assert standing(session) == rich

    def test_samples_that_are_held_to_limits_take_no_place(self, database: Database) -> None:
        """They are their account's: those that running again made to the last byte are heard in their place."""
        with database.transaction(write=True) as session:
            for by, clips, lines in (
                ("mallory", 20, ["mini, listening samples: 4 of 20 are not as they are made here, held to limits"]),
                ("ann", 6, []),
            ):
                made = sent(session, by, verify=False)
                row = session.get_one(Submission, made)
                listed = [{"dataset": "mini", "clip": f"c{number}"} for number in range(clips)]
                row.document = {**row.document, "samples": listed}
                attest(session, made, "bits", left_out=lines)
                decided(session, made, "verify")
                assert standing(session) == made

    @pytest.mark.parametrize("first", ["partial", "whole"])
    def test_one_clip(self, database: Database, first: str) -> None:
        """It never stands in front of a complete one, be it of two datasets."""
        with database.transaction(write=True) as session:
            if first == "partial":
                few = sent(session, "mallory", part=1, datasets=MINI | OTHER)
                assert standing(session) == few
            whole = sent(session, "ann")
            if first == "whole":
                sent(session, "mallory", part=1, datasets=MINI | OTHER)
            assert standing(session) == whole

    def test_of_two_partial_ones_that_of_more_clips(self, database: Database) -> None:
        """Whichever came first; of as many the earlier one."""
        with database.transaction(write=True) as session:
            sent(session, "mallory", part=1, applications=[WER])
            more = sent(session, "ann", part=CLIPS - 1)
            assert standing(session) == more
            sent(session, "bob", part=CLIPS - 1)
            assert standing(session) == more

    def test_the_same_again(self, database: Database) -> None:
        """It takes no other account's place; who has the place may send again, and keeps it."""
        with database.transaction(write=True) as session:
            sent(session, "ann")
            sent(session, "mallory")
            again = sent(session, "ann", score=0.7)
            assert standing(session) == again
            sent(session, None)
            sent(session, None)
            assert standing(session) == again

    def test_a_run_of_one_metric(self, database: Database) -> None:
        """With something that others lack, and sent before them: it has no score and is not ranked."""
        with database.transaction(write=True) as session:
            few = sent(session, "mallory", verify=False)
            row = session.get_one(Submission, few)
            row.metrics = {"mel": row.metrics["mel"], "pesq_c2": "1"}
            for result in row.results:
                result.score = result.low = result.high = None
            decided(session, few, "verify")
            assert standing(session) == few
            usual = sent(session, "ann")
            assert standing(session) == usual

    def test_a_board_of_one_sender(self, database: Database) -> None:
        """The newest complete verified one stands, whatever it has; no partial one in front of it."""
        with database.transaction(write=True) as session:
            for told in ({"applications": [WER]}, {}, {"datasets": OTHER}, {}):
                last = sent(session, "ann", **told)
                assert standing(session) == last
            sent(session, "ann", part=1)
            assert counted_submissions(session)[OPUS].submission == last

    def test_a_partial_one_beside_a_whole_one_that_cannot_be_run(self, database: Database) -> None:
        """One clip that was run again stands among what was; among all submissions the complete result does."""
        with database.transaction(write=True) as session:
            whole = sent(session, "bea", verify=False)
            part = sent(session, "mallory", part=1)
            assert counted_submissions(session)[OPUS] == Counted(whole, "self-reported", (part,))
            own = sent(session, "mallory", "opus_6k", part=1)
            decided(session, whole, "verify")
            assert counted_submissions(session)[OPUS] == Counted(whole, "verified", (part, whole))
            assert counted_submissions(session)["opus_6k"] == Counted(own, "verified", (own,))

    def test_a_newer_state_of_the_dataset(self, database: Database) -> None:
        """It stands in front of the older one; what was made on the older one then does not."""
        with database.transaction(write=True) as session:
            sent(session, "ann")
            newer = sent(session, "bob", verify=False)
            row = session.get_one(Submission, newer)
            parts = [each | {"manifest_hash": sha("newer")} for each in row.document["datasets"]]
            row.document = {**row.document, "datasets": parts}
            decided(session, newer, "verify")
            assert standing(session) == newer

    @pytest.mark.parametrize("decision", ["withdraw", "hold"])
    def test_who_is_taken_back_gives_the_place_back(self, database: Database, decision: Decision) -> None:
        """The next one stands, and gives it up again where the first is verified again."""
        with database.transaction(write=True) as session:
            bare = sent(session, "ann")
            rich = sent(session, "bob", applications=[WER])
            decided(session, rich, decision)
            assert standing(session) == bare
            decided(session, rich, "accept")
            assert standing(session) == bare
            decided(session, rich, "verify")
            assert standing(session) == rich
            decided(session, bare, decision)
            assert not session.get_one(Submission, bare).behind

    def test_each_condition_has_its_own(self, database: Database) -> None:
        """Results under a condition put no clean ones behind; clips that failed under it were asked for."""
        with database.transaction(write=True) as session:
            clean = sent(session, "ann")
            loss = parse_condition("loss:10")
            rich = sent(session, "mallory", condition=loss, applications=[WER], result={"complete": False})
            bare = sent(session, "bob", condition=loss)
            assert standing(session) == clean
            behind = select(Submission.id).where(Submission.behind)
            assert session.scalars(behind).all() == [bare]
            assert rich != bare

    def test_a_name_of_an_account(self, database: Database) -> None:
        """The newest one stands, and nothing is behind: also where the name gets an owner after all."""
        with database.transaction(write=True) as session:
            for _ in range(2):
                last = make_submission(session, "lark_1k", 3.0, owner="ann")
                decided(session, last, "verify")
            assert standing_of_owned(session, "lark_1k") == last
            assert session.scalars(select(Submission.id).where(Submission.behind)).all() == []
            sent(session, "ann", applications=[WER])
            last = sent(session, "bob")
            session.scalars(select(Codec).where(Codec.name == OPUS)).one().owner_id = 1
            session.flush()
            assert standing_of_owned(session, OPUS) == last


def standing_of_owned(session: Session, codec: str) -> str:
    """Return the one that the board shows."""
    return counted_submissions(session)[codec].submission


def test_the_order_of_verdicts_makes_no_difference(database: Database) -> None:
    """However the worker goes through them, the same one stands in the end."""
    made: list[Callable[[Session, str], str]] = [
        lambda session, codec: sent(session, "mallory", codec, verify=False, part=1, datasets=MINI | OTHER),
        lambda session, codec: sent(session, "mallory", codec, verify=False, datasets=OTHER),
        lambda session, codec: sent(session, "ann", codec, verify=False, applications=[WER]),
        lambda session, codec: sent(session, "bob", codec, verify=False),
    ]
    with database.transaction(write=True) as session:
        for codec in ("opus_6k", "opus_12k"):
            sent(session, "ann", codec)
        names = (name for name in catalogue.cards() if name not in {"opus_6k", "opus_12k"})
        for codec, order in zip(names, permutations(range(len(made))), strict=False):
            identities = [make(session, codec) for make in made]
            for place in order:
                decided(session, identities[place], "verify")
            assert standing(session, codec) == identities[2], order


def test_verdicts_at_the_same_moment(database: Database) -> None:
    """Each waits for the one before and sees it, so that one alone stands: workers on several machines."""
    with database.transaction(write=True) as session:
        made = [sent(session, f"account {number}", verify=False, applications=[WER][number:]) for number in range(4)]
    together = Barrier(len(made))

    def verify(identity: str) -> None:
        together.wait()
        with database.transaction(write=True) as session:
            decided(session, identity, "verify")

    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(verify, made))
    with database.transaction() as session:
        assert standing(session) == made[0]


def test_a_board_that_runs_and_states_to_cite(app: FastAPI, database: Database) -> None:
    """Pages show who came in front with the next answer; a state that was cited keeps whom it had, and its hash."""
    with database.transaction(write=True) as session:
        bare = sent(session, "ann")  # revisions 1 and 2
        behind = sent(session, "mallory")  # 3 and 4
    with TestClient(app) as client:
        board = app.state.board
        cited = client.get("/api/v1/snapshots/4").json()
        assert [entry["submission"] for entry in cited["submissions"]] == [bare]
        with database.transaction(write=True) as session:
            rich = sent(session, "bob", applications=[WER])  # 5 and 6
        assert board.refresh().revision == 6
        rows = client.get("/api/v1/leaderboard").json()["rows"]
        assert [(row["submission"], row["rank"]) for row in rows] == [(rich, [1, 1])]
        with database.transaction(write=True) as session:
            decided(session, rich, "withdraw")  # 7
            changes = select(BoardChange.submission_id, BoardChange.behind).where(BoardChange.revision >= 6)
            assert {*map(tuple, session.execute(changes))} == {
                (rich, False), (bare, True), (bare, False), (behind, True),
            }  # fmt: skip
        assert board.refresh().revision == 7
        assert client.get("/api/v1/leaderboard").json()["rows"][0]["submission"] == bare
        assert client.get("/api/v1/snapshots/4").json()["sha256"] == cited["sha256"]
        held = {n: client.get(f"/api/v1/snapshots/{n}").json()["submissions"] for n in (6, 7)}
        assert {n: [entry["submission"] for entry in of] for n, of in held.items()} == {6: [rich], 7: [bare]}
    assert behind not in {bare, rich}


def one(version: int, account: int, datasets: Collection[str] = ("mini",), **told: Any) -> Verified:
    """Describe one."""
    usual: dict[str, Any] = {"whole": True, "ok": 75, "metrics": {"stoi": "1"}}
    states = told.pop("states", {})
    return Verified(
        id=str(version), version=version, account=account, datasets={name: states.get(name, "1") for name in datasets},
        **usual | told,
    )  # fmt: skip


class TestStands:
    """``stands``."""

    def test_one_that_has_more_stands_whatever_came_when(self) -> None:
        """And whatever else is there: of all groups that hold it, each in any order."""
        probe = ("mini", "asr", "whisper", "", "{}")
        most = {"datasets": ("mini", "more"), "probes": {probe: "1"}, "ok": 80}
        others = (
            {}, {"whole": False, "ok": 1}, {"datasets": ("more",), "ok": 5}, {"probes": {probe: "1"}},
            {"datasets": ("mini", "more"), "whole": False, "ok": 79, "probes": {probe: "1"}}, {"metrics": {}},
        )  # fmt: skip
        for some in combinations(others, 3):
            for order in permutations((most, *some)):
                group = [one(version, version, **told) for version, told in enumerate(order, 1)]
                assert stands(group).id == str(order.index(most) + 1)
                assert stands(group[::-1]) == stands(group)

    def test_a_definition_that_is_newer(self) -> None:
        """Of a metric, a probe or a state; of those that are alike the account that came first."""
        old, new = one(1, 1), one(2, 2, metrics={"stoi": "2"})
        assert stands([old, new]) == new
        assert stands([old, new, one(3, 3, metrics={"stoi": "2"})]) == new
        resent = one(4, 1, states={"mini": "2"})
        assert stands([old, new, resent]) == resent

    def test_who_came_first(self) -> None:
        """Who sends again, or more, keeps the place beside what has other figures; who was outdone has none to keep."""
        asr, asv = ({("mini", key, "model", "", "{}"): "1"} for key in ("asr", "asv"))
        first, second = one(1, 1, probes=asr), one(2, 2, probes=asv)
        again, bare = one(3, 1, probes=asr), one(0, 2)
        assert stands([first, second]) == first
        assert stands([first, second, again]) == again
        assert stands([first, second, again, one(4, 1, ("mini", "more"), probes=asr)]).id == "4"
        assert stands([bare, first, second]) == first

    def test_what_can_be_heard(self) -> None:
        """Another probe takes no sound off the pages, and sounds are something besides."""
        probe, heard = {("mini", "asr", "model", "", "{}"): "1"}, {("mini", "c1"), ("mini", "c2")}
        first = one(1, 1, samples=heard)
        for fewer in ((), {("mini", "c1")}, {("mini", "c3")}):
            assert stands([first, one(2, 2, probes=probe, samples=fewer)]) == first
        assert stands([first, one(2, 2, probes=probe, samples=heard)]).id == "2"
        assert stands([one(1, 1), one(2, 2, samples=heard)]).id == "2"
        for fewer in ((), {("mini", "c3")}):  # who was first with a probe and hardly a sound
            assert stands([one(1, 1, probes=probe, samples=fewer), one(2, 2, samples=heard)]).id == "2"

    def test_what_nobody_can_rank(self) -> None:
        """Without an overall score, or a usual metric, it leaves the place, whatever it has besides."""
        odd = {"mel": "1", "pesq_c2": "1"}
        assert stands([one(1, 1, metrics=odd, lacks=(3, 8)), one(2, 2)]).id == "2"
        assert stands([one(1, 1, metrics=odd, lacks=(0, 1)), one(2, 2, senders=(0, 0))]).id == "2"
        assert stands([one(1, 1, metrics=odd, lacks=(3, 8)), one(2, 2, whole=False)]).id == "1"

    def test_clips_that_failed(self) -> None:
        """A complete one stands in front, be it of a smaller dataset: nothing partial is ranked."""
        failed = one(1, 1, ("large",), whole=False, ok=2600)
        assert stands([failed, one(2, 2)]).id == "2"
        assert stands([failed, one(2, 2, whole=False)]) == failed
