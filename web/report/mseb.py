"""The section MSEB of the report: eight spokes a codec, heat maps, bitrate, examples of retrieval, and every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.applications.table import PROBES
from codec_superb.metrics.results import Score
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.figures.across import axes_with, figure_key, has_tokens
from codec_superb.web.figures.layout import Figure
from codec_superb.web.mseb.choose import SPOKES, Spoke, is_mseb, main_rows, scale_words, spokes_of, super_task
from codec_superb.web.mseb.heat import heat_chart, heat_maps
from codec_superb.web.mseb.rate import mseb_rate_chart
from codec_superb.web.mseb.spokes import spokes_chart
from codec_superb.web.report.application_details import signed
from codec_superb.web.report.applications import DatasetPart, applications_panel
from codec_superb.web.report.sections import audio_uri
from codec_superb.web.retrieval_examples import RetrievalExample
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.text import MISSING, count, interval
from codec_superb.web.theme import Style


@dataclass(frozen=True, slots=True)
class SpokeCell:
    """One super task of one codec, as text."""

    figure: str = MISSING
    """Name of the figure that stands for it."""
    where: str = ""
    """Dataset and model."""
    oracle: str = ""
    ceiling: str = ""
    value: str = MISSING
    ends: str = ""
    loss: str = ""
    clips: str = ""
    scale: str = ""
    """Where the middle and the rim of its spoke lie."""


@dataclass(frozen=True, slots=True)
class CodecSpokes:
    """The eight super tasks of one codec."""

    key: str
    title: str
    cells: tuple[tuple[str, SpokeCell], ...]
    """By super task, all eight of them."""


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """One version of a spoken query on the page."""

    title: str
    heard: str
    found: str
    place: str
    uri: str
    """Of the sound; '' where its licence does not allow to pass it on."""


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A spoken query on the page."""

    clip: str
    dataset: str
    task: str
    text: str
    wanted: str
    attribution: str
    licence: str
    versions: tuple[ShownVersion, ...]


@dataclass(frozen=True, slots=True)
class MsebPanel:
    """The whole section."""

    codecs: tuple[CodecSpokes, ...]
    rates: tuple[tuple[str, str], ...]
    """Key and title of each chart of bitrate."""
    heats: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, DatasetPart], ...]
    """Heading and table of every super task on every dataset."""
    examples: tuple[ShownExample, ...]
    figures: dict[str, Figure]
    """By key, as the page's script draws them."""

    @property
    def named(self) -> list[tuple[str, SpokeCell]]:
        """Each super task that was measured, with a cell that names figure, dataset and model."""
        found: dict[str, SpokeCell] = {}
        for codec in self.codecs:
            found |= {task: cell for task, cell in codec.cells if cell.where and task not in found}
        return [(task, found[task]) for task in SPOKES if task in found]


def mseb_panel(
    rows: Sequence[ApplicationRow],
    results: Sequence[CodecResult],
    styles: Mapping[str, Style],
    examples: Sequence[RetrievalExample],
) -> MsebPanel | None:
    """Put the section together of the rows of MSEB's tasks, pooled and of slices; None where there are none."""
    rows = [row for row in rows if is_mseb(row)]
    if not rows:
        return None
    results_of: dict[str, CodecResult] = {}
    for result in results:
        results_of.setdefault(result.codec, result)
    figures: dict[str, Figure] = {}
    codecs = []
    for number, codec in enumerate(dict.fromkeys(row.codec for row in rows)):
        spokes = spokes_of([row for row in rows if row.codec == codec])
        title = results_of[codec].title
        figures[f"mseb-spokes-{number}"] = spokes_chart(title, spokes)
        codecs.append(CodecSpokes(f"mseb-spokes-{number}", title, tuple((of.task, _cell(of)) for of in spokes)))
    pooled = [row for row in rows if not row.numbers.slice]
    return MsebPanel(
        codecs=tuple(codecs),
        rates=tuple(_rates(pooled, results_of, figures)),
        heats=tuple(_heats(rows, results_of, figures)),
        parts=tuple(_parts(pooled, results, styles)),
        examples=tuple(_shown(example, results_of) for example in examples),
        figures=figures,
    )


