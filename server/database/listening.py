"""Tables of listening tests: what is played, to whom, and what was answered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from codec_superb.server.database.base import Base, now

TEST_KINDS = ("ab", "abx", "mushra", "acr", "dcr")
TEST_STATES = ("draft", "open", "closed")


class ListeningTest(Base):
    """One listening test."""

    __tablename__ = "listening_tests"
    __table_args__ = (
        CheckConstraint(f"kind IN {TEST_KINDS}", name="kind"),
        CheckConstraint(f"state IN {TEST_STATES}", name="state"),
    )

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    """Random lower-case letters and digits, used in links."""
    kind: Mapped[str] = mapped_column(String(16))
    title: Mapped[str] = mapped_column(String(200))
    instructions: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[str] = mapped_column(String(16), default="draft")
    settings: Mapped[dict[str, Any]]
    """Screening questions, whether age or hearing are asked, seed of the orders, trials a participant."""
    created_by: Mapped[str] = mapped_column(String(200))
    created: Mapped[datetime] = mapped_column(default=now)
    opened: Mapped[datetime | None]
    closed: Mapped[datetime | None]


class Stimulus(Base):
    """One sound of a test: a clip under a condition."""

    __tablename__ = "listening_stimuli"
    __table_args__ = (UniqueConstraint("test_id", "clip", "condition"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    test_id: Mapped[str] = mapped_column(ForeignKey("listening_tests.id"), index=True)
    clip: Mapped[str] = mapped_column(String(400))
    condition: Mapped[str] = mapped_column(String(200))
    """A codec's name, ``reference``, ``anchor-3.5k`` or ``anchor-7k``."""
    submission_id: Mapped[str | None] = mapped_column(ForeignKey("submissions.id"), index=True)
    """Where the sound of a codec comes from."""
    credit: Mapped[str] = mapped_column(Text, default="")
    media_type: Mapped[str] = mapped_column(String(40))
    data: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)


class Participant(Base):
    """Somebody who takes part: a random token and nothing that tells who it is."""

    __tablename__ = "listening_participants"

    id: Mapped[int] = mapped_column(primary_key=True)
    test_id: Mapped[str] = mapped_column(ForeignKey("listening_tests.id"), index=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    seed: Mapped[int]
    """Of the orders in which sounds are played to this participant."""
    started: Mapped[datetime] = mapped_column(default=now)
    finished: Mapped[datetime | None]
    answers: Mapped[dict[str, Any]]
    """To screening questions, and age group or hearing where the test asks and the participant chose to say."""


class Rating(Base):
    """One answer of a participant."""

    __tablename__ = "listening_ratings"
    __table_args__ = (UniqueConstraint("participant_id", "trial", "condition"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    participant_id: Mapped[int] = mapped_column(ForeignKey("listening_participants.id"), index=True)
    trial: Mapped[str] = mapped_column(String(400))
    """The clip, or the pair of conditions on it."""
    condition: Mapped[str] = mapped_column(String(200))
    value: Mapped[float]
    """0 to 100 of MUSHRA, 1 to 5 of ACR and DCR, 1 for preferred or right and 0 for not of AB and ABX, 0.5 for none."""
    seconds: Mapped[float]
    """From the first play to the answer."""
    added: Mapped[datetime] = mapped_column(default=now)
