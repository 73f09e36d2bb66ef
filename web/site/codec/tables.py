"""The tables of a codec's page: ready text from results, a row per metric or per dataset."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from codec_superb.metrics.results import Estimate, StepOperations
from codec_superb.metrics.table import METRICS, overall_metrics
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.report.columns import gigaflops
from codec_superb.web.rows import CodecResult, Flops
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.site.codec.view import BandView, CategoryView, DatasetResult, Spread
from codec_superb.web.text import MISSING, count, interval, kbps, significant


def result_table(view: CategoryView) -> TextTable:
    """Every metric over all datasets and on each: value, interval, and clips without a value."""
    parts = [(TextCell("All datasets"), view.overall)] if len(view.datasets) != 1 else []
    parts += [
        (TextCell(part.title, part.name if part.name != part.title else ""), part.result) for part in view.datasets
    ]
    results = [result for _, result in parts]
    rows = [
        (_quantity_head(quantity, view), *(_estimate(quantity.of(result), quantity) for result in results))
        for quantity in _quantities(results)
    ]
    rows += [
        (_rate_head(results), *(TextCell(kbps(result.kbps), result.rate_mark) for result in results)),
        (TextCell("Clips", "resynthesised of asked for"), *(_clips(result) for result in results)),
    ]
    caption = f"{view.category.capitalize()}: means over clips; in brackets their 95 % intervals"
    return TextTable(caption, (TextCell("Metric"), *(head for head, _ in parts)), tuple(rows))


def headline(view: CategoryView) -> str:
    """Say the score and the bitrate of a category in a few words."""
    result, score = view.overall, view.overall.summary.score
    parts = [f"score {SCORE.write(score.value)} {interval(score.low, score.high, SCORE.decimals)}".rstrip()]
    parts += [] if isnan(result.kbps) else [f"{kbps(result.kbps)} kbps"]
    return ", ".join(parts)


def _rate_head(results: Sequence[CodecResult]) -> TextCell:
    return TextCell("Bitrate" if any(result.rate_mark for result in results) else "Measured bitrate", "kbps")


def _quantities(results: Sequence[CodecResult]) -> list[Quantity]:
    present = {key for result in results for key in result.summary.metrics}
    return [SCORE, *(from_metric(metric) for key, metric in METRICS.items() if key in present)]


def _quantity_head(quantity: Quantity, view: CategoryView) -> TextCell:
    direction = "higher is better" if quantity.higher_is_better else "lower is better"
    small = f"{quantity.unit}, {direction}" if quantity.unit else direction
    if quantity.key in overall_metrics(view.category):
        small += "; in the overall score"
    return TextCell(quantity.label, small, None if quantity is SCORE else f"/metrics#{quantity.key}")


def _estimate(estimate: Estimate | None, quantity: Quantity) -> TextCell:
    if estimate is None:
        return TextCell(MISSING, "not computed")
    missing = [
        count(number, f"clip {what}", f"clips {what}")
        for number, what in ((estimate.undefined, "undefined"), (estimate.failed, "failed"))
        if number
    ]
    ends = interval(estimate.low, estimate.high, quantity.decimals)
    parts = [part for part in (ends, f"n = {estimate.n}" if quantity is not SCORE else "") if part]
    return TextCell(quantity.write(estimate.mean), " ".join(parts), warning=", ".join(missing))


def _clips(result: CodecResult) -> TextCell:
    summary = result.summary
    text = f"{summary.ok} of {summary.clips}"
    if summary.failed:
        return TextCell(text, warning=f"partial: {count(summary.failed, 'clip')} failed")
    return (
        TextCell(text, "complete")
        if summary.complete
        else TextCell(text, warning="partial: clips or values are missing")
    )


def radar_table(view: CategoryView) -> TextTable:
    """Make the table of the radar's values."""
    rows = []
    for axis in view.axes:
        write, place = axis.quantity.write, axis.own.position
        others = (
            (TextCell(MISSING), TextCell(MISSING))
            if axis.median is None or axis.worst is None or axis.best is None
            else (
                TextCell(write(axis.median.value)),
                TextCell(f"{write(axis.worst.value)} to {write(axis.best.value)}"),
            )
        )
        rows.append((
            TextCell(axis.quantity.title), TextCell(write(axis.own.value)), *others, TextCell(str(axis.others)),
            TextCell(f"{place:.2f}", axis.scale),
        ))  # fmt: skip
    heads = ("Metric", "This codec", "Median of the band", "Worst to best of the band", "Codecs", "Place on the axis")
    return TextTable("The radar in numbers", tuple(map(TextCell, heads)), tuple(rows))


