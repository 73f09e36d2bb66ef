"""Imports results of encoders that somebody else published; the package's own are never replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.mseb import mseb_about, summaries
from codec_superb.server.database.models import PublishedEncoder, now
from codec_superb.server.database.session import bump_revision
from codec_superb.server.errors import BadRequest, NotFound
from codec_superb.server.mseb.repository import by_name
from codec_superb.server.people.audit import record


def add(session: Session, rows: Sequence[MsebRow], source: str, *, actor: str) -> Mapping[str, int]:
    """Store the rows of each encoder in place of those that it had; return how many each has now.

    Raises BadRequest without rows, for an encoder of the package's own rows, and for a locale that comes twice.
    """
    if not rows:
        raise BadRequest("expected results of an encoder, got none")
    known = set(mseb_about()["encoders"])
    counts = {}
    for encoder in dict.fromkeys(row.encoder for row in rows):
        if encoder in known:
            raise BadRequest(f"{encoder} is among the published rows of the program already: expected another encoder")
        own = [row for row in rows if row.encoder == encoder]
        try:
            summaries(own)
        except PipelineError as error:
            raise BadRequest(str(error)) from error
        found = by_name(session, encoder) or PublishedEncoder(encoder=encoder)
        found.source, found.added, found.results = source, now(), [list(row[1:]) for row in own]
        session.add(found)
        record(session, actor, "published.imported", encoder, source=source, rows=len(own))
        counts[encoder] = len(own)
    bump_revision(session)
    return counts


def remove(session: Session, encoder: str, *, actor: str) -> None:
    """Remove an imported encoder. Raises NotFound for any other."""
    found = by_name(session, encoder)
    if found is None:
        raise NotFound(f"no imported encoder {encoder!r}; `codec-superb admin mseb list` shows them")
    session.delete(found)
    record(session, actor, "published.removed", encoder)
    bump_revision(session)
