"""Converts a submission's stored application metrics into the rows of pages and the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.web.application_rows import application_rows
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.rows import ApplicationRow


def stored_applications(
    codec: str, applications: Sequence[Mapping[str, Any]] | None, datasets: Sequence[Mapping[str, Any]] | None
) -> list[ApplicationRow]:
    """Read the parts ``applications`` and ``datasets`` of a stored document; none of one without probes.

    Bitrates are those of the codec's results, not repeated here. A figure that the table no longer has is left out.
    """
    figures = [ApplicationAggregate.model_validate(entry) for entry in applications or ()]
    if not figures:
        return []
    probes = {
        str(dataset["name"]): [ProbeInfo.model_validate(probe) for probe in dataset.get("probes", ())]
        for dataset in datasets or ()
    }
    rows = application_rows(codec, figures, probes, lambda _: nan)
    return [row for row in rows if row.numbers.figure in APPLICATIONS]


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
