"""Make a test, open and close it, and take part in it; every answer is stored before the next question."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from types import MappingProxyType
from typing import Final

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.server.database.listening import ListeningTest, Participant, Rating, Stimulus
from codec_superb.server.database.models import PUBLIC, Submission, now
from codec_superb.server.database.session import bump_revision
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.listening_tests import repository
from codec_superb.server.listening_tests.answers import ratings_of, seconds_of
from codec_superb.server.listening_tests.definition import REFERENCE, TestSettings
from codec_superb.server.listening_tests.plan import Trial, questions_of, trials_of
from codec_superb.server.listening_tests.screening import reasons
from codec_superb.server.people.audit import record
from codec_superb.web.site.listening_tests.view import QUESTIONS

SIZE_LIMIT = 300_000_000
"""Bytes of the sounds of one test, which every backup carries."""
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0 and 1, which look alike
_SEED_BITS = 31
"""The column is a signed integer of 32 bits."""
STEPS: Final = MappingProxyType({"draft": "open", "open": "closed"})
"""Which state follows which; there is no way back."""
OPEN_REFERENCE = "Reference"
BEGINNERS = 1_000
"""Bounds the rows of people who have not finished: more than one address can make; no place is theirs until then."""


@dataclass(frozen=True, slots=True)
class NewSound:
    """A sound of a new test."""

    clip: str
    condition: str
    data: bytes
    media_type: str
    credit: str
    submission: str | None = None


def create(session: Session, settings: TestSettings, sounds: Iterable[NewSound], *, actor: str) -> ListeningTest:
    """Store a test as a draft. Raises BadRequest for sounds of more than :data:`SIZE_LIMIT` bytes."""
    identity = "".join(secrets.choice(_LETTERS) for _ in range(10))
    test = ListeningTest(
        id=identity, kind=settings.kind, title=settings.title, instructions=settings.instructions, created_by=actor,
        settings=settings.model_dump(mode="json"),
    )  # fmt: skip
    session.add(test)
    session.flush()
    size = 0
    for sound in sounds:
        size += len(sound.data)
        if size > SIZE_LIMIT:
            raise BadRequest(
                f"expected sounds of at most {SIZE_LIMIT // 1_000_000} MB, got more; take fewer clips or codecs"
            )
        session.add(
            Stimulus(
                test_id=identity, clip=sound.clip, condition=sound.condition, submission_id=sound.submission,
                credit=sound.credit, media_type=sound.media_type, data=sound.data,
            )
        )  # fmt: skip
        session.flush()
    record(session, actor, "listening.created", identity, title=settings.title, kind=settings.kind, bytes=size)
    return test


def found(session: Session, identity: str) -> ListeningTest:
    """Find a test. Raises NotFound."""
    test = repository.find(session, identity)
    if test is None:
        raise NotFound(f"no listening test has the id {identity[:40]!r}; /listening lists those that there are")
    return test


def settings_of(test: ListeningTest) -> TestSettings:
    """Return what a test was made by."""
    return TestSettings.model_validate(test.settings)


def advance(session: Session, identity: str, state: str, *, actor: str) -> ListeningTest:
    """Open a draft or close an open test; there is no way back. Raises NotFound, or Conflict for another step."""
    # SQLite has no FOR UPDATE, and SQLAlchemy leaves it out there: BEGIN IMMEDIATE lets one transaction write at a time
    test = session.scalars(select(ListeningTest).where(ListeningTest.id == identity).with_for_update()).one_or_none()
    if test is None:
        raise NotFound(f"no listening test has the id {identity[:40]!r}")
    if STEPS.get(test.state) != state:
        raise Conflict(f"expected a draft to open or an open test to close, got one that is {test.state}")
    test.state = state
    if state == "open":
        test.opened = now()
    else:
        test.closed = now()
    record(session, actor, f"listening.{'opened' if state == 'open' else 'closed'}", identity, title=test.title)
    bump_revision(session)
    return test


def bind(session: Session, identity: str, submission_id: str, *, actor: str) -> str:
    """Say that the sounds of a codec in a test are those of a public submission, on whose page the results stand then.

    A maintainer's word: runs carry no proof. Returns the codec. Raises NotFound, and BadRequest where the test has no
    sounds under its name.
    """
    test = found(session, identity)
    submission = session.get(Submission, submission_id)
    if submission is None or submission.status not in PUBLIC:
        raise NotFound(f"no public submission has the id {submission_id!r}")
    codec = submission.codec.name
    of_codec = update(Stimulus).where(Stimulus.test_id == test.id, Stimulus.condition == codec)
    changed = session.execute(of_codec.values(submission_id=submission_id))
    if not changed.rowcount:  # type: ignore[attr-defined]  # of a cursor
        raise BadRequest(f"expected a submission of a codec of this test, got one of {codec}")
    record(session, actor, "listening.bound", identity, codec=codec, submission=submission_id)
    bump_revision(session)
    return codec


def remove(session: Session, identity: str, *, actor: str) -> None:
    """Delete a test with its sounds and answers. Raises NotFound, and Conflict for an open one."""
    test = found(session, identity)
    if test.state == "open":
        raise Conflict("expected a draft or a closed test, got one that people may be taking; close it first")
    people = select(Participant.id).where(Participant.test_id == identity)
    session.execute(delete(Rating).where(Rating.participant_id.in_(people)))
    session.execute(delete(Participant).where(Participant.test_id == identity))
    session.execute(delete(Stimulus).where(Stimulus.test_id == identity))
    record(session, actor, "listening.removed", identity, title=test.title)
    session.delete(test)
    bump_revision(session)


def start(session: Session, test: ListeningTest, fields: Mapping[str, str], *, full: bool) -> str:
    """Let somebody begin, and return the token that continues.

    What they say about themselves is kept where the test asks and the answer is one of those offered. ``full`` is what
    :func:`is_full` said before the transaction: who finishes meanwhile has nobody count again in it. So they may still
    begin who come at that moment, as those under way may still finish. Raises Conflict for a test that is full or not
    open.
    """
    _hold_open(session, test)
    if full:
        raise Conflict("this test has all the listeners that it needs: thank you for coming")
    # who has listened least lately makes room: a flood of beginnings shuts nobody out
    repository.forget_idle(session, test.id, beyond=BEGINNERS - 1)
    said = {name: fields[name] for name in settings_of(test).ask if fields.get(name) in QUESTIONS[name][1]}
    token = secrets.token_urlsafe(24)
    session.add(Participant(test_id=test.id, token_sha256=hashed(token), seed=draw_seed(), finished=None, answers=said))
    return token


def is_full(session: Session, test: ListeningTest) -> bool:
    """Whether as many have finished, and pass the screening, as a test needs.

    All ratings are looked at once for each number of people that have finished: who has can change no answer, and is
    not removed while the test is open. Not to be called in a write transaction, in which others wait.
    """
    settings = settings_of(test)
    _, finished = repository.counts(session, test.id)
    if finished < settings.participants:
        return False
    with _COUNTING:  # of sixty that come together one counts
        known, counted = _COUNTED.get(test.id, (-1, 0))
        if known != finished:
            counted = _counted(session, test.id, settings)
            _COUNTED[test.id] = finished, counted
    return counted >= settings.participants


_COUNTING: Final = Lock()
_COUNTED: Final[dict[str, tuple[int, int]]] = {}
"""By test: how many have finished, and how many of them pass the screening."""


def _counted(session: Session, test: str, settings: TestSettings) -> int:
    """Count the listeners on whom the results would rest: what fails the screening takes nobody's place."""
    listeners = repository.answers(session, test)
    return len(listeners) - len(reasons(settings, listeners, questions_of(settings)))


