"""What the worker runs again by itself: one draw for an account's fiction, and no name kept by what nobody can run."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.server.board import make_submission
from support.server.verified import attest

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Codec, Submission, VerificationJob, now
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import decide
from codec_superb.server.names.claims import STANDS_FOR, is_doubted
from codec_superb.server.people.audit import record
from codec_superb.server.verification.candidates import after_difference, enqueue_unverified
from codec_superb.server.verification.jobs import Outcome, claim, enqueue_by_hand, finish


def queued(session: Session) -> list[str]:
    """Return the submissions that wait, the first in front."""
    found = select(VerificationJob).where(VerificationJob.state == "queued").order_by(VerificationJob.id)
    return [job.submission_id for job in session.scalars(found)]


def differ(session: Session, identity: str) -> None:
    """Do what an attestation that differs does."""
    attest(session, identity, agrees=False)
    decide(session, identity, "hold", "run again: these differ", actor="the board")
    record(session, "the board", "attestation.received", identity, verdict="differs")
    after_difference(session, session.get_one(Submission, identity), actor="the board")


def statuses(session: Session, *identities: str) -> list[str]:
    """Return the statuses as they are stored."""
    return [session.get_one(Submission, each, populate_existing=True).status for each in identities]


def test_many_versions_are_one_draw(database: Database) -> None:
    """The newest is queued; what was queued before it goes; when it differs, the others wait, and nothing is drawn."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", owner="eve")
        assert enqueue_unverified(session) == 1
        second = make_submission(session, "opus_12k", owner="eve")
        honest = make_submission(session, "opus_16k", owner="ann")
        other = make_submission(session, "mp3_32k", owner="eve")
        assert enqueue_unverified(session) == 3
        assert queued(session) == [second, honest, other]
        job = claim(session, "worker", kinds=("verify",))
        assert job is not None
        assert job.submission_id == second
        differ(session, second)
        assert statuses(session, first, second, honest, other) == ["held", "held", "self-reported", "self-reported"]
        assert queued(session) == [honest]  # neither an older version nor another codec of the account
        make_submission(session, "vorbis_q0", owner="eve")
        assert enqueue_unverified(session) == 0
        decide(session, second, "accept", "a library of another version", actor="Mo")
        assert enqueue_unverified(session) == 2  # the account's other codecs


def ends(session: Session, identity: str, outcome: Outcome) -> None:
    """Run the job in front."""
    job = claim(session, "worker", kinds=("verify",))
    assert job is not None
    assert job.submission_id == identity
    assert finish(session, job, "worker", outcome, "")


def test_a_clip_that_fails_here_stops_an_account(database: Database) -> None:
    """Under strengths that hardly differ, and under many names, the same false clips had hundreds of draws."""
    loss = [parse_condition(f"bits:{rate}") for rate in ("0.003", "0.0030001")]
    with database.transaction(write=True) as session:
        first, second = (make_submission(session, "amrwb_12k", owner="eve", condition=each) for each in loss)
        assert enqueue_unverified(session) == 2
        ends(session, first, "fails here")
        make_submission(session, "codec2_1200", owner="eve")
        honest = make_submission(session, "amrwb_12k", owner="ann")
        assert enqueue_unverified(session) == 1
        assert queued(session) == [honest]
        ends(session, honest, "agrees")
        enqueue_by_hand(session, second, None, actor="Mo")
        assert enqueue_unverified(session) == 0
        ends(session, second, "agrees")
        assert enqueue_unverified(session) == 1  # not the one that failed: its job is done


