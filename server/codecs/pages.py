"""Finds what a codec's page shows: its results, or what published tables say, or near names."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from codec_superb.server.codecs import repository, service
from codec_superb.server.codecs.keep import kept_of
from codec_superb.server.codecs.listening import sample_views
from codec_superb.server.codecs.published import published_names, published_page
from codec_superb.server.database.models import now
from codec_superb.web.site.codec import CodecView


def codec_view(state: Any, session: Session, name: str) -> CodecView:
    """Make the view of a codec by its name. Raises NotFound with near matches.

    What rests on the submission alone is kept in ``state``, that of the application.
    """
    found = service.measured(session, name)
    published = service.published_entries(name, found)
    if found is None:
        if not published:
            raise service.unknown_codec(name, [*repository.public_names(session), *published_names()])
        return published_page(published, name)
    submission, kept = found.submission, kept_of(state)
    return service.view_of(
        session,
        found,
        published,
        base_url=state.settings.base_url,
        today=now().date(),
        spreads_of=lambda category: kept.spreads.get(
            (submission.id, category), lambda: service.spreads(session, found, category)
        ),
        samples=kept.samples.get(submission.id, lambda: sample_views(session, submission)),
    )