def draw_seed() -> int:
    """Draw the seed of a participant's orders."""
    return secrets.randbits(_SEED_BITS)


def hashed(token: str) -> str:
    """Hash a participant's token; with 192 random bits it needs neither salt nor a slow hash."""
    return sha256(token.encode()).hexdigest()


def _hold_open(session: Session, test: ListeningTest, *, shared: bool = False) -> None:
    """Raise Conflict unless people can take part, and let nobody close the test until this transaction ends.

    Results are kept from when it is closed: an answer of that moment would be in the ratings and not in them. Those who
    begin wait for each other, unless ``shared``, so that they are counted.
    """
    session.refresh(test, ["state"], with_for_update={"read": shared})
    must_be_open(test)


def must_be_open(test: ListeningTest) -> None:
    """Raise Conflict unless people can take part."""
    if test.state == "draft":
        raise Conflict("this listening test has not begun yet; come back later")
    if test.state == "closed":
        raise Conflict("this listening test is over: thank you for coming; what was answered before is kept")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a participant stands."""

    test: ListeningTest
    settings: TestSettings
    participant: Participant
    trials: list[Trial]
    place: int
    """Trials that are answered; that of the next one in ``trials``."""

    @property
    def current(self) -> Trial | None:
        """The next question; None behind the last."""
        return self.trials[self.place] if self.place < len(self.trials) else None

    def sounds(self, key: str) -> dict[str, str]:
        """Return the conditions of the current question's sounds by their addresses' last part, in their order.

        The names of sounds are drawn by the service's key for each participant, question and place: the same sound has
        another name for everybody, and X another one than the sound that it repeats.
        """
        trial = self.current
        if trial is None:
            return {}
        labelled = [(OPEN_REFERENCE, REFERENCE)] if trial.open_reference else []
        labelled += [(slot.label, slot.condition) for slot in trial.slots]
        return {self._name(key, trial, label): condition for label, condition in labelled}

    def _name(self, key: str, trial: Trial, label: str) -> str:
        text = "\x1f".join(("listening test", self.test.id, str(self.participant.id), trial.key, label))
        return hmac.new(key.encode(), text.encode(), sha256).hexdigest()[:32]


def progress(session: Session, test: ListeningTest, token: str) -> Progress | None:
    """Find out where the bearer of a token stands; None for an unknown one."""
    person = repository.participant(session, test.id, hashed(token))
    if person is None:
        return None
    settings = settings_of(test)
    trials = trials_of(settings, person.seed)
    answered = repository.answered_trials(session, person.id)
    place = next((place for place, trial in enumerate(trials) if trial.key not in answered), len(trials))
    return Progress(test, settings, person, trials, place)


def answer(session: Session, stands: Progress, fields: Mapping[str, str]) -> bool:
    """Store the answer to the current question; one that is answered already keeps its first answer.

    Returns whether it is the first one of the participant.

    Raises Conflict for a test that is not open, BadRequest for an answer that is not whole, or to a later question.
    """
    _hold_open(session, stands.test, shared=True)
    number = fields.get("trial", "")
    place = int(number) - 1 if number.isascii() and number.isdecimal() and len(number) < 5 else -1  # noqa: PLR2004
    if not 0 <= place <= stands.place or place >= len(stands.trials):
        raise BadRequest(
            f"expected an answer to question {stands.place + 1}, got one to {number[:20]!r}; load the page"
        )
    if place < stands.place:
        return False  # sent twice
    trial = stands.trials[place]
    given = ratings_of(stands.settings.kind, trial, fields, ties=stands.settings.ties)
    seconds = seconds_of(fields)
    try:
        with session.begin_nested():
            session.add_all(
                Rating(
                    participant_id=stands.participant.id, trial=trial.key, condition=each.condition, value=each.value,
                    seconds=seconds,
                )
                for each in given
            )  # fmt: skip
    except IntegrityError:
        return False  # the same answer, sent twice at once: the first one stands
    # not the last place: of a pair that stood twice, before definitions refused it, one answer was to both
    if {trial.key for trial in stands.trials} <= repository.answered_trials(session, stands.participant.id):
        stands.participant.finished = now()
    return place == 0
