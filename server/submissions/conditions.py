"""Results under conditions, and the clean ones on the same clips, as the rows of pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.base_codec.card import Card
from codec_superb.metrics.results import Operations
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import PipelineError
from codec_superb.server.database.models import Result, Submission
from codec_superb.server.database.results import to_summary
from codec_superb.server.submissions.applications import marked_applications
from codec_superb.server.submissions.operations import stored_operations
from codec_superb.web.conditions import ConditionCategory, by_category, word_errors
from codec_superb.web.rows import CodecResult, ConditionInfo, ConditionResult, source_label


def condition_rows(
    session: Session, conditioned: Iterable[Submission], clean: Iterable[Submission]
) -> list[ConditionResult]:
    """Return the results over all datasets of each category; of ``clean`` those on as many clips as a damaged one.

    A condition that this version no longer knows is left out.
    """
    clips, rows = set(), []
    for each in conditioned:
        clips.add((each.codec_id, _clips(each.document)))
        try:
            info = ConditionInfo(**Condition.model_validate(each.document["condition"]).facts())
        except PipelineError:
            continue
        rows += _rows(session, each, info)
    beside = (each for each in clean if (each.codec_id, _clips(each.document)) in clips)
    return [row for each in beside for row in _rows(session, each, ConditionInfo())] + rows


def categories_of(
    session: Session, conditioned: Iterable[Submission], clean: Iterable[Submission]
) -> list[ConditionCategory]:
    """Arrange them for a page."""
    return by_category(condition_rows(session, conditioned, clean))


def codec_result(row: Result, card: Card, operations: Mapping[str, Operations]) -> CodecResult:
    """Make the typed row of one category, over all datasets or on one, without ranks."""
    return CodecResult(
        codec=card.name,
        title=card.title,
        family=card.family,
        nominal_kbps=card.nominal_kbps,
        lossless=card.kind == "lossless",
        bit_source=card.bit_source,
        summary=to_summary(row),
        operations={name: operations[name] for name in row.datasets if name in operations},
    )


def _rows(session: Session, submission: Submission, info: ConditionInfo) -> list[ConditionResult]:
    card, document = Card.model_validate(submission.card), submission.document
    applications = marked_applications(session, submission, document.get("applications"), document["datasets"])
    operations = stored_operations(document["datasets"])
    sender = submission.voter
    applications = [replace(row, sender=sender) for row in applications]
    source = source_label(submission.status, submission.sender)
    states = {one["name"]: one["manifest_hash"] for one in document["datasets"]}
    results = (codec_result(row, card, operations) for row in submission.results if not row.dataset)
    return [
        ConditionResult(
            replace(result, sender=sender, states=states, definitions=submission.metrics),
            info,
            word_errors(result, applications),
            source,
            # of a part, or where clips failed, the rows alone say which are left
            clips="" if result.summary.complete else None,
        )
        for result in results
    ]


def _clips(document: Mapping[str, Any]) -> tuple[tuple[str, str, int], ...]:
    """Name the clips of a submission: datasets, their state and how many of their clips were asked for."""
    return tuple((one["name"], one["manifest_hash"], one["selected"]) for one in document["datasets"])
