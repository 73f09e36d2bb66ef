"""Published results of MSEB: rows of its encoders by locale, and their unweighted means over locales.

They are encoders on original recordings, not codecs, so they are no :class:`PublishedTable` and enter no board of
codecs. A mean names how many locales it rests on and which are missing: a missing locale is no 0. Values are in MSEB's
unit, shares of 1, whatever their size: an error rate of 110 % is 1.1.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from codec_superb.applications.mseb.exchange import locales, main_scores
from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.read import read_description, read_figures

LOWER_IS_BETTER = frozenset({
    "WER", "SER", "CER", "WordErrorRate", "Hamming Loss", "InvalidResultRate", "NoResultRate",
    "FAD", "KAD", "Embedding MSE",
})  # fmt: skip
COLUMNS = MsebRow._fields
"""Of the CSV."""


@dataclass(frozen=True, slots=True)
class MsebSummary:
    """One metric of one encoder on one task, over the locales that have a row."""

    encoder: str
    task: str
    """Without the locale: ``SVQPassageInLangRetrieval``."""
    type: str
    sub_task: str
    metric: str
    mean: float
    """Unweighted over the locales."""
    lowest: tuple[str, float]
    """Locale and value; the locale is '' for a task without locales."""
    highest: tuple[str, float]
    n: int
    """Locales with a row; 1 for a task without locales."""
    missing: tuple[str, ...] = ()
    """Locales of the task without a row."""

    @property
    def whole(self) -> bool:
        """Whether every locale of the task has a row."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class MsebReconstruction:
    """A line of Table 9: the Fréchet distance of EnCodec's spectrograms, which nobody else can compute again."""

    dataset: str
    condition: str
    mean_fad: float
    lowest: tuple[str, float] | None
    """Locale and value; None where the table has one value alone."""
    highest: tuple[str, float] | None


@cache
def mseb_about() -> Mapping[str, Any]:
    """Read what the source, its tasks and its encoders are."""
    return read_description("mseb")


@cache
def mseb_rows() -> tuple[MsebRow, ...]:
    """Read the published rows, as they were published."""
    return tuple(_row(line) for line in read_figures("mseb"))


@cache
def mseb_reconstruction() -> tuple[MsebReconstruction, ...]:
    """Read Table 9, which is marked as not reproducible."""
    return tuple(
        MsebReconstruction(
            line["dataset"], line["condition"], float(line["mean_fad"]), _extreme(line, "min"), _extreme(line, "max")
        )
        for line in read_figures("mseb_reconstruction")
    )


def summaries(rows: Iterable[MsebRow], *, main_only: bool = False) -> list[MsebSummary]:
    """Return a summary for each encoder, task, sub-task and metric, in the order of the rows.

    ``main_only`` keeps MSEB's main metric of each task. Raises PipelineError for a locale that comes twice.
    """
    main = main_scores()
    # the one row over all recordings of SVQ is no locale beside its locales
    groups: dict[tuple[str, str, str, str, str, bool], dict[str, float]] = {}
    for row in rows:
        if main_only and row.type in main and main[row.type][1] != row.metric:
            continue
        task, locale = _without_locale(row)
        values = groups.setdefault((row.encoder, task, row.type, row.sub_task, row.metric, not locale), {})
        if locale in values:
            raise PipelineError(f"expected each locale once, got {row.metric} of {row.task} by {row.encoder} twice")
        values[locale] = row.value
    return [_summary(*key, values) for key, values in groups.items()]


def super_task_of(of_type: str) -> str:
    """Return the super task of a type of task; '' for a type that is not known here."""
    return main_scores().get(of_type, ("", ""))[0]


def locales_of(task: str) -> tuple[str, ...]:
    """Return the locales of a task; none for one without, or one that is not known here."""
    named = mseb_about()["tasks"].get(task, {}).get("locales")
    return locales(named) if named else ()


def write_rows(rows: Sequence[MsebRow]) -> bytes:
    """Write rows as CSV in the form of the package's own, sorted, with values to their last digit."""
    lines = [",".join(COLUMNS)]
    for row in sorted(rows, key=lambda row: row[:6]):
        cells = (*row[:6], repr(row.value), "" if row.std is None else repr(row.std))
        lines.append(",".join(_quoted(cell) for cell in cells))
    return ("\n".join(lines) + "\n").encode()


def _quoted(cell: str) -> str:
    # RFC 4180, section 2, rules 6 and 7
    return '"{}"'.format(cell.replace('"', '""')) if any(mark in cell for mark in ',"\r\n') else cell


def _row(line: Mapping[str, str]) -> MsebRow:
    encoder, task, of_type, sub_task, lang, metric = (line[name] for name in COLUMNS[:6])
    std = float(line["std"]) if line["std"] else None
    return MsebRow(encoder, task, of_type, sub_task, lang, metric, float(line["value"]), std)


def read_rows(text: str) -> list[MsebRow]:
    """Read what :func:`write_rows` wrote."""
    return [_row(line) for line in csv.DictReader(text.splitlines())]


def _summary(
    encoder: str, task: str, of_type: str, sub_task: str, metric: str, pooled: bool, values: Mapping[str, float]
) -> MsebSummary:
    ordered = sorted(values.items(), key=lambda item: (item[1], item[0]))
    missing = () if pooled else tuple(each for each in locales_of(task) if each not in values)
    mean = math.fsum(values.values()) / len(values)
    return MsebSummary(encoder, task, of_type, sub_task, metric, mean, ordered[0], ordered[-1], len(values), missing)


def _without_locale(row: MsebRow) -> tuple[str, str]:
    """Return the task without its locale, and the locale; '' for a task whose name does not hold its language."""
    locale = "".join(part.capitalize() for part in row.lang.split("-"))
    for name in ("SVQ", "SpeechMassive"):
        for before in (name, f"{name}Clustering"):
            if row.task.startswith(f"{before}{locale}"):
                return f"{before}{row.task.removeprefix(before + locale)}", row.lang
    return row.task, ""


def _extreme(line: Mapping[str, str], end: str) -> tuple[str, float] | None:
    return (line[f"{end}_locale"], float(line[f"{end}_fad"])) if line[f"{end}_fad"] else None
