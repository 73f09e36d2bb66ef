"""``/api/v1/submissions`` (reading), ``/api/v1/codecs/{name}/history`` and diffs between versions."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

import pyarrow as pa
from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, Response

from codec_superb.pipeline.submission.parts.reading import MOST_ROWS
from codec_superb.pipeline.submission.schema import MOST_PARTS
from codec_superb.server.database.session import ReadTransaction, database_of
from codec_superb.server.errors import Unavailable
from codec_superb.server.people.access import Caller
from codec_superb.server.people.limits import CountedComputation, sender
from codec_superb.server.settings import Settings
from codec_superb.server.storage.block_parts import row_groups
from codec_superb.server.storage.room import has_room
from codec_superb.server.submissions import clips, service
from codec_superb.server.submissions.repository import VERSIONS
from codec_superb.server.submissions.schemas import Diff, History, SubmissionDetail, SubmissionList
from codec_superb.server.submissions.streams import Stream, Streamed

router = APIRouter(tags=["submissions"])

_PIECE = 65_536
"""Bytes of a file that are sent at once."""
_TEXT = r"^[^\x00]*$"
"""PostgreSQL's text type cannot hold a NUL; a query with one is an error."""
Identity = Annotated[str, Path(description="Id of a submission.", max_length=20, pattern=_TEXT)]
CodecName = Annotated[str, Path(description="Name of a codec.", max_length=200, pattern=_TEXT)]
AnyCodec = Annotated[str | None, Query(description="Of this codec alone.", max_length=200, pattern=_TEXT)]
WithDataset = Annotated[str | None, Query(description="With results on this dataset.", max_length=200, pattern=_TEXT)]
OneDataset = Annotated[str | None, Query(description="Of this dataset; all without it.", max_length=200, pattern=_TEXT)]


@router.get("/api/v1/submissions")
def list_submissions(
    session: ReadTransaction,
    codec: AnyCodec = None,
    status: Annotated[Literal["self-reported", "verified"] | None, Query(description="Of this status alone.")] = None,
    dataset: WithDataset = None,
    custom: Annotated[
        bool | None, Query(description="Those on datasets that are not of the benchmark alone, or all others.")
    ] = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    per_page: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SubmissionList:
    """List public submissions, newest first."""
    return service.listed(
        session, codec=codec, status=status, dataset=dataset, custom=custom, page=page, per_page=per_page
    )


@router.get("/api/v1/submissions/{identity}")
def one_submission(_counted: CountedComputation, session: ReadTransaction, identity: Identity) -> SubmissionDetail:
    """Show one submission: card, provenance and every aggregate."""
    return service.detail(session, identity)


@router.get(
    "/api/v1/submissions/{identity}/file",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {}}, "description": "the submission file"}},
)
def file(
    request: Request, session: ReadTransaction, identity: Identity, _counted: CountedComputation, _place: Streamed,
) -> FileResponse:  # fmt: skip
    """Download a submission file, as it was received but for the submitter's contact, which is not published."""
    path, name = service.download(session, request.app.state.settings, identity)
    return FileResponse(path, media_type="application/zip", filename=name)


@router.get(
    "/api/v1/submissions/{identity}/parts/{number}",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {}}, "description": "a part of the submission"}},
)
def part(
    request: Request, session: ReadTransaction, identity: Identity, _counted: CountedComputation, _place: Streamed,
    number: Annotated[int, Path(ge=1, le=MOST_PARTS, description="From 1.")],
) -> FileResponse:  # fmt: skip
    """Download a file that holds some of a submission's rows; the submission file names them all."""
    path, name = service.download_part(session, request.app.state.settings, identity, number)
    return FileResponse(path, media_type="application/zip", filename=name)


