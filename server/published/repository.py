"""Imported results in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.applications.understanding.conversion.published import PublishedFigure
from codec_superb.applications.xares.result import XaresResult
from codec_superb.server.database.models import PublishedResults

Kind = Literal["mseb", "ultraeval", "xares"]
"""Whose form of result file they came in: MSEB's (of encoders), UltraEval-Audio's (of models that hear and answer),
that of ``xares run`` (of encoders before a trained language model)."""


def imported(session: Session, kind: Kind) -> Sequence[PublishedResults]:
    """List them by name."""
    return session.scalars(
        select(PublishedResults).where(PublishedResults.kind == kind).order_by(PublishedResults.name)
    ).all()


def by_name(session: Session, kind: Kind, name: str) -> PublishedResults | None:
    """Find those of one encoder or model."""
    own = select(PublishedResults).where(PublishedResults.kind == kind, PublishedResults.name == name)
    return session.scalars(own).one_or_none()


def mseb_rows_of(results: PublishedResults) -> list[MsebRow]:
    """Return the rows of an encoder."""
    return [MsebRow(results.name, *row) for row in results.results]


def figures_of(results: PublishedResults) -> list[PublishedFigure]:
    """Return the figures of a model."""
    return [PublishedFigure._make((results.name, *row, results.source)) for row in results.results]


def xares_result_of(results: PublishedResults) -> XaresResult:
    """Return the record of an encoder."""
    return XaresResult.model_validate(results.results[0])


def values_of(results: PublishedResults) -> int:
    """Count the figures of what was imported."""
    return len(results.results[0]["figures"] if results.kind == "xares" else results.results)