def _cell(spoke: Spoke) -> SpokeCell:
    if spoke.row is None or spoke.quantity is None:
        return SpokeCell()
    numbers, quantity = spoke.row.numbers, spoke.quantity
    return SpokeCell(
        figure=quantity.title,
        where=f"{numbers.dataset or 'all locales'}, {spoke.row.model.backend}",
        oracle="" if spoke.oracle is None else quantity.write(spoke.oracle.value),
        ceiling=quantity.write(numbers.reference.value),
        value=quantity.write(numbers.resynthesis.value),
        ends=_ends(numbers.resynthesis, quantity.decimals),
        loss=signed(numbers.loss, quantity, ends=False),
        scale=scale_words(quantity),
        clips=count(numbers.n, "clip") + (f", {numbers.failed} failed" if numbers.failed else ""),
    )


def _ends(score: Score, decimals: int) -> str:
    return interval(score.low, score.high, decimals)


def _rates(
    rows: Sequence[ApplicationRow], results: Mapping[str, CodecResult], figures: dict[str, Figure]
) -> list[tuple[str, str]]:
    """Draw the main figures of each super task against each axis, a chart for each comparable group."""
    found: list[tuple[str, str]] = []
    axes = axes_with(tokens=any(has_tokens(results[row.codec]) for row in rows))
    for task in SPOKES:
        groups: dict[tuple[object, ...], list[ApplicationRow]] = {}
        for row in main_rows(rows, task):
            groups.setdefault((row.numbers.figure, row.numbers.dataset, row.model), []).append(row)
        for members in groups.values():
            numbers = members[0].numbers
            key = f"mseb-rate-{len(found)}"
            drawn = [(results[row.codec], row) for row in members]
            for across, _ in axes:
                figures[figure_key(key, across)] = mseb_rate_chart(numbers.figure, drawn, rows, across)
            title = APPLICATION_METRICS[numbers.figure].quantity.title
            found.append((key, f"{title} – {numbers.dataset or 'all locales'}, {members[0].model.backend}"))
    return found


def _heats(
    rows: Sequence[ApplicationRow], results: Mapping[str, CodecResult], figures: dict[str, Figure]
) -> list[tuple[str, str]]:
    """Draw locales × conditions of each codec where a dataset names conditions."""
    sliced = {(row.numbers.figure, row.numbers.dataset) for row in rows if row.numbers.slice}
    shown = [row for row in rows if (row.numbers.figure, row.numbers.dataset) in sliced]
    found: list[tuple[str, str]] = []
    for codec in dict.fromkeys(row.codec for row in shown):
        for heat in heat_maps([row for row in shown if row.codec == codec]):
            key = f"mseb-heat-{len(found)}"
            figures[key] = heat_chart(heat, "value")
            found.append((key, f"{results[codec].title}: {heat.quantity.title}, {heat.model}"))
    return found


def _parts(
    rows: Sequence[ApplicationRow], results: Sequence[CodecResult], styles: Mapping[str, Style]
) -> list[tuple[str, DatasetPart]]:
    """Return the tables of all figures, a task and a dataset each."""
    found: list[tuple[str, DatasetPart]] = []
    order = [
        key for task in dict.fromkeys([*SPOKES, *(super_task(row) for row in rows)]) for key in _probes(rows, task)
    ]
    for key in order:
        own = [row for row in rows if row.numbers.probe == key]
        name = PROBES[key].label if key in PROBES else "Means over locales or tasks"
        found += [(f"{name}: {part.title}", part) for part in applications_panel(own, results, styles).parts]
    return found


def _probes(rows: Sequence[ApplicationRow], task: str) -> list[str]:
    """Return the tasks of a super task that were measured, in the order of the rows."""
    return list(dict.fromkeys(row.numbers.probe for row in rows if super_task(row) == task))


def _shown(example: RetrievalExample, results: Mapping[str, CodecResult]) -> ShownExample:
    versions = tuple(
        ShownVersion(
            title=results[of.codec].title if of.codec else "Original",
            heard=of.heard,
            found=of.found,
            place=f"the right one is at rank {of.rank}" if of.rank else "the right one is not among the first ten",
            uri=audio_uri(of.sound) if of.sound else "",
        )
        for of in example.versions
    )
    return ShownExample(
        example.clip, example.dataset, example.task, example.text, example.wanted, example.attribution, example.licence,
        versions,
    )  # fmt: skip
