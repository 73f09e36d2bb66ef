"""Turns a received file into a stored submission: recognised, checked, made durable, recorded in a transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from http import HTTPStatus

import anyio
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from codec_superb.server.database.faults import DATABASE_ERRORS, is_full
from codec_superb.server.database.models import Codec, Submission, now
from codec_superb.server.database.session import Database, record_change
from codec_superb.server.errors import ServerError, Unavailable
from codec_superb.server.ingest import parts, queue, repository
from codec_superb.server.ingest.checker import Checker, TakesLong, busy
from codec_superb.server.ingest.outcome import Accepted, Checked
from codec_superb.server.ingest.receipts import receipt
from codec_superb.server.ingest.receive import Received, Upload
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.moderation.plausibility import holds, warnings_for
from codec_superb.server.moderation.service import decide
from codec_superb.server.moderation.verified_first import place_anew
from codec_superb.server.names.claims import (
    check_names,
    claim_public_names,
    expect_no_selection,
    replaced_by,
    waits_for_run,
)
from codec_superb.server.names.own_words import check_shown_names
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.operations.meters import meters
from codec_superb.server.people.access import Identity, valid_token
from codec_superb.server.people.audit import record
from codec_superb.server.people.limits import sender, turn_of
from codec_superb.server.people.rate_counters import count_checking, network_of_request
from codec_superb.server.people.secret import keyed_hash
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import (
    expect_own_vault,
    hold_off_cleaning,
    hold_off_others,
    move_in,
    remove_new,
)
from codec_superb.server.storage.vault import vault_of

_LOG = get_logger(__name__)
_ATTEMPTS = 5
"""Attempts of a transaction that may conflict with one that stores the same file, codec or version."""


Also = Callable[[Session, Receipt, bool], None]
"""Called in the transaction that stores a file, with its receipt and whether it is new."""


def check_permission(settings: Settings, caller: Identity) -> None:
    """Expect a token of scope ``submit``, or anonymous uploads. Raises Unauthenticated or Forbidden."""
    if not (caller.anonymous and settings.anonymous_uploads):
        caller.require("submit")


async def ingest(request: Request, upload: Upload, caller: Identity) -> tuple[Receipt, bool]:
    """Check and store a received file; return its receipt and whether it is new.

    Raises Refused with all problems, Conflict for a name of another account, Unavailable when all workers are busy.
    """
    counted = meters(request.app)
    try:
        answer, new = await _ingest(request, upload, caller)
    except Exception as error:
        refused = isinstance(error, ServerError) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        counted.upload("refused" if refused else "failed")
        raise
    counted.upload("accepted" if new else "known")
    return answer, new


async def _ingest(request: Request, upload: Upload, caller: Identity) -> tuple[Receipt, bool]:
    app = request.app
    settings: Settings = app.state.settings
    database: Database = app.state.database
    checker: Checker = app.state.checker
    known = await run_sync(receipt_of_file, database, settings, upload.sha256, caller)
    if known is not None:
        await run_sync(put_back, settings, upload)
        return known, False
    if settings.shared:
        return await _queued(request, upload, caller)
    look = partial(parts.look, database, settings, checker, upload, caller)
    checked = None
    with suppress(TakesLong):
        checked = await _in_turn(request, caller, partial(look, quick=True))
    if checked is None:  # not where it was caught: a stop meanwhile would be logged with both as a fault
        checked = await _in_turn(request, caller, look, long=True)
    if named := checked.outcome.parts:
        whole = partial(parts.check_whole, database, settings, checker, upload, caller, named)
        checked = await _in_turn(request, caller, whole, long=True)
    with checked:
        return await run_sync(store, database, settings, upload, checked, caller)


async def _in_turn(
    request: Request, caller: Identity, examine: Callable[[], Checked], *, long: bool = False
) -> Checked:
    async with AsyncExitStack() as held:
        with meters(request.app).waiting():
            turn = request.app.state.checker.slot(turn_of(request, caller), network_of_request(request), long=long)
            await held.enter_async_context(turn)
        began = anyio.current_time()
        try:
            with meters(request.app).checking():
                return await run_sync(examine)
        finally:
            count_checking(request, sender(request, caller), anyio.current_time() - began)


async def _queued(request: Request, upload: Upload, caller: Identity) -> tuple[Receipt, bool]:
    """Leave the file to whichever process checks it, and wait for what comes out.

    Should this process end meanwhile, the file is checked and stored all the same, and is known when it comes again.
    One that comes again before that waits for the check that is under way.
    """
    app = request.app
    settings: Settings = app.state.settings
    database: Database = app.state.database
    network = keyed_hash(settings, network_of_request(request))
    before = await run_sync(queue.under_way, database, network, caller.account_id, upload.sha256)
    if before is None:
        await run_sync(_leave, app, upload, network, caller)
    with meters(app).waiting():
        job = await queue.outcome(database, settings, before or upload.path.name)
    upload.path.unlink(missing_ok=True)  # where a checker of another machine had it from a store
    if before is None:
        await run_sync(count_checking, request, sender(request, caller), job.seconds or 0.0)
    identity, new = queue.submission_of(job)
    new = new and before is None

    def read() -> Receipt:
        with database.transaction() as session:
            return receipt(session.get_one(Submission, identity), settings, to=None if new else caller)

    return await run_sync(read), new


def _leave(app: FastAPI, upload: Upload, network: str, caller: Identity) -> None:
    settings: Settings = app.state.settings
    database: Database = app.state.database
    # between the two the file would look like one that its process has left behind
    with hold_off_cleaning(settings):
        vault = vault_of(settings)
        vault.leave(upload.path)
        with database.transaction(write=True) as session:
            places = queue.places(session)
            if not places:
                raise Unavailable("no process checks uploads right now; try again in a minute",
                                  headers={"Retry-After": "60"})  # fmt: skip
            if not queue.has_room(session, network, caller.account_id):
                raise busy(f"{places} that")
            queue.enqueue(
                session, upload.path.name, sender=network, account_id=caller.account_id, sha256=upload.sha256,
                token_id=caller.token_id, files=vault.identity(),
            )  # fmt: skip
        upload.leave()
    app.state.files_wait.release()


def receipt_of_file(
    database: Database, settings: Settings, sha256: str, caller: Identity, *, whole: bool = False
) -> Receipt | None:
    """Return the receipt of a file that is stored already, by its hash; None for one that the sender takes over.

    ``whole`` for maintainers, who may know all of it.
    """
    with database.transaction() as session:
        found = repository.by_hash(session, sha256)
        return (
            None
            if found is None or _is_taken_over(found, caller)
            else receipt(found, settings, to=None if whole else caller)
        )


def put_back(settings: Settings, upload: Received) -> None:
    """Put a stored submission's file, which has come again with the same hash, back where it is missing, or another."""
    vault = vault_of(settings)
    # Unavailable: of a store that is away; the receipt is true all the same
    with suppress(Unavailable), hold_off_cleaning(settings):
        there = vault.has(upload.sha256)
        if not there or settings.vault is not None:  # what lies in a store is compared, and replaced
            vault.keep(upload.path, upload.sha256)
        if not there:
            _LOG.warning("a submission's file was missing and came again", sha256=upload.sha256)