@router.get(
    "/api/v1/submissions/{identity}/clips",
    response_class=Response,
    responses={200: {
        "description": "clip rows", "content": {
            "application/json": {}, "text/csv": {}, "application/vnd.apache.parquet": {},
        },
    }},
)  # fmt: skip
async def clip_rows(
    request: Request,
    identity: Identity,
    caller: Caller,
    _counted: CountedComputation,
    _place: Streamed,
    dataset: OneDataset = None,
    format: Annotated[Literal["json", "csv", "parquet"], Query()] = "json",  # noqa: A002 -- name of the parameter
    offset: Annotated[int, Query(ge=0, le=MOST_ROWS, description="JSON only: rows to leave out.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="JSON only: rows at most.")] = 1000,
) -> Response:
    """Return the clip rows behind the aggregates: JSON in pages, CSV and Parquet whole."""
    turns, who = clips.clip_turns(request.app.state), sender(request, caller)
    if format == "json":
        async with turns.pages.turn(who):
            return await run_sync(_page, request, identity, dataset, offset, limit)
    async with turns.whole.turn(who):
        async with turns.pages.turn(who):  # footers are read by one at a time
            found, tables = await run_sync(_rows, request, identity, dataset)
        name = f"{identity}{f'-{dataset}' if dataset else ''}{'-custom' if found.custom else ''}"
        if format == "csv":
            rows = clips.as_csv(tables)
            return Stream(rows, rows, "text/csv; charset=utf-8", _attachment(f"{name}.csv"))
        return await run_sync(_parquet, request, tables, _attachment(f"{name}.parquet"))


def _rows(
    request: Request, identity: str, dataset: str | None, offset: int = 0, limit: int | None = None
) -> tuple[service.ClipBlocks, Iterator[pa.Table]]:
    found = service.clip_blocks(database_of(request), identity, dataset)
    footers = clips.clip_turns(request.app.state).footers
    return found, clips.begun(row_groups(found.blocks, footers, offset, limit))


def _page(request: Request, identity: str, dataset: str | None, offset: int, limit: int) -> Response:
    found, tables = _rows(request, identity, dataset, offset, limit)
    body: dict[str, Any] = {"submission": identity, "custom": found.custom, "total": found.total, "offset": offset}
    rows = clips.as_json(tables, body)
    return Stream(rows, rows, "application/json", {})


def _while_room(settings: Settings, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Pass tables on. Raises OSError where they would take what is left: 64 slow readers hold a file each."""
    for table in tables:
        if not has_room(settings):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield table


def _parquet(request: Request, tables: Iterator[pa.Table], headers: dict[str, str]) -> Response:
    # it is whole before it is sent, on the disk, where it has no name and ends with its reader
    settings: Settings = request.app.state.settings
    file = TemporaryFile(dir=settings.incoming)  # noqa: SIM115 -- closed by who sends it
    try:
        clips.as_parquet(_while_room(settings, tables), file)
        file.flush()
    except OSError as error:
        with suppress(OSError):  # it has no room for its last bytes either
            file.close()
        raise Unavailable(
            f"the rows cannot be put together as Parquet: {error.strerror or error}; take CSV, or try again later"
        ) from error
    headers["Content-Length"] = str(file.tell())
    file.seek(0)
    pieces = iter(lambda: file.read(_PIECE), b"")
    return Stream(pieces, file, "application/vnd.apache.parquet", headers)


@router.get("/api/v1/submissions/{old}/diff/{new}")
def compare_versions(
    session: ReadTransaction,
    old: Identity,
    new: Identity,
    _counted: CountedComputation,
) -> Diff:
    """Say what changed between two versions of a codec's results: card, datasets, metric versions, aggregates."""
    return service.diff(session, old, new)


@router.get("/api/v1/codecs/{name}/history")
def history(
    session: ReadTransaction,
    name: CodecName,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    per_page: Annotated[int, Query(ge=1, le=200)] = VERSIONS,
) -> History:
    """List the versions of a codec's results, those that were withdrawn too, with status and reason."""
    return service.history(session, name, page=page, per_page=per_page)


def _attachment(name: str) -> dict[str, str]:
    # RFC 6266, 4.3: filename is a quoted string of ISO 8859-1; quotes, and what lies beyond ASCII, become underscores
    quoted = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name)
    return {"Content-Disposition": f'attachment; filename="{quoted}"'}
