"""The ranking table: columns with their explanations, and a row of ready text per codec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Literal

from codec_superb.metrics.results import Estimate
from codec_superb.web.quantity import SCORE, Quantity, by_bitrate
from codec_superb.web.rows import CodecResult, Flops
from codec_superb.web.text import MISSING, count, interval, kbps, rank, significant

Order = Literal["ascending", "descending"]


@dataclass(frozen=True, slots=True)
class Badge:
    """A mark beside a codec's name."""

    text: str
    explanation: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class RankingCell:
    """What stands in one cell."""

    text: str
    small: str = ""
    """Second, quieter line."""
    sort: str = ""
    """Sort key of the row, a number or lower-case text; '' sorts last."""
    title: str = ""
    badges: tuple[Badge, ...] = ()


@dataclass(frozen=True, slots=True)
class RankingColumn:
    """One column: its heading, its meaning and how to fill it."""

    key: str
    label: str
    explanation: str
    best: Order
    """Order that puts the better, or plainer, first: what the first press of the heading gives."""
    fill: Callable[[CodecResult], RankingCell]
    kind: Literal["text", "number"] = "number"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class RankingTable:
    """A table in the order in which it is first seen: by score, best first, and what has no rank behind."""

    columns: tuple[RankingColumn, ...]
    rows: tuple[tuple[RankingCell, ...], ...]


def ranking_table(
    results: Sequence[CodecResult], metrics: Sequence[Quantity], explanations: dict[str, str]
) -> RankingTable:
    """Make the table of one category; columns that no codec fills are left out.

    ``explanations`` is by key: that of the overall score and of each metric.
    """
    columns = [codec_column(), *value_columns(metrics, explanations)]
    return filled(columns, sorted(by_bitrate(results), key=_by_score))


def value_columns(metrics: Sequence[Quantity], explanations: dict[str, str]) -> list[RankingColumn]:
    """Make all columns but the name: bitrate, score, rank, each metric, and speed.

    ``explanations`` may replace that of any other column too.
    """
    columns = [_rate_column(), _score_column(explanations[SCORE.key]), _rank_column()]
    columns += [_metric_column(metric, explanations[metric.key]) for metric in metrics]
    columns += _cost_columns()
    return [replace(column, explanation=explanations.get(column.key, column.explanation)) for column in columns]


def filled(columns: Sequence[RankingColumn], ordered: Sequence[CodecResult]) -> RankingTable:
    """Fill the columns for rows in their order; a column that no row fills is left out."""
    cells = [(column, [column.fill(row) for row in ordered]) for column in columns]
    kept = [(column, of_column) for column, of_column in cells if any(cell.sort for cell in of_column)]
    rows = zip(*(of_column for _, of_column in kept), strict=True)
    return RankingTable(tuple(column for column, _ in kept), tuple(rows))


def _by_score(row: CodecResult) -> tuple[bool, float]:
    score = row.summary.score.value
    return row.rank is None, -score if score is not None else inf


def codec_column() -> RankingColumn:
    """Make the column of names and marks."""
    text = "Name of the configuration, and the name to use on the command line."
    return RankingColumn("codec", "Codec", text, "ascending", _codec_cell, kind="text")


def _codec_cell(row: CodecResult) -> RankingCell:
    badges, summary = [], row.summary
    if row.lossless:
        badges.append(Badge("ceiling", "Lossless: shows the best that can be reached; not part of the Pareto front."))
    if not summary.complete:
        text = (
            f"{count(summary.failed, 'clip')} failed"
            if summary.failed
            else "Clips or datasets of the category are missing"
        )
        badges.append(Badge("incomplete", f"{text}: the score rests on the others.", warning=True))
    if summary.largest_lag is not None and abs(summary.largest_lag) > 1:
        text = "The resynthesis is shifted in time by up to so many samples; metrics that compare moments suffer."
        badges.append(Badge(f"lag {count(abs(summary.largest_lag), 'sample')}", text, warning=True))
    return RankingCell(
        row.title, row.codec if row.codec != row.title else "", row.title.casefold(), badges=tuple(badges)
    )


def _rate_column() -> RankingColumn:
    text = (
        "Measured bitrate: all payload bits over all seconds, without container. Small: what the codec was set to, or "
        "declared where its bits were not counted: such codecs have no rank among the others."
    )
    return RankingColumn("kbps", "Bitrate", text, "ascending", _rate_cell, unit="kbps")


def _rate_cell(row: CodecResult) -> RankingCell:
    small = rate_note(row)
    return RankingCell(MISSING, small) if isnan(row.kbps) else RankingCell(kbps(row.kbps), small, repr(row.kbps))


def rate_note(row: CodecResult) -> str:
    """Write what stands below a bitrate: what the codec was set to, or that nobody counted it."""
    return row.rate_mark or ("" if row.nominal_kbps is None else f"nominal {kbps(row.nominal_kbps)}")


def _plain(field: str, digits: int) -> Callable[[CodecResult], RankingCell]:
    """Fill a column with a number of the summary."""

    def fill(row: CodecResult) -> RankingCell:
        value: float | None = getattr(row.summary, field)
        return RankingCell(significant(value, digits), sort="" if value is None else repr(value))

    return fill