def store(
    database: Database, settings: Settings, upload: Received, checked: Checked, caller: Identity, *,
    public: bool = True, also: Also | None = None,
) -> tuple[Receipt, bool]:  # fmt: skip
    """Move the file to its place, then record it in the database with everything computed from it.

    Killed in between, a file without a row is left, which the next start removes and the client's retry replaces. On a
    board that is not ``public`` names are not compared, and nothing waits for a moderator. ``also`` is called in the
    transaction with the receipt and whether it is new.
    """
    accepted = checked.outcome.accepted
    assert accepted is not None  # the checker raises otherwise
    if public:
        with database.transaction() as session:
            check_names(session, accepted.submission.codec, caller)
            check_shown_names(session, accepted.submission, caller)
    expect_own_vault(settings, database)
    new = not vault_of(settings).has(upload.sha256)
    try:
        made = _recorded(database, settings, upload, checked, caller, public=public, also=also)
    except Unavailable:  # it comes again, from its sender or from the queue
        raise
    except (ServerError, *DATABASE_ERRORS) as error:
        # what was to be recorded was rolled back; of other errors of a database that is not known
        if new and (isinstance(error, ServerError) or is_full(error)):
            with suppress(*DATABASE_ERRORS):
                remove_new(settings, database, upload.sha256)  # not even to be set aside: nobody has accepted it
        raise
    with suppress(Unavailable):  # the next start does it
        for sha256 in (upload.sha256, *(part.sha256 for part in accepted.submission.parts)):
            vault_of(settings).accept(sha256)
    return made


