"""Converts a submission's stored application metrics into the rows of pages and the board."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.metrics.table import Category
from codec_superb.pipeline.aggregates.rate import Rated, measured_rates
from codec_superb.server.database.models import Submission
from codec_superb.server.database.run_again import not_run_again
from codec_superb.web.application_rows import application_rows, parts_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow, own_word_label

NOT_RATED: Mapping[tuple[Category, str], Rated] = MappingProxyType({})


def stored_applications(
    codec: str,
    applications: Sequence[Mapping[str, Any]] | None,
    datasets: Sequence[Mapping[str, Any]] | None,
    rated: Mapping[tuple[Category, str], Rated] = NOT_RATED,
) -> list[ApplicationRow]:
    """Read the parts ``applications`` and ``datasets`` of a stored document; none of one without probes.

    ``rated`` are the codec's results by category and dataset, from which the rates of a figure come: without them they
    are not known. A figure that the table no longer has is left out.
    """
    figures = [ApplicationAggregate.model_validate(entry) for entry in applications or ()]
    if not figures:
        return []
    probes = {
        str(dataset["name"]): [ProbeInfo.model_validate(probe) for probe in dataset.get("probes", ())]
        for dataset in datasets or ()
    }
    names = {dataset for _, dataset in rated if dataset}
    rows = application_rows(codec, figures, probes, lambda found: measured_rates(rated, parts_of(found, names)))
    return [row for row in rows if row.numbers.figure in APPLICATIONS]


def with_own_words(
    rows: Sequence[ApplicationRow], not_again: Collection[tuple[str, str]], submitter: str
) -> list[ApplicationRow]:
    """Mark the figures of a verified submission that nobody ran again, averages of such too.

    One over several datasets is of them all.

    ``not_again`` is what :func:`~codec_superb.server.database.run_again.not_run_again` says of the submission.
    """
    said = own_word_label(submitter) if not_again else ""
    return [
        row
        if not said or (row.numbers.dataset and parts_of(row.numbers, ()).isdisjoint(not_again))
        else replace(row, own_word=said)
        for row in rows
    ]


def marked_applications(
    session: Session, submission: Submission,
    applications: Sequence[Mapping[str, Any]] | None, datasets: Sequence[Mapping[str, Any]],
) -> list[ApplicationRow]:  # fmt: skip
    """Read those parts of a submission's document, marked as :func:`with_own_words` does."""
    rows = stored_applications(submission.codec.name, applications, datasets)
    if submission.status != "verified" or not rows:
        return rows
    not_again = not_run_again(session, {submission.id: datasets}).get(submission.id, ())
    return with_own_words(rows, not_again, submission.sender)


def by_dataset(rows: Sequence[ApplicationRow]) -> dict[str, dict[str, ApplicationRow]]:
    """Sort rows by dataset and figure; under '' those over several, and those that exist on one dataset alone.

    A metric of several datasets is not put under '': error rates of different datasets are not summed.
    """
    found: dict[str, dict[str, ApplicationRow]] = {}
    datasets: dict[str, list[ApplicationRow]] = {}
    for row in rows:
        numbers = row.numbers
        found.setdefault(numbers.dataset, {})[numbers.figure] = row
        datasets.setdefault(numbers.figure, []).append(row)
    alone = {key: those[0] for key, those in datasets.items() if len(those) == 1}
    return {**found, "": {**alone, **found.get("", {})}} if rows else {}
