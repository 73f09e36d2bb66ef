"""A row of every table, with values that are hard to keep: for migrations and backups."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Text, cast, select
from sqlalchemy.orm import Session
from support.server.board import make_submission

from codec_superb.server.database.listening import ListeningTest, Participant, Rating, Stimulus
from codec_superb.server.database.models import (
    Account,
    Base,
    CheckJob,
    ClipBlock,
    DatabaseIdentity,
    Dataset,
    Family,
    PublishedResults,
    RateHit,
    RunningProcess,
    StagedPart,
    Submission,
    SubmissionPart,
    Token,
)
from codec_superb.server.database.verification import (
    Attestation,
    PrivateDataset,
    PrivateResult,
    VerificationJob,
    VerificationKey,
)
from codec_superb.server.people.audit import record

MOMENT = datetime(2026, 3, 29, 1, 59, 59, 123456, tzinfo=UTC)
"""An hour that some clocks have twice, with microseconds."""
BYTES = bytes(range(256)) * 40
WORDS = "Ünïcode 音 \U0001f50a, \"quotes\", 'single', back\\slash, new\nline, tab\t"


def fill_tables(session: Session, files: Path) -> list[str]:
    """Put rows into every table, and the files of three submissions into ``files``; return their ids."""
    files.mkdir(parents=True, exist_ok=True)
    identities = [add_upload(session, files, codec, number) for number, codec in enumerate(("opus_6k", "opus_12k"))]
    identities.append(add_upload(session, files, "opus_6k", 7))
    account = session.scalars(select(Account)).first()
    session.add(
        Token(
            account=account, prefix="secret", secret_sha256="a" * 64, scopes=["submit", "metrics"], created=MOMENT,
            expires=MOMENT + timedelta(days=90), last_used=None, revoked=None,
        )
    )  # fmt: skip
    session.add(
        Dataset(
            name="mini", manifest_hash="b" * 64, title=WORDS, licence="CC0-1.0", homepage=None, citation=WORDS,
            counts={"speech": 20, "music": 20}, clips=BYTES, added=MOMENT,
        )
    )  # fmt: skip
    mrr = [
        "SVQSwPassageInLangRetrieval",
        "PassageInLangRetrieval",
        "passage_retrieval_in_lang",
        "sw",
        "MRR",
        0.1 + 0.2,
        None,
    ]
    session.add(PublishedResults(kind="mseb", name=WORDS, source=WORDS, added=MOMENT, results=[mrr]))
    session.add(Family(name=WORDS, skeleton="words", owner=account, created=MOMENT))
    _add_verification(session, identities[0])
    _add_listening(session, identities[0])
    assert account is not None
    first = session.get_one(Submission, identities[0])
    part: dict[str, Any] = {"sha256": first.file_sha256, "size": first.file_size}
    session.add(SubmissionPart(submission_id=first.id, number=1, rows=3, **part))
    session.add(StagedPart(account_id=account.id, received=MOMENT, **part))
    session.add(RateHit(id="1" * 32, key="2" * 64, at=MOMENT, expires=MOMENT))
    session.add(DatabaseIdentity(id=1, identity="3" * 64))
    session.add(CheckJob(id="3" * 32, sender="4" * 64, file_sha256="5" * 64, state="done", outcome={"detail": WORDS}))
    session.add(
        RunningProcess(
            id="6" * 32, name=WORDS, serves=True, checks=2, program="0", schema="0011", key="7" * 64, started=MOMENT,
            seen=MOMENT,
        )
    )  # fmt: skip
    record(session, "command line", "token.created", "someone", note=WORDS, number=0.1 + 0.2, large=2**53 + 1)
    return identities


def _add_verification(session: Session, submission: str) -> None:
    session.add(VerificationKey(fingerprint="c" * 64, name=WORDS, public_key="k" * 44, added=MOMENT, revoked=None))
    document = {"note": WORDS, "number": 0.1 + 0.2}
    session.add(
        Attestation(
            submission_id=submission,
            fingerprint="c" * 64,
            sha256="d" * 64,
            agrees=True,
            document=document,
            added=MOMENT,
        )
    )
    private = PrivateDataset(
        name="private", path="/somewhere/private", commitment="e" * 64, salt="f" * 64, manifest_hash="9" * 64,
        counts={"speech": 40}, sounds={"speech": ["8" * 64]}, seconds={"speech": 0.1 + 0.2}, compared_with="mini",
        rotates=MOMENT, added=MOMENT, retired=None, opened=None,
    )  # fmt: skip
    session.add(private)
    session.flush()
    session.add(
        PrivateResult(
            submission_id=submission, private_dataset_id=private.id, category="speech", summary=document, gap=0.1 + 0.2,
            gap_low=-1e-9, gap_high=None, added=MOMENT,
        )
    )  # fmt: skip
    session.add(
        VerificationJob(
            submission_id=submission, kind="private", private_dataset_id=private.id, nonce="0" * 64, clips=0,
            heartbeat=MOMENT, created=MOMENT, finished=None, message=WORDS,
        )
    )  # fmt: skip


def _add_listening(session: Session, submission: str) -> None:
    session.add(
        ListeningTest(
            id="abcdefghijkl", kind="mushra", title="A test", instructions=WORDS, settings={"seed": 2**53 + 1},
            created_by=WORDS, created=MOMENT, opened=MOMENT, closed=None,
        )
    )  # fmt: skip
    session.flush()
    session.add(
        Stimulus(
            test_id="abcdefghijkl", clip=WORDS, condition="opus_6k", submission_id=submission, credit=WORDS,
            media_type="audio/ogg", data=BYTES,
        )
    )  # fmt: skip
    person = Participant(
        test_id="abcdefghijkl", token_sha256="1" * 64, seed=7, started=MOMENT, finished=None, answers={"age": WORDS}
    )
    session.add(person)
    session.flush()
    rating = Rating(
        participant_id=person.id, trial=WORDS, condition="opus_6k", value=0.1 + 0.2, seconds=1.5, added=MOMENT
    )
    session.add(rating)


def add_upload(session: Session, files: Path, codec: str, number: int) -> str:
    """Store a submission with clip rows, and its file, as an upload does: the file first."""
    content = b"file %d of %s " % (number, codec.encode()) * 500
    sha256 = hashlib.sha256(content).hexdigest()
    (files / f"{sha256}.zip").write_bytes(content)
    identity = make_submission(session, codec, file_sha256=sha256, submitter=WORDS, received=MOMENT)
    session.get_one(Submission, identity).file_size = len(content)
    session.add(ClipBlock(submission_id=identity, dataset="mini", rows=3, data=BYTES + bytes([number])))
    session.flush()
    return identity


def all_rows(engine: Engine, leave: Collection[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Return what is in the tables of a database but those to ``leave``, by primary key; JSON as the text stored."""
    tables = [table.name for table in Base.metadata.sorted_tables if table.name not in leave]
    with engine.connect() as connection:
        return {name: _rows(connection, name) for name in tables}


def _rows(connection: Connection, name: str) -> list[tuple[Any, ...]]:
    table = Base.metadata.tables[name]
    columns = [cast(column, Text) if column.type.__class__.__name__ == "JSON" else column for column in table.columns]
    return [tuple(row) for row in connection.execute(select(*columns).order_by(*table.primary_key.columns))]