def _recorded(
    database: Database, settings: Settings, upload: Received, checked: Checked, caller: Identity, *,
    public: bool, also: Also | None,
) -> tuple[Receipt, bool]:  # fmt: skip
    """Move a file in and store its rows, again where another request was quicker."""
    accepted = checked.outcome.accepted
    assert accepted is not None
    with hold_off_cleaning(settings):
        # again: they may have expired during the check
        parts.expect_here(database, settings, accepted.submission.parts, caller)
        move_in(settings, upload.path, upload.sha256)
        for _ in range(_ATTEMPTS):
            try:
                with database.transaction(write=True) as session:
                    if settings.shared:
                        hold_off_others(session)
                        if not vault_of(settings).has(upload.sha256):  # removed as an orphan of an earlier attempt
                            raise Unavailable(
                                "the file was removed while it was stored; send it again", headers={"Retry-After": "1"}
                            )
                    made = _name(session, settings, upload, checked, caller, public=public)
                    if also is not None:
                        also(session, *made)
                    return made
            except IntegrityError:  # another request stored the file, the codec, a name or the version meanwhile
                continue
    raise Unavailable("several uploads of this codec came at once; send the file again", headers={"Retry-After": "1"})


def _name(
    session: Session, settings: Settings, upload: Received, checked: Checked, caller: Identity, *, public: bool
) -> tuple[Receipt, bool]:
    """Store all rows of a file, or find those of the same file.

    Raises Unauthenticated where the sender's token was revoked or expired while the file was checked.
    """
    if caller.token_id is not None:
        valid_token(session, caller.token_id)
    known = repository.by_hash(session, upload.sha256)
    if known is not None and not _is_taken_over(known, caller):
        return receipt(known, settings, to=caller), False
    accepted = checked.outcome.accepted
    assert accepted is not None
    if public:
        check_names(session, accepted.submission.codec, caller)
    codec = _codec(session, accepted.submission.codec.name)
    submission = known or _rows(session, upload, checked, codec, caller)
    submission.account_id = caller.account_id
    _judge(session, submission, caller, public=public)
    _note(session, submission, accepted, caller)
    return receipt(submission, settings), True


def _is_taken_over(known: Submission, caller: Identity) -> bool:
    """Whether the sender of a file with a token becomes that of one which came without and waits for a moderator."""
    return known.status == "pending" and known.account_id is None and not caller.anonymous


def _rows(session: Session, upload: Received, checked: Checked, codec: Codec, caller: Identity) -> Submission:
    accepted = checked.outcome.accepted
    assert accepted is not None
    submission = Submission(
        id=repository.new_id(),
        codec=codec,
        version=repository.next_version(session, codec),
        file_sha256=upload.sha256,
        file_size=upload.size,
        status="pending",
        notes=list(checked.outcome.notes),
        warnings=[],
        **repository.submission_columns(accepted),
    )
    submission.results.extend(repository.results(accepted))
    session.add(submission)
    session.flush()
    parts.name(session, submission.id, accepted.submission.parts, caller)
    for block in repository.blocks(submission.id, checked):
        session.add(block)
        session.flush()
        session.expunge(block)  # one block is in memory
    return submission


def _judge(session: Session, submission: Submission, caller: Identity, *, public: bool) -> None:
    """Decide whether the results are public at once, and if so keep their names."""
    session.flush()
    if public:
        expect_no_selection(session, submission)
    found = warnings_for(session, submission.id)
    submission.warnings = list(found)
    for replaced in () if caller.anonymous else replaced_by(session, submission):
        if replaced.complete and holds(found) and not waits_for_run(found):
            continue  # the new one waits for a moderator, this one for a run alone
        why = "came after it" if replaced.complete else "is complete"
        decide(session, replaced.id, "reject", f"version {submission.version} {why}", actor=caller.name)
    if caller.anonymous:
        submission.status = "pending"
    elif public and holds(found):
        submission.status = "held"
    else:
        submission.status, submission.public_since = "self-reported", now()
        if public:
            claim_public_names(session, submission, actor=caller.name)
        session.flush()
        moved = place_anew(session, submission, "pending") if public else ()
        record_change(session, submission.id, submission.status, moved)


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


def _codec(session: Session, name: str) -> Codec:
    """Find the codec, locked, or make it."""
    codec = repository.codec_by_name(session, name, lock=True)
    if codec is None:
        codec = Codec(name=name)
        session.add(codec)
        session.flush()
    return codec
