"""Listening tests in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session, undefer

from codec_superb.server.database.listening import ListeningTest, Participant, Rating, Stimulus
from codec_superb.server.database.models import PUBLIC, Account, Submission
from codec_superb.server.listening_tests.screening import Answered
from codec_superb.server.people.access import ANONYMOUS
from codec_superb.web.rows import source_label


def find(session: Session, identity: str) -> ListeningTest | None:
    """Find a test of any state."""
    # PostgreSQL takes no character 0 in a parameter
    return session.get(ListeningTest, identity) if identity.isprintable() else None


def in_states(session: Session, states: Sequence[str]) -> Sequence[ListeningTest]:
    """List tests, the newest first."""
    chosen = select(ListeningTest).where(ListeningTest.state.in_(states))
    return session.scalars(chosen.order_by(ListeningTest.created.desc(), ListeningTest.id)).all()


def counts(session: Session, test: str) -> tuple[int, int]:
    """Count the participants that answered anything, and those that finished."""
    answered = select(Rating.id).where(Rating.participant_id == Participant.id).exists()
    # COUNT of a column leaves NULL out: of those who have not finished
    numbers = select(func.count(), func.count(Participant.finished)).where(Participant.test_id == test, answered)
    started, finished = session.execute(numbers).one()
    return int(started), int(finished)


def forget_idle(session: Session, test: str, *, beyond: int) -> None:
    """Remove those that have not finished, beyond so many: who has answered nothing first, the oldest first."""
    last = select(func.max(Rating.added)).where(Rating.participant_id == Participant.id).scalar_subquery()
    idle = select(Participant.id).where(Participant.test_id == test, Participant.finished.is_(None))
    kept_first = (last.is_not(None).desc(), func.coalesce(last, Participant.started).desc(), Participant.id.desc())
    gone = session.scalars(idle.order_by(*kept_first).offset(beyond)).all()
    if gone:
        session.execute(delete(Rating).where(Rating.participant_id.in_(gone)))
        session.execute(delete(Participant).where(Participant.id.in_(gone)))


def sound(session: Session, test: str, clip: str, condition: str) -> Stimulus | None:
    """Find a sound with its content."""
    chosen = select(Stimulus).where(Stimulus.test_id == test, Stimulus.clip == clip, Stimulus.condition == condition)
    return session.scalars(chosen.options(undefer(Stimulus.data))).one_or_none()


def credits_of(session: Session, test: str) -> list[str]:
    """Return the attributions of a test's clips, each once."""
    chosen = select(Stimulus.clip, Stimulus.credit).where(Stimulus.test_id == test, Stimulus.credit != "").distinct()
    return [f"{clip}: {credit}" for clip, credit in sorted((row.clip, row.credit) for row in session.execute(chosen))]


def participant(session: Session, test: str, token_sha256: str) -> Participant | None:
    """Find the participant whose token has the hash."""
    chosen = select(Participant).where(Participant.test_id == test, Participant.token_sha256 == token_sha256)
    return session.scalars(chosen).one_or_none()


def answered_trials(session: Session, participant_id: int) -> set[str]:
    """Return the keys of the trials that a participant has answered."""
    return set(session.scalars(select(Rating.trial).where(Rating.participant_id == participant_id)))


def ratings(session: Session, test: str) -> Sequence[tuple[Participant, Rating]]:
    """Return all ratings of a test in the order of participants and answers."""
    chosen = select(Participant, Rating).join(Rating, Rating.participant_id == Participant.id)
    found = session.execute(chosen.where(Participant.test_id == test).order_by(Participant.id, Rating.id))
    return [(row.Participant, row.Rating) for row in found]


def answers(session: Session, test: str) -> list[Answered]:
    """Return what each participant answered who answered anything: whoever opens the first question may be anybody."""
    found: dict[int, tuple[bool, dict[str, dict[str, float]]]] = {}
    for person, rating in ratings(session, test):
        given = found.setdefault(person.id, (person.finished is not None, {}))[1]
        given.setdefault(rating.trial, {})[rating.condition] = rating.value
    return [Answered(key, finished, given) for key, (finished, given) in found.items()]


def closed_with(session: Session, submission: str) -> Sequence[ListeningTest]:
    """List the closed tests in which sounds of a submission were heard, the newest first."""
    heard = select(Stimulus.test_id).where(Stimulus.submission_id == submission)
    chosen = select(ListeningTest).where(ListeningTest.state == "closed", ListeningTest.id.in_(heard))
    return session.scalars(chosen.order_by(ListeningTest.closed.desc(), ListeningTest.id)).all()


def submissions_of(session: Session, test: str) -> set[str]:
    """Return the submissions whose sounds a test has."""
    chosen = select(Stimulus.submission_id).where(Stimulus.test_id == test, Stimulus.submission_id.is_not(None))
    return {found for found in session.scalars(chosen.distinct()) if found is not None}


def heard_from(session: Session, test: str) -> dict[str, str]:
    """Say of each codec whose sounds come from a submission on whose word they stand, by condition.

    Of what is public no more its status alone: who sent it is not shown then.
    """
    columns = Stimulus.condition, Submission.status, Account.name
    chosen = select(*columns).join(Submission, Submission.id == Stimulus.submission_id).outerjoin(Submission.account)
    found = session.execute(chosen.where(Stimulus.test_id == test).distinct())
    return {
        condition: source_label(status, account or ANONYMOUS) if status in PUBLIC else f"{status} since"
        for condition, status, account in found
    }