def band_sentence(band: BandView) -> str:
    """Describe the codecs of the band."""
    ends = f"{kbps(band.low)} to {kbps(band.high)} kbps measured (a factor of {band.factor:g} either way)"
    left_out = (
        f"; {count(band.other_datasets, 'more', 'more')} measured on other datasets or clips, by other definitions, or "
        "without counted bits"
        if band.other_datasets
        else ""
    )
    if not band.members:
        return f"No other codec with public results on the same datasets lies within {ends}{left_out}."
    again = " that the maintainers ran again," if band.source == "verified" else ""
    who = f"The band: {count(len(band.members), 'other codec')}{again} within {ends}, on the same datasets{left_out}."
    median = "their median" + ("" if again else ", where an account has one vote for what nobody ran again")
    return f"{who} The grey ring is their range, the dotted line {median}."


def spread_table(spreads: Sequence[Spread], datasets: Sequence[DatasetResult]) -> TextTable:
    """Quantiles of each metric over the clips of each dataset."""
    titles = {part.name: part.title for part in datasets}
    rows = []
    for spread in spreads:
        quantity, s = from_metric(METRICS[spread.metric]), spread.summary
        values = (s.minimum, s.p5, s.q1, s.median, s.q3, s.p95, s.maximum)
        rows.append((
            TextCell(quantity.title, titles.get(spread.dataset, spread.dataset)), TextCell(str(s.n)),
            *(TextCell(quantity.write(value)) for value in values),
        ))  # fmt: skip
    heads = ("Metric and dataset", "Clips", "Least", "5 %", "25 %", "Median", "75 %", "95 %", "Greatest")
    return TextTable("Values of single clips", tuple(map(TextCell, heads)), tuple(rows))


def efficiency_table(categories: Sequence[CategoryView]) -> TextTable:
    """List times and sizes on each dataset."""
    rows = []
    for view in categories:
        parts = [("all datasets", view.overall)] if len(view.datasets) != 1 else []
        for title, result in (*parts, *((part.title, part.result) for part in view.datasets)):
            got = result.summary
            values = (
                got.encode_rtf, got.decode_rtf, got.compression_ratio, got.size_ratio, got.tokens_per_second,
            )  # fmt: skip
            rate = MISSING if isnan(result.kbps) else kbps(result.kbps)
            rows.append((
                TextCell(view.category.capitalize(), title), TextCell(rate),
                *(TextCell(significant(value, 3)) for value in values),
                *(TextCell(gigaflops(result.flops(step))) for step in ("encode", "decode")),
                TextCell(MISSING if got.largest_lag is None else str(got.largest_lag)),
                TextCell(f"{got.clipped_samples:,}"),
            ))  # fmt: skip
    heads = (
        TextCell("Category and dataset"), TextCell("Bitrate", "kbps"), TextCell("Encoding", "real-time factor"),
        TextCell("Decoding", "real-time factor"), TextCell("Compression", "against 16-bit PCM"),
        TextCell("Size", "payload over 32-bit samples"), TextCell("Tokens", "per second"),
        TextCell("Encoder", "GFLOP per second of audio"), TextCell("Decoder", "GFLOP per second of audio"),
        TextCell("Largest lag", "samples"), TextCell("Clipped", "samples"),
    )  # fmt: skip
    return TextTable("Sizes and times as measured", heads, tuple(rows))


def operations_table(categories: Sequence[CategoryView]) -> TextTable | None:
    """Say what the encoder and the decoder compute, on which clip it was counted, and by what; None where it is not."""
    counted = {name: found for view in categories for name, found in view.overall.operations.items()}
    rows = tuple(
        (
            TextCell(dataset, f"{found.clip}, {found.seconds:.3g} s"), TextCell(found.backend),
            *(_step(part) for part in (found.encode, found.decode)),
        )
        for dataset, found in sorted(counted.items())
    )  # fmt: skip
    heads = (
        TextCell("Dataset", "clip, seconds coded"), TextCell("Counted by"),
        TextCell("Encoder", "GFLOP per second of audio"), TextCell("Decoder", "GFLOP per second of audio"),
    )  # fmt: skip
    return TextTable("Operations as counted by the submitter", heads, rows) if rows else None


def _step(part: StepOperations) -> TextCell:
    if part.per_second is None:
        return TextCell(MISSING, f"undefined: {part.reason}")
    small = f"without {', '.join(part.unseen)}" if part.unseen else ""
    return TextCell(gigaflops(Flops(part.per_second, bool(part.unseen))), small)


def metric_choices(metrics: Sequence[str], address: str) -> list[tuple[str, str]]:
    """Give the address of the spread of each metric, and its name: what a picker of charts takes."""
    return [(f"{address}&metric={key}", from_metric(METRICS[key]).title) for key in metrics]
