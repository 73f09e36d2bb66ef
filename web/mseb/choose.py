"""Choose what stands for a super task: its main figure, over all locales where there is one, else on one dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isinf

from codec_superb.applications.probe import Probe
from codec_superb.applications.table import AVERAGES
from codec_superb.metrics.results import Score
from codec_superb.web.application_rows import original_of
from codec_superb.web.applications import APPLICATION_METRICS, Application
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow

SPOKES = (
    "retrieval", "reranking", "reasoning", "classification", "transcription", "segmentation", "clustering",
    "reconstruction",
)  # fmt: skip
"""The eight super tasks, in the order of their spokes."""
ORACLE = "_oracle_"
"""Stands between a probe and the figure whose value the true transcript has: the ceiling above the ceiling."""
_MEAN = "mseb."
"""Beginning of what stands for the probe of a mean over tasks or locales of a super task."""
_HALF_WAY = {"mseb_reconstruction_spectrogram_fad": 50_000.0}
"""Distance at half the axis: of powers 42,000 for Opus at 6 kbps, 140,000 for Codec2 at 700 bit/s."""
_USUAL_HALF = 20.0
"""Of all others: Fréchet distances of YAMNet's frames are 18 to 50 for the same codecs."""


@dataclass(frozen=True, slots=True)
class Spoke:
    """One super task of one codec."""

    task: str
    row: ApplicationRow | None
    """None where it was not measured: drawn as missing, never as 0."""
    oracle: Score | None = None
    """With the true transcript in place of the sound; None where there is none."""

    @property
    def quantity(self) -> Quantity | None:
        """What its figure is."""
        return None if self.row is None else APPLICATION_METRICS[self.row.numbers.figure].quantity


def is_mseb(row: ApplicationRow) -> bool:
    """Whether a row is of one of MSEB's tasks, or a mean over several."""
    return bool(super_task(row))


def super_task(row: ApplicationRow) -> str:
    """Return the super task that a row belongs to; '' for a figure of another application."""
    average = AVERAGES.get(row.numbers.figure)
    if average is not None:
        return average.probe.removeprefix(_MEAN) if average.probe.startswith(_MEAN) else ""
    probe = probe_behind(row)
    # the groups of tasks of understanding, of frozen probes and of tokens are other ones
    return "" if probe is None or probe.definition or probe.group not in SPOKES else probe.group


def is_main(row: ApplicationRow) -> bool:
    """Whether the figure of a row stands for its task, or is a mean of such figures."""
    probe = probe_behind(row)
    return row.numbers.figure in AVERAGES if probe is None else probe.primary == row.numbers.figure


def probe_behind(row: ApplicationRow) -> Probe | None:
    """Return the probe that reports the figure of a row; None for a figure over several, and for a plug-in's."""
    application: Application | None = APPLICATION_METRICS.get(row.numbers.figure)
    return None if application is None else application.probe


def spokes_of(rows: Iterable[ApplicationRow]) -> tuple[Spoke, ...]:
    """Return the eight spokes of one codec, whatever is missing.

    Of the main figures of a super task the one over several datasets is taken, else that of the task that comes first
    in the table, over the most clips.
    """
    whole = [row for row in rows if not row.numbers.slice]
    return tuple(_spoke(task, whole) for task in SPOKES)


def _spoke(task: str, rows: Sequence[ApplicationRow]) -> Spoke:
    first = next(iter(main_rows(rows, task)), None)
    return Spoke(task, first, None if first is None else oracle_of(first, rows))


def main_rows(rows: Iterable[ApplicationRow], task: str) -> list[ApplicationRow]:
    """Return the pooled rows with a value of the main figures of a super task, the one that stands for it first."""
    found = [
        row
        for row in rows
        if super_task(row) == task
        and is_main(row)
        and row.numbers.resynthesis.value is not None
        and not row.numbers.slice
    ]
    places = {key: place for place, key in enumerate(APPLICATION_METRICS)}
    return sorted(
        found,
        key=lambda row: (
            row.numbers.dataset != "",
            places[row.numbers.figure],
            -row.numbers.n,
            row.numbers.dataset,
            row.model.name,
        ),
    )


def oracle_among(rows: Sequence[ApplicationRow], everything: Iterable[ApplicationRow]) -> Score | None:
    """Return the oracle beside rows of one figure and model, as :func:`original_of` chooses; None without one."""
    first, codecs = rows[0], {row.codec for row in rows}
    mine = (_oracle_key(first), first.numbers.dataset, first.numbers.slice, first.model)
    found = original_of(
        (row, row.sender)
        for row in everything
        if row.codec in codecs and (row.numbers.figure, row.numbers.dataset, row.numbers.slice, row.model) == mine
    )
    return None if found is None else found.numbers.reference


def oracle_of(row: ApplicationRow, rows: Iterable[ApplicationRow]) -> Score | None:
    """Return the oracle beside a row: the same figure of the same clips and model, with the true transcripts."""
    key = _oracle_key(row)
    mine = (row.codec, row.numbers.dataset, row.numbers.slice, row.model)
    for other in rows:
        same = (other.codec, other.numbers.dataset, other.numbers.slice, other.model) == mine
        if same and other.numbers.figure == key and other.numbers.reference.value is not None:
            return other.numbers.reference
    return None


def _oracle_key(row: ApplicationRow) -> str | None:
    """Return the figure of true transcripts beside a row's; None for one over several probes, which has none."""
    probe = probe_behind(row)
    return None if probe is None else f"{probe.key}{ORACLE}{row.numbers.figure.removeprefix(f'{probe.key}_')}"


def place_of(quantity: Quantity, value: float) -> float:
    """Return where a value stands on its spoke, 0 (middle, worst) to 1 (rim, best); see :func:`scale_words`."""
    figure = APPLICATION_METRICS[quantity.key].figure
    if quantity.higher_is_better:
        return min(max((value - max(figure.minimum, 0.0)) / (figure.maximum - max(figure.minimum, 0.0)), 0.0), 1.0)
    if quantity.unit == "%":
        return min(max(1.0 - value / 100.0, 0.0), 1.0)
    half = _HALF_WAY.get(quantity.key, _USUAL_HALF)
    return 1.0 / (1.0 + max(value, 0.0) / half)


def scale_words(quantity: Quantity) -> str:
    """Say where the middle and the rim of a spoke lie."""
    figure = APPLICATION_METRICS[quantity.key].figure
    if quantity.higher_is_better:
        assert not isinf(figure.maximum)  # every main figure of MSEB that grows is a share
        return f"0 in the middle, {figure.maximum:g} at the rim"
    if quantity.unit == "%":
        return "100 % and more in the middle, 0 at the rim"
    half = _HALF_WAY.get(quantity.key, _USUAL_HALF)
    return f"0 at the rim, {half:,.0f} half way"
