"""Endpoints for monitoring: liveness (/healthz), readiness (/readyz) and Prometheus metrics (/metrics-internal)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from codec_superb.server.database import migrate
from codec_superb.server.database.faults import NOT_ALLOWED, state_of, words_of
from codec_superb.server.database.models import RunningProcess
from codec_superb.server.database.session import Database, database_of
from codec_superb.server.errors import OperationError, Unavailable
from codec_superb.server.operations.heartbeat import PROCESS, living
from codec_superb.server.operations.meters import meters
from codec_superb.server.operations.preparation import expect_renaming
from codec_superb.server.people.access import Caller
from codec_superb.server.people.secret import keyed_hash
from codec_superb.server.settings import MEGABYTE, Settings
from codec_superb.server.storage.binding import fault_of_vault
from codec_superb.server.storage.vault import vault_of

router = APIRouter(include_in_schema=False)
_NEVER_KEPT = {"Cache-Control": "no-store"}
_A_MEGABYTE = text(
    # a type of 64 bytes that PostgreSQL never moves to a second table
    "CREATE TEMPORARY TABLE ready_probe ON COMMIT DROP AS SELECT repeat('x', 63)::name FROM generate_series(1, 10000)"
)
_LOOKED_FOR, _NAMED = 20, 3
"""Missing files of which a probe looks whether they are back, and names."""


@router.get("/healthz")
async def healthz(response: Response) -> dict[str, str]:
    """Answer that the process is alive; the database is not checked, so that its loss does not restart the service."""
    response.headers.update(_NEVER_KEPT)
    return {"status": "alive"}


@router.get("/readyz")
def readyz(request: Request, response: Response) -> dict[str, str | list[str]]:
    """Answer whether an upload would work now, with what else maintainers should mend; 503 with the reasons if not."""
    settings: Settings = request.app.state.settings
    found = _problems(database_of(request), settings)
    processes: Sequence[RunningProcess] = []
    if settings.shared and not found:
        with database_of(request).transaction() as session:
            processes = living(session)
        found = _together(processes, settings)
    if found:
        raise Unavailable("the service is not ready", problems=found, headers=_NEVER_KEPT)
    response.headers.update(_NEVER_KEPT)
    warnings = [
        *request.app.state.warnings.values(), *_outdated(processes), *_blind(processes, settings),
        *_missing(request.app.state.missing, settings),
    ]  # fmt: skip
    return {"status": "ready"} | ({"warnings": warnings} if warnings else {})


@router.get("/metrics-internal")
def metrics_internal(request: Request, caller: Caller) -> Response:
    """Return the metrics for Prometheus: to tokens of scope ``metrics``, or to anybody where the settings allow it."""
    if not request.app.state.settings.internal_metrics:
        caller.require("metrics")
    return Response(meters(request.app).exposition(), media_type=CONTENT_TYPE_LATEST, headers=_NEVER_KEPT)


Problem = dict[str, str]
"""``{path, expected, got, how_to_fix}``, as in every error."""


def _problems(database: Database, settings: Settings) -> list[Problem]:
    """Check everything that an upload needs; an empty list means ready. Paths, addresses and messages are omitted."""
    found = [*_database(database), *_storage(settings), *_vault(settings)]
    return found or _binding(database, settings)


def _together(processes: Sequence[RunningProcess], settings: Settings) -> list[Problem]:
    """Check what an upload and a login need of the processes on the same database, this one among them."""
    found = []
    checking, blind = _checking(processes, settings)
    if checking == blind:
        fix = "start codec-superb check-worker, or a service with check_workers above 0, with this service's storage"
        got = f"{blind} that see other files" if blind else "none that lives"
        found.append(_problem("checkers", "a process that checks uploads and sees their files", got, fix))
    serving = [process.key for process in processes if process.serves]
    if serving and serving[0] != keyed_hash(settings, PROCESS):
        fix = "give all processes the same secret_key; logins at one are none at the other"
        found.append(_problem("secret_key", "that of the processes that run already", "another", fix))
    return found


def _checking(processes: Sequence[RunningProcess], settings: Settings) -> tuple[int, int]:
    """Count the processes that check, and those of them that see another folder or store than this service."""
    seen = [process.files for process in processes if process.checks]
    return len(seen), sum(files not in {"", vault_of(settings).identity()} for files in seen)


def _blind(processes: Sequence[RunningProcess], settings: Settings) -> list[str]:
    """Say that processes take no file of this service."""
    checking, blind = _checking(processes, settings)
    told = f"{blind} of {checking} processes that check see other files than this service, and take none of its uploads"
    return [f"{told}: give them its storage folder, or its vault"] if blind else []


def _outdated(processes: Sequence[RunningProcess]) -> list[str]:
    """Say that processes of an older program run beside newer ones."""
    newest = max((process.schema for process in processes), default="")
    old = sum(process.schema != newest for process in processes)
    return [f"{old} of {len(processes)} processes know an older schema than {newest}: upgrade them"] if old else []


def _database(database: Database) -> list[Problem]:
    try:
        with database.engine.connect() as connection:
            revision, fits = migrate.current(connection), migrate.runs_on(connection)
    except SQLAlchemyError as error:
        return [_problem("database", "an answer", type(error).__name__, "check that it runs and can be reached")]
    if fits:
        return _writing(database)
    fix = "restart the service: codec-superb serve upgrades the schema; a newer schema needs a newer program"
    return [_problem("schema", migrate.head(), str(revision), fix)]


def _writing(database: Database) -> list[Problem]:
    """Write a megabyte into a table that is gone at once; SQLite lies on the disk of the storage, mostly."""
    if database.engine.dialect.name != "postgresql":
        return []
    try:
        with database.engine.connect() as connection:  # rolled back at the end
            connection.execute(_A_MEGABYTE)
    except SQLAlchemyError as error:
        if state_of(error) != NOT_ALLOWED:  # to make temporary tables; everything else may work
            fix = "free some space on its disk, or name the server that takes changes"
            return [_problem("database", "that it stores a megabyte", words_of(error), fix)]
    return []


def _storage(settings: Settings) -> list[Problem]:
    folders = {"storage": settings.storage, "submissions": settings.files, "incoming": settings.incoming}
    found = [problem for name, folder in folders.items() for problem in _folder(name, folder)]
    return found[:1] or _renaming(settings) or _room(settings.storage, settings.free_bytes)


def _renaming(settings: Settings) -> list[Problem]:
    """Rename a file as an upload is: a folder may be mounted while the service runs."""
    try:
        expect_renaming(settings)
    except OperationError:
        got = "a mount point"
    except OSError as error:
        got = error.strerror or "an error"
    else:
        return []
    fix = "mount the storage itself, not a folder of it"
    return [_problem("submissions", "a folder of the storage's own file system", got, fix)]


def _folder(name: str, folder: Path) -> list[Problem]:
    try:
        # written, not asked: permissions, quotas and a read-only remount all show
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"ready")
        next(folder.iterdir(), None)
    except OSError as error:
        fix = "mount it, repair the disk, or give it to the user of the service"
        return [_problem(name, "a folder that can be read and written", error.strerror or "an error", fix)]
    return []


def _room(folder: Path, least: int) -> list[Problem]:
    free = shutil.disk_usage(folder).free
    if free >= least:
        return []
    got = f"{free // MEGABYTE} MB"
    return [_problem("disk", f"{least // MEGABYTE} MB free", got, "free some space, or lower free_bytes")]


def _vault(settings: Settings) -> list[Problem]:
    try:
        vault_of(settings).probe()
    except Unavailable:
        return [_problem("vault", "an object store that can be written", "none", "check address, rights and network")]
    return []


def _binding(database: Database, settings: Settings) -> list[Problem]:
    try:
        fault = fault_of_vault(settings, database)
    except (OSError, Unavailable):
        return [_problem("vault", "files that can be listed", "none", "check storage, address, rights and network")]
    return [] if fault is None else [_problem("files", "those of this database", *fault)]


def _missing(wanted: set[str], settings: Settings) -> list[str]:
    """Say how many files that somebody asked for are still missing."""
    for sha256 in sorted(wanted)[:_LOOKED_FOR]:
        with suppress(Unavailable):
            if vault_of(settings).has(sha256):
                wanted.discard(sha256)
    named = ", ".join(sorted(wanted)[:_NAMED])
    told = f"{len(wanted)} submission files that were asked for are missing (by SHA-256: {named}, …)"
    return [f"{told}: put them back from a backup, or have them sent again"] if wanted else []


def _problem(path: str, expected: str, got: str, how_to_fix: str) -> Problem:
    return {"path": path, "expected": expected, "got": got, "how_to_fix": how_to_fix}
