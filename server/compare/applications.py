"""Application metrics side by side, only where the same model with the same settings answered for several codecs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.server.database.models import Submission
from codec_superb.server.submissions.applications import stored_applications
from codec_superb.web.report.applications import group_application_rows
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.site.compare.view import FEWEST, ComparedApplication, ComparedFigure, LeftOutItem


def compare_applications(
    session: Session, submissions: Sequence[Submission]
) -> tuple[list[ComparedApplication], list[LeftOutItem]]:
    """Put the figures of codecs side by side, in their order; and list those that only one codec has.

    A dataset in another state is another dataset.
    """
    rows = [row for submission in submissions for row in _rows(session, submission)]
    order = {submission.codec.name: place for place, submission in enumerate(submissions)}
    compared, left_out = [], []
    for group in group_application_rows(rows):
        members = sorted(group.rows, key=lambda row: order[row.codec])
        name = group.dataset.rpartition("@")[0]
        if len(members) < FEWEST:
            where = f" on {name}" if name else ""
            reason = f"of {members[0].codec} alone: {group.model.name} answered for no other{where}"
            left_out.append(LeftOutItem(group.quantity.label, reason))
            continue
        figures = [ComparedFigure(row.codec, row.numbers) for row in members]
        compared.append(ComparedApplication(group.quantity.key, name, group.model.backend, group.model.sha256, figures))
    return compared, left_out


def _rows(session: Session, submission: Submission) -> list[ApplicationRow]:
    """Read the figures of a codec; beside the name of a dataset stands its state, for the time of sorting."""
    columns = Submission.document["applications"], Submission.document["datasets"]
    applications, datasets = session.execute(select(*columns).where(Submission.id == submission.id)).one()
    states = {str(dataset["name"]): str(dataset["manifest_hash"]) for dataset in datasets}
    rows = stored_applications(submission.codec.name, applications, datasets)
    return [_with_state(row, states) if row.numbers.dataset else row for row in rows]


def _with_state(row: ApplicationRow, states: Mapping[str, str]) -> ApplicationRow:
    dataset = row.numbers.dataset
    return replace(row, numbers=row.numbers.model_copy(update={"dataset": f"{dataset}@{states[dataset]}"}))
