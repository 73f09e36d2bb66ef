"""Turns a received file into a stored submission: recognised, checked, made durable, recorded in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any

from anyio.to_thread import run_sync
from fastapi import FastAPI
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.server.database.models import PUBLIC, Codec, Submission
from codec_superb.server.database.session import Database, record_change
from codec_superb.server.datasets.service import packed_states
from codec_superb.server.errors import Conflict, ServerError, Unavailable
from codec_superb.server.ingest import repository
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.outcome import Accepted, Checked
from codec_superb.server.ingest.receive import Upload
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.moderation.plausibility import warnings_for
from codec_superb.server.operations.meters import meters
from codec_superb.server.people.access import Identity
from codec_superb.server.people.audit import record
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import hold_off_cleaning, move_in

_ATTEMPTS = 5
"""Attempts of a transaction that may conflict with one that stores the same file, codec or version."""


def check_permission(settings: Settings, caller: Identity) -> None:
    """Expect a token of scope ``submit``, or anonymous uploads. Raises Unauthenticated or Forbidden."""
    if not (caller.anonymous and settings.anonymous_uploads):
        caller.require("submit")


async def ingest(app: FastAPI, upload: Upload, caller: Identity) -> tuple[Receipt, bool]:
    """Check and store a received file; return its receipt and whether it is new.

    Raises Refused with all problems, Conflict for a name of another account, Unavailable when all workers are busy.
    """
    counted = meters(app)
    try:
        answer, new = await _ingest(app, upload, caller)
    except Exception as error:
        refused = isinstance(error, ServerError) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        counted.upload("refused" if refused else "failed")
        raise
    counted.upload("accepted" if new else "known")
    return answer, new


async def _ingest(app: FastAPI, upload: Upload, caller: Identity) -> tuple[Receipt, bool]:
    settings: Settings = app.state.settings
    database: Database = app.state.database
    checker: Checker = app.state.checker
    known = await run_sync(receipt_of_file, database, settings, upload.sha256)
    if known is not None:
        return known, False
    async with AsyncExitStack() as turn:
        with meters(app).waiting():
            await turn.enter_async_context(checker.slot())
        with meters(app).checking():
            checked = await run_sync(check, database, checker, upload)
    return await run_sync(store, database, settings, upload, checked, caller)


def receipt_of_file(database: Database, settings: Settings, sha256: str) -> Receipt | None:
    """Return the receipt of a file that is stored already, by its hash."""
    with database.transaction() as session:
        found = repository.by_hash(session, sha256)
        return None if found is None else receipt(found, settings)


def check(database: Database, checker: Checker, upload: Upload, *, public: bool = True) -> Checked:
    """Check a received file against the datasets that the service knows. Raises Refused with all problems.

    ``public`` as in ``check_admission``.
    """
    with database.transaction() as session:
        states = packed_states(session)
    return checker.check(upload.file, states, public=public)


def store(
    database: Database, settings: Settings, upload: Upload, checked: Checked, caller: Identity
) -> tuple[Receipt, bool]:
    """Move the file to its place, then record it in the database with everything computed from it.

    Killed in between, a file without a row is left, which the next start removes and the client's retry replaces.
    """
    accepted = checked.outcome.accepted
    assert accepted is not None  # the checker raises otherwise
    with database.transaction() as session:
        check_name(session, accepted.submission.codec.name, caller)
    with hold_off_cleaning(settings):
        move_in(settings, upload.path, upload.sha256)
        for _ in range(_ATTEMPTS):
            try:
                with database.transaction(write=True) as session:
                    return _name(session, settings, upload, checked, caller)
            except IntegrityError:  # another request stored the file, the codec or the version at the same moment
                continue
    raise Unavailable("several uploads of this codec came at once; send the file again", headers={"Retry-After": "1"})


def _name(
    session: Session, settings: Settings, upload: Upload, checked: Checked, caller: Identity
) -> tuple[Receipt, bool]:
    """Store all rows of a file, or find those of the same file."""
    known = repository.by_hash(session, upload.sha256)
    if known is not None:
        return receipt(known, settings), False
    accepted = checked.outcome.accepted
    assert accepted is not None
    codec = _codec(session, accepted.submission.codec.name, caller)
    submission = Submission(
        id=repository.new_id(),
        codec=codec,
        version=repository.next_version(session, codec),
        file_sha256=upload.sha256,
        file_size=upload.size,
        status="pending" if caller.anonymous else "self-reported",
        account_id=caller.account_id,
        notes=list(checked.outcome.notes),
        warnings=[],
        **repository.submission_columns(accepted),
    )
    submission.results.extend(repository.results(accepted))
    session.add(submission)
    session.flush()
    session.add_all(repository.blocks(submission.id, checked))
    session.flush()
    submission.warnings = list(warnings_for(session, submission.id))
    _note(session, submission, accepted, caller)
    if submission.status in PUBLIC:
        record_change(session, submission.id, submission.status)
    return receipt(submission, settings), True


def _note(session: Session, submission: Submission, accepted: Accepted, caller: Identity) -> None:
    record(
        session,
        caller.name,
        "submission.received",
        submission.id,
        codec=submission.codec.name,
        version=submission.version,
        status=submission.status,
        file_sha256=submission.file_sha256,
        clips=accepted.clips,
    )


def _codec(session: Session, name: str, caller: Identity) -> Codec:
    """Find the codec, locked, or make it; an anonymously used name belongs to the first account that submits it."""
    check_name(session, name, caller)
    codec = repository.codec_by_name(session, name, lock=True)
    if codec is None:
        codec = Codec(name=name)
        session.add(codec)
    session.flush()
    if codec.owner_id is None and not caller.anonymous:
        codec.owner_id = caller.account_id
        record(session, caller.name, "codec.claimed", name)
        session.flush()
    return codec


def check_name(session: Session, name: str, caller: Identity) -> None:
    """Refuse a codec's name that belongs to another account. Raises Conflict."""
    codec = repository.codec_by_name(session, name)
    if codec is None or codec.owner_id is None or codec.owner_id == caller.account_id:
        return
    fix = "name your configuration otherwise in the codec's card" + (
        ", or send it with a token of the account that owns the name" if caller.anonymous else ""
    )
    problem = {
        "path": "submission.json: codec.name",
        "expected": "a name that no other account has submitted results under",
        "got": name,
        "how_to_fix": fix,
    }
    raise Conflict(f"the codec name {name!r} is taken by another account; {fix}", problems=[problem])


def receipt(submission: Submission, settings: Settings) -> Receipt:
    """Describe a stored submission for its sender."""
    return Receipt(
        id=submission.id,
        codec=submission.codec.name,
        version=submission.version,
        status=submission.status,
        url=f"{settings.base_url.rstrip('/')}/submissions/{submission.id}",
        datasets=dataset_names(submission),
        clips=submission.clips,
        ok=submission.ok,
        failed=submission.failed,
        complete=submission.complete,
        custom=submission.custom,
        condition=submission.condition,
        notes=submission.notes,
        warnings=submission.warnings,
    )


def dataset_names(submission: Submission) -> list[str]:
    """Names of the datasets of a submission."""
    described: Sequence[dict[str, Any]] = submission.document["datasets"]
    return [str(dataset["name"]) for dataset in described]
