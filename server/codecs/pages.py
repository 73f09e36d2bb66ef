"""Finds the content of a codec's page: its results, else its figures in published tables, else similar names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.codecs import service
from codec_superb.server.codecs.codec_caches import codec_caches
from codec_superb.server.codecs.listening import sample_views
from codec_superb.server.codecs.published import Published, published_names, published_page
from codec_superb.server.codecs.service import NewestResults
from codec_superb.server.database.models import now
from codec_superb.web.site.codec.view import CodecView


@dataclass(frozen=True, slots=True)
class FoundCodec:
    """One codec and its view."""

    view: CodecView
    measured: NewestResults | None
    """None for a codec that only published tables know."""
    published: list[Published]


def find(state: Any, session: Session, snapshot: Snapshot, name: str) -> FoundCodec:
    """Find a codec by its name. Raises NotFound with near matches.

    What depends on the submission alone is cached in ``state``, that of the application.
    """
    measured = service.newest_results(session, name)
    published = service.published_entries(name, measured)
    if measured is None:
        if not published:
            raise service.unknown_codec(name, [*service.known_names(snapshot), *published_names()])
        return FoundCodec(published_page(published, name), None, published)
    identity, kept = measured.submission.id, codec_caches(state)
    view = service.view_of(
        session,
        snapshot,
        measured,
        published,
        base_url=state.settings.base_url,
        today=now().date(),
        spreads_of=lambda category: kept.spreads.get(
            (identity, category), lambda: service.spreads(session, measured, category)
        ),
        samples=kept.samples.get(identity, lambda: sample_views(session, measured.submission)),
    )
    return FoundCodec(view, measured, published)
