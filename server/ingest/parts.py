"""Parts of submissions that come before what describes them: received one by one, kept for a while, then named or gone.

A row of ``staged_parts`` is made before its file is in the vault and is gone after it: what an account has staged is
bounded by its rows, and the removal of orphans takes files without one. ``here`` is true only while the file is there.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from sqlalchemy import Select, Update, delete, func, or_, select, update
from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.schema import Part
from codec_superb.server.database.models import PUBLIC, Account, StagedPart, Submission, SubmissionPart, now
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import packed_states
from codec_superb.server.errors import Conflict, NotFound, TooLarge
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.outcome import Checked
from codec_superb.server.ingest.receive import Received, Upload
from codec_superb.server.ingest.schemas import StagedFile, StagedFiles
from codec_superb.server.people.access import Identity, valid_token
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import (
    STAGED_FOR,
    expect_own_vault,
    hold_off_cleaning,
    hold_off_others,
    move_in,
    remove_new,
    remove_orphans,
    submission_path,
)
from codec_superb.server.storage.vault import vault_of


def staged(database: Database, settings: Settings, caller: Identity) -> StagedFiles:
    """List what an account has staged and this service has, and the bytes that it may send beside it."""
    with database.transaction() as session:
        rows = session.scalars(_of(caller).order_by(StagedPart.received, StagedPart.sha256)).all()
    files = [_file(row) for row in rows if row.here]
    return StagedFiles(parts=files, bytes_left=max(0, settings.staged_limit - sum(row.size for row in rows)))


def has_room(database: Database, settings: Settings, caller: Identity, size: int) -> None:
    """Expect that an account may stage so many bytes. Raises TooLarge."""
    with database.transaction() as session:
        _check_room(session, settings, caller, size)


def stage(database: Database, settings: Settings, upload: Upload, caller: Identity) -> tuple[StagedFile, bool]:
    """Keep a received part; return what is said of it and whether it is new. Raises TooLarge beyond the account's room.

    Killed in between, a row without a file is left, which the same part fills when it comes again.
    """
    expect_own_vault(settings, database)
    sweep(database, settings)
    with hold_off_cleaning(settings):
        with database.transaction(write=True) as session:
            if settings.shared:
                hold_off_others(session)
            if caller.token_id is not None:
                valid_token(session, caller.token_id)
            # of two parts at once the second sees the first
            session.execute(select(Account.id).where(Account.id == caller.account_id).with_for_update())
            row = session.get(StagedPart, (caller.account_id, upload.sha256))
            new = row is None
            if row is None:
                _check_room(session, settings, caller, upload.size)
                row = StagedPart(account_id=caller.account_id, sha256=upload.sha256, size=upload.size)
                session.add(row)
            row.received = now()
            told = _file(row)
        move_in(settings, upload.path, upload.sha256)
        with database.transaction(write=True) as session:
            session.execute(_of_these(caller, [upload.sha256]).values(here=True))
    return told, new


def discard(database: Database, settings: Settings, sha256: str, caller: Identity) -> None:
    """Forget a staged part. Raises NotFound where the account has none of this hash."""
    with database.transaction(write=True) as session:
        row = session.get(StagedPart, (caller.account_id, sha256))
        if row is None:
            raise NotFound(f"no part with the SHA-256 {sha256[:16]}… waits for a submission of this account")
        session.delete(row)
    remove_new(settings, database, sha256)


def sweep(database: Database, settings: Settings) -> None:
    """Remove parts that nobody has named in time, whoever sent them."""
    with database.transaction() as session:
        expired = session.scalar(select(func.count()).where(StagedPart.received < now() - STAGED_FOR))
    if expired:
        remove_orphans(settings, database)


@contextmanager
def opened(
    database: Database, settings: Settings, parts: Sequence[Part], caller: Identity
) -> Iterator[Sequence[BinaryIO]]:
    """Open the parts that a file names, see :func:`expect_here`."""
    expect_here(database, settings, parts, caller)
    with ExitStack() as files:
        # each as soon as it is here: the copies of a store are few, and what is open stays
        yield [files.enter_context(_open(settings, part.sha256)) for part in parts]


def _open(settings: Settings, sha256: str) -> BinaryIO:
    try:
        return submission_path(settings, sha256).open("rb")
    except FileNotFoundError:  # another thread's file took the room of the copy
        return submission_path(settings, sha256).open("rb")


def check(
    database: Database, settings: Settings, checker: Checker, upload: Received, caller: Identity, *, public: bool = True
) -> Checked:
    """Check a received file against the datasets that the service knows. Raises Refused with all problems.

    Of a file that describes parts, those that ``caller`` sent before are checked with it; Conflict where some are not
    here. ``public`` as in ``check_admission``.
    """
    checked = look(database, settings, checker, upload, caller, public=public)
    named = checked.outcome.parts
    return check_whole(database, settings, checker, upload, caller, named, public=public) if named else checked


def look(
    database: Database, settings: Settings, checker: Checker, upload: Received, caller: Identity, *,
    public: bool = True, quick: bool = False,
) -> Checked:  # fmt: skip
    """Check a file as :func:`check` does; of one that describes parts the outcome names them and has no verdict.

    Raises TakesLong for one that takes more than a ``quick`` look.
    """
    states, key = _states(database, upload, public=public)
    with checker.remembering(key):
        checked = checker.check(upload.file, states, public=public, quick=quick)
    if named := checked.outcome.parts:
        with checked:  # nothing more is read of it
            expect_here(database, settings, named, caller)  # who has to send some first need not wait for the check
    return checked


def check_whole(
    database: Database, settings: Settings, checker: Checker, upload: Received, caller: Identity,
    named: Sequence[Part], *, public: bool = True,
) -> Checked:  # fmt: skip
    """Check a file with the parts that it names, as :func:`check` does."""
    states, key = _states(database, upload, public=public)
    with checker.remembering(key), opened(database, settings, named, caller) as files:
        return checker.check(upload.file, states, public=public, parts=files)


def _states(database: Database, upload: Received, *, public: bool) -> tuple[Mapping[str, tuple[str, bytes]], Hashable]:
    """Return the states of all datasets, and what a refusal of the file on them is remembered by."""
    with database.transaction() as session:
        states = packed_states(session)
    return states, (upload.sha256, public, frozenset((name, state) for name, (state, _) in states.items()))


def expect_here(database: Database, settings: Settings, parts: Sequence[Part], caller: Identity) -> None:
    """Expect the parts that a file names: the account has staged them, or submissions have them.

    Of submissions those of the account, and public ones. Raises Conflict, which names the others, where some are not
    here.
    """
    with database.transaction() as session:
        known = _known(session, parts, caller)
    vault = vault_of(settings)
    here = {sha256 for sha256 in known if vault.has(sha256)}
    if lacking := [number for number, part in enumerate(parts, start=1) if part.sha256 not in here]:
        with database.transaction(write=True) as session:  # so that who asks which parts wait sends them again
            session.execute(_of_these(caller, known - here).values(here=False))
        named = ", ".join(map(str, lacking[:10])) + (f" and {len(lacking) - 10} more" if len(lacking) > 10 else "")  # noqa: PLR2004
        raise Conflict(
            f"expected the {len(parts)} parts of this submission before the file that describes them, part {named} is "
            "not here: codec-superb submit sends all files, PUT /api/v1/parts/SHA256 one"
        )


def name(session: Session, submission_id: str, parts: Sequence[Part], caller: Identity) -> None:
    """Note the parts of a submission in the transaction that stores it; they wait no more.

    Raises Conflict where one was discarded or has expired since it was checked.
    """
    if {part.sha256 for part in parts} - _known(session, parts, caller):
        raise Conflict("parts were discarded, or expired, while they were checked: send them again, then this file")
    for number, part in enumerate(parts, start=1):
        session.add(
            SubmissionPart(
                submission_id=submission_id, number=number, sha256=part.sha256, size=part.size, rows=part.rows
            )
        )
    hashes = [part.sha256 for part in parts]
    session.execute(delete(StagedPart).where(StagedPart.account_id == caller.account_id, StagedPart.sha256.in_(hashes)))


def _known(session: Session, parts: Sequence[Part], caller: Identity) -> set[str]:
    hashes = [part.sha256 for part in parts]
    mine = _of(caller).with_only_columns(StagedPart.sha256).where(StagedPart.sha256.in_(hashes), StagedPart.here)
    # who has not sent a part, and cannot see it, learns nothing of it, and has nobody check it
    seen = or_(Submission.status.in_(PUBLIC), Submission.account_id == caller.account_id)
    stored = select(SubmissionPart.sha256).join(Submission, Submission.id == SubmissionPart.submission_id)
    stored = stored.where(SubmissionPart.sha256.in_(hashes), seen)
    return {*session.scalars(mine), *session.scalars(stored)}


def _of(caller: Identity) -> Select[StagedPart]:
    return select(StagedPart).where(StagedPart.account_id == caller.account_id)


def _of_these(caller: Identity, hashes: Collection[str]) -> Update:
    return update(StagedPart).where(StagedPart.account_id == caller.account_id, StagedPart.sha256.in_(hashes))


def _check_room(session: Session, settings: Settings, caller: Identity, size: int) -> None:
    used = session.scalar(select(func.sum(StagedPart.size)).where(StagedPart.account_id == caller.account_id)) or 0
    if used + size > settings.staged_limit:
        raise TooLarge(
            f"expected at most {settings.staged_limit / 1e6:g} MB of parts that wait for their submission, got "
            f"{used / 1e6:.1f} MB and {size / 1e6:.1f} more: parts that nobody needs go by "
            f"DELETE /api/v1/parts/SHA256, or after {STAGED_FOR.days} days"
        )


def _file(row: StagedPart) -> StagedFile:
    return StagedFile(sha256=row.sha256, size=row.size, expires=row.received + STAGED_FOR)