def _score_column(explanation: str) -> RankingColumn:
    return RankingColumn(SCORE.key, "Score", explanation, "descending", _score_cell)


def _score_cell(row: CodecResult) -> RankingCell:
    estimate = SCORE.of(row)
    assert estimate is not None  # every result has a score field, possibly without a value
    return estimate_cell(estimate, SCORE)


def _rank_column() -> RankingColumn:
    text = "Best and worst rank that the 95 % intervals of the scores allow."
    return RankingColumn("rank", "Rank", text, "ascending", _rank_cell)


def _rank_cell(row: CodecResult) -> RankingCell:
    key = "" if row.rank is None else repr(row.rank[0] + row.rank[1] / 1e4)
    return RankingCell(rank(row.rank), sort=key, title="" if row.rank else row.uncounted)


def _metric_column(metric: Quantity, explanation: str) -> RankingColumn:
    best: Order = "descending" if metric.higher_is_better else "ascending"

    def fill(row: CodecResult) -> RankingCell:
        estimate = row.summary.metrics.get(metric.key)
        return RankingCell(MISSING, title="not computed") if estimate is None else estimate_cell(estimate, metric)

    arrow = "↑" if metric.higher_is_better else "↓"
    return RankingColumn(metric.key, metric.label, explanation, best, fill, unit=f"{metric.unit} {arrow}".strip())


def estimate_cell(estimate: Estimate, quantity: Quantity) -> RankingCell:
    """Write a value with its interval; the title gives the counts behind it."""
    ends = interval(estimate.low, estimate.high, quantity.decimals)
    parts = [f"Mean over {count(estimate.n, 'clip')}" if quantity is not SCORE else f"Over {count(estimate.n, 'clip')}"]
    if ends:
        parts.append(f"95 % interval {ends}")
    if estimate.sd is not None:
        parts.append(f"standard deviation {quantity.write(estimate.sd)}")
    parts += [f"{n} {what}" for n, what in ((estimate.undefined, "undefined"), (estimate.failed, "failed")) if n]
    key = "" if estimate.mean is None else repr(estimate.mean)
    return RankingCell(quantity.write(estimate.mean), ends, key, title=", ".join(parts))


def _cost_columns() -> list[RankingColumn]:
    clips = "Clips that came back. Small: clips that failed, and metric values that are undefined on a clip."
    speed = "Seconds of computing per second of audio (real-time factor), on the machine named below."
    tokens = "Tokens per second, for codecs that give tokens."
    ratio = (
        "Compression ratio against 16-bit PCM at the clip’s own sampling rate. Small: size ratio, the payload over "
        "32-bit samples."
    )
    flops = (
        "Floating-point operations per second of audio, a multiply-add being two: products, convolutions, recurrent "
        "layers and attention, counted on one clip by whoever made the run. Not defined for classical codecs."
    )
    clipped = "Samples of the resynthesis beyond full scale."
    return [
        RankingColumn("tps", "TPS", tokens, "ascending", _plain("tokens_per_second", 3), unit="1/s"),
        RankingColumn("clips", "Clips", clips, "descending", _clips_cell),
        RankingColumn("encode", "Encode", speed, "ascending", _plain("encode_rtf", 2), unit="RTF"),
        RankingColumn("decode", "Decode", speed, "ascending", _plain("decode_rtf", 2), unit="RTF"),
        RankingColumn("encode_flops", "Encoder", flops, "ascending", _flops("encode"), unit="GFLOP/s"),
        RankingColumn("decode_flops", "Decoder", flops, "ascending", _flops("decode"), unit="GFLOP/s"),
        RankingColumn("ratio", "Ratio", ratio, "descending", _ratio_cell, unit="×"),
        RankingColumn("clipped", "Clipped", clipped, "ascending", _clipped_cell, unit="samples"),
    ]


def _flops(step: Literal["encode", "decode"]) -> Callable[[CodecResult], RankingCell]:
    """Fill a column with operations."""

    def fill(row: CodecResult) -> RankingCell:
        found = row.flops(step)
        return RankingCell(MISSING) if found is None else RankingCell(gigaflops(found), sort=repr(found.value))

    return fill


def gigaflops(found: Flops | None) -> str:
    """Write operations per second of audio in billions."""
    if found is None:
        return MISSING
    return ("≥ " if found.at_least else "") + significant(found.value / 1e9, 3)


def _ratio_cell(row: CodecResult) -> RankingCell:
    value = row.summary.compression_ratio
    small = "" if row.summary.size_ratio is None else f"size {significant(row.summary.size_ratio, 2)}"
    return RankingCell(significant(value, 2), small, "" if value is None else repr(value))


def _clips_cell(row: CodecResult) -> RankingCell:
    undefined = sum(estimate.undefined for estimate in row.summary.metrics.values())
    marks = [f"{n} {what}" for n, what in ((row.summary.failed, "failed"), (undefined, "undefined")) if n]
    return RankingCell(f"{row.summary.ok} ok", ", ".join(marks), repr(row.summary.ok))


def _clipped_cell(row: CodecResult) -> RankingCell:
    return RankingCell(f"{row.summary.clipped_samples:,}", sort=repr(row.summary.clipped_samples))
