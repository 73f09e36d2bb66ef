"""Private datasets whose every secret has a canary in it, a codec that really runs on them, and gaps without a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.codec_page import packed

from codec_superb.base_codec import registry
from codec_superb.cli.verification.handlers import HANDLERS
from codec_superb.cli.verification.worker import Context, Handler, work
from codec_superb.pipeline.private_sets.commitment import private_facts
from codec_superb.server.database.models import PrivateDataset, PrivateResult, VerificationJob
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.private_sets import queue
from codec_superb.server.private_sets import registry as private_registry
from codec_superb.server.settings import Settings

CANARY = "nightjar"
"""In the name of every private clip and of their folder; nothing else on the board is called so."""
CODEC = "opus_16k"


@dataclass(frozen=True)
class Board:
    """A service with one codec, and what belongs to it."""

    client: TestClient
    app: FastAPI
    database: Database
    settings: Settings
    submission: str
    codec: str

    def add(self, name: str, clips: Path) -> str:
        """Register a private dataset; return its salt."""
        facts = private_facts(str(clips))
        with self.database.transaction(write=True) as session:
            private_registry.add(
                session, name, str(clips), counts=facts.counts, seconds=facts.seconds, sounds=facts.sounds,
                salt=facts.salt, manifest_hash=facts.manifest_hash, commitment=facts.commitment, compared_with="mini",
                rotates=None, actor="the test",
            )  # fmt: skip
        return facts.salt

    def run(self, name: str, handlers: Mapping[str, Handler] = HANDLERS) -> VerificationJob:
        """Queue the codec, do the job as a worker does, and return the job as it is then."""
        with self.database.transaction(write=True) as session:
            (made,) = queue.enqueue(session, name, None, actor="the test")
            assert not made.left_out
        assert work(Context(self.database, self.settings, "cpu", 1), handlers, once=True) == 1
        self.app.state.board.refresh()
        with self.database.transaction() as session:
            return session.scalars(select(VerificationJob).order_by(VerificationJob.id.desc()).limit(1)).one()


def pack_public(folder: Path) -> Path:
    """Pack drawn rows of 63 clips under the card of the codec that the tests run, with sounds to listen to."""
    card = registry.card(CODEC).model_dump(exclude={"name"})
    return packed(folder, CODEC, clips=63, samples=2, card_fields=card)


def private_clips(folder: Path, *, broken: bool = False) -> Path:
    """Write 22 clips of noise, of which one holds no numbers where ``broken`` is asked for."""
    place = folder / f"{CANARY}-set" / "audio"
    place.mkdir(parents=True)
    for number in range(22):
        sound = 0.1 * np.random.default_rng(number).normal(size=4000 + 100 * number)
        soundfile.write(place / f"{CANARY}-{number:02}.wav", sound, 16000)
    if broken:
        soundfile.write(place / f"{CANARY}-07.wav", np.full(4000, np.nan, np.float32), 16000, subtype="FLOAT")
    return place.parent


def add_private_set(session: Session, name: str = "private-2026") -> PrivateDataset:
    """Store a private dataset that lies nowhere."""
    made = PrivateDataset(
        name=name, path=f"/{CANARY}/{name}", commitment="c" * 64, salt=f"{CANARY}-salt", manifest_hash=f"{CANARY}-hash",
        counts={"speech": 240, "audio": 7}, sounds={}, seconds={"speech": 5400}, compared_with="mini",
    )  # fmt: skip
    session.add(made)
    session.flush()
    return made


def add_gaps(
    session: Session,
    dataset: PrivateDataset,
    gaps: Mapping[str, float | None],
    arm: float = 0.02,
    *,
    status: str = "verified",
) -> dict[str, str]:
    """Store a submission of each codec with a gap in speech on ``dataset``; return their ids by codec.

    A codec's family is its name up to the first ``_``; None is a run in which clips failed.
    """
    made = {}
    for codec, gap in gaps.items():
        made[codec] = make_submission(session, codec, 12.0, 0.8, status, card={"family": codec.partition("_")[0]})
        score = 0.8 - (gap or 0.0)
        session.add(
            PrivateResult(
                submission_id=made[codec], private_dataset_id=dataset.id, category="speech",
                summary={"clips": 240, "complete": gap is not None, "score": score, "low": score - arm / 2,
                         "high": score + arm / 2},
                gap=gap, gap_low=None if gap is None else gap - arm, gap_high=None if gap is None else gap + arm,
            )
        )  # fmt: skip
    bump_revision(session)
    return made
