"""Stores a submission file that lies on this machine: the same check and the same transaction as for an upload."""

from __future__ import annotations

from pathlib import Path

from codec_superb.pipeline.submission.parts.writing import files_of
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, ServerError
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.parts import check, stage
from codec_superb.server.ingest.receive import Upload, new_upload
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.ingest.service import receipt_of_file, store
from codec_superb.server.people.access import Identity
from codec_superb.server.people.tokens import account_of, check_name
from codec_superb.server.settings import Settings

_PIECE = 1 << 20


def identity_of_account(database: Database, name: str) -> Identity:
    """Return the sender that an account's own files come from; the account is created if necessary.

    Raises BadRequest for an invalid name.
    """
    check_name(name)
    with database.transaction(write=True) as session:
        account = account_of(session, name)
        session.flush()
        return Identity(account.id, name)


def take_file(
    database: Database, settings: Settings, checker: Checker, path: Path, caller: Identity, *, public: bool = True
) -> tuple[Receipt, bool]:
    """Check and store a copy of ``path``, and of parts beside it; return its receipt and whether it is new.

    ``public`` as in ``check_admission`` and :func:`~codec_superb.server.ingest.service.store`. Raises Refused with all
    problems, Conflict for names of others, TooLarge, and BadRequest for a file that cannot be read.
    """
    upload = new_upload(settings)
    try:
        _copy(path, upload)
        known = receipt_of_file(database, settings, upload.sha256, caller, whole=True)
        if known:
            return known, False
        for part in files_of(path)[1:]:
            _stage(database, settings, part, caller)
        with check(database, settings, checker, upload, caller, public=public) as checked:
            return store(database, settings, upload, checked, caller, public=public)
    finally:
        upload.discard()


def _stage(database: Database, settings: Settings, path: Path, caller: Identity) -> None:
    upload = new_upload(settings)
    try:
        _copy(path, upload)
        stage(database, settings, upload, caller)
    finally:
        upload.discard()


def _copy(path: Path, upload: Upload) -> None:
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                upload.take(piece)
                upload.store()
    except OSError as error:
        raise BadRequest(f"{path}: expected a submission file: {error.strerror or error}") from error
    upload.finish()


def reason_of(error: Exception) -> str:
    """Return why a file was not stored: the sentence of an error, with the first problem of a refused file."""
    if not isinstance(error, ServerError):
        return str(error) or type(error).__name__
    first = next((f": {p['path']}: expected {p['expected']}, got {p['got']}" for p in error.problems), "")
    return error.detail + first