def test_nothing_said_is_one_draw_too(database: Database) -> None:
    """False clips of AAC are other sound: a draw that misses them agrees, so that no version has another by itself."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "aac_24k", owner="eve")
        assert enqueue_unverified(session) == 1
        waiting = [make_submission(session, "aac_24k", owner="eve")]
        ends(session, first, "nothing said")
        honest = make_submission(session, "aac_24k", owner="ann")
        other = make_submission(session, "aac_32k", owner="eve")
        assert enqueue_unverified(session) == 2
        assert queued(session) == [honest, other]  # nobody else's, and no other codec, is in doubt
        waiting.append(make_submission(session, "aac_24k", owner="eve"))
        assert enqueue_unverified(session) == 0
        assert set(statuses(session, first, *waiting)) == {"self-reported"}
        ends(session, honest, "agrees")
        ends(session, other, "cannot run")  # a codec that is not here: it depends on no draw
        newer = make_submission(session, "aac_32k", owner="eve")
        assert enqueue_unverified(session) == 1
        ends(session, newer, "cannot run")
        enqueue_by_hand(session, waiting[-1], None, actor="Mo")
        assert enqueue_unverified(session) == 0
        ends(session, waiting[-1], "agrees")
        make_submission(session, "aac_24k", owner="eve")
        assert enqueue_unverified(session) == 1


def test_a_job_that_waits_behind_one_in_vain_goes(database: Database) -> None:
    """It was queued before the outcome was known."""
    with database.transaction(write=True) as session:
        make_submission(session, "aac_24k", owner="eve")
        enqueue_unverified(session)
        if (running := claim(session, "worker", kinds=("verify",))) is None:
            pytest.fail("nothing was queued")
        make_submission(session, "aac_24k", owner="eve")
        assert (enqueue_unverified(session), len(queued(session))) == (1, 1)
        assert finish(session, running, "worker", "nothing said", "")
        assert (enqueue_unverified(session), queued(session)) == (0, [])


def test_a_run_that_was_asked_for_before_says_nothing_of_what_differs(database: Database) -> None:
    """Of two workers one finds the fiction while the other runs an honest file: the account has no draw by that."""
    with database.transaction(write=True) as session:
        honest = make_submission(session, "opus_16k", owner="eve")
        forged = make_submission(session, "opus_12k", owner="eve")
        assert enqueue_unverified(session) == 2
        (asked, _) = session.scalars(select(VerificationJob.created).order_by(VerificationJob.id)).all()
        differ(session, forged)
        decide(session, honest, "verify", "run again", actor="the board", asked=asked)
        account = session.get_one(Submission, forged).account
        assert account is not None
        assert is_doubted(session, account)
        make_submission(session, "vorbis_q0", owner="eve")
        assert enqueue_unverified(session) == 0
        decide(session, honest, "hold", "again", actor="Mo")
        decide(session, honest, "verify", "run again", actor="the board", asked=now())
        assert not is_doubted(session, account)


def test_what_a_maintainer_queued_stays(database: Database) -> None:
    """An older version, and one of an account of which something differs."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", owner="eve")
        enqueue_by_hand(session, first, None, actor="Mo")
        second = make_submission(session, "opus_12k", owner="eve")
        enqueue_unverified(session)
        assert queued(session) == [first, second]
        differ(session, second)
        assert queued(session) == [first]


def test_what_was_held_and_accepted_is_run_once_more(database: Database) -> None:
    """A moderator who looks at a verified result and lets it stand does not take its badge for good."""
    with database.transaction(write=True) as session:
        made = make_submission(session, "opus_12k", owner="ann")
        assert enqueue_unverified(session) == 1
        job = claim(session, "worker", kinds=("verify",))
        assert job is not None
        decide(session, made, "verify", "run again", actor="the board")
        assert finish(session, job, "worker", "agrees", "")
        decide(session, made, "hold", "is this the library of last week?", actor="Mo")
        assert enqueue_unverified(session) == 0
        decide(session, made, "accept", "it is", actor="Mo")
        assert enqueue_unverified(session) == 1
        assert enqueue_unverified(session) == 0


def test_versions_of_others_and_under_conditions_are_their_own(database: Database) -> None:
    """A later result of another account keeps nobody out of the queue."""
    with database.transaction(write=True) as session:
        for owner in ("ann", "bob", None, None):
            made = make_submission(session, "opus_12k", owner=owner)
            session.get_one(Codec, session.get_one(Submission, made).codec_id).owner_id = None
        assert enqueue_unverified(session) == 4
        assert enqueue_unverified(session) == 0


def test_what_waits_for_a_name_is_run_again(database: Database) -> None:
    """It stands in front of what nobody ran again; whatever else is unusual a moderator looks at."""

    def warned(identity: str, *kinds: str) -> None:
        warnings: list[Any] = [{"kind": kind, "where": "", "text": kind, "holds": True} for kind in kinds]
        session.get_one(Submission, identity).warnings = [
            *warnings, {"kind": "lag", "where": "", "text": "late", "holds": False},
        ]  # fmt: skip

    with database.transaction(write=True) as session:
        waits = make_submission(session, "opus_12k", owner="ann", status="held")
        warned(waits, STANDS_FOR, "originals", "labels")
        unusual = make_submission(session, "opus_16k", owner="ann", status="held")
        warned(unusual, STANDS_FOR, "too good")
        held = make_submission(session, "mp3_32k", owner="ann")
        warned(held, STANDS_FOR)
        session.flush()
        assert enqueue_unverified(session) == 2
        assert queued(session) == [waits, held]
        decide(session, waits, "verify", "run again", actor="the board")
        assert statuses(session, waits) == ["verified"]
    with database.transaction(write=True) as session:
        by_hand = make_submission(session, "vorbis_q0", owner="bob")
        warned(by_hand, STANDS_FOR)
        decide(session, by_hand, "hold", "why?", actor="Mo")
        assert enqueue_unverified(session) == 0
