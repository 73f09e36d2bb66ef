"""Readiness check: the database answers and has the right schema, the storage is writable and has free space."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from codec_superb.server.database import migrate
from codec_superb.server.database.session import Database
from codec_superb.server.settings import MEGABYTE, Settings

Problem = dict[str, str]
"""``{path, expected, got, how_to_fix}``, as in every error."""


def problems(database: Database, settings: Settings) -> list[Problem]:
    """Check everything that an upload needs; an empty list means ready. Paths, addresses and messages are omitted."""
    return [*_database(database), *_storage(settings.storage, settings.free_bytes)]


def _database(database: Database) -> list[Problem]:
    try:
        with database.engine.connect() as connection:
            revision = migrate.current(connection)
    except SQLAlchemyError as error:
        return [_problem("database", "an answer", type(error).__name__, "check that it runs and can be reached")]
    if revision == migrate.head():
        return []
    fix = "restart the service: codec-superb serve upgrades the schema; a newer schema needs a newer program"
    return [_problem("schema", migrate.head(), str(revision), fix)]


def _storage(folder: Path, least: int) -> list[Problem]:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"ready")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return [_problem("storage", "a writable folder", error.strerror or "an error", "repair the disk")]
    if free >= least:
        return []
    got = f"{free // MEGABYTE} MB"
    return [_problem("disk", f"{least // MEGABYTE} MB free", got, "free some space, or lower free_bytes")]


def _problem(path: str, expected: str, got: str, how_to_fix: str) -> Problem:
    return {"path": path, "expected": expected, "got": got, "how_to_fix": how_to_fix}
