"""What measured rows hardly ever look like: numbers that were made up, copied from clip to clip, or computed.

Each doubt has a moderator look before a public board shows the file. None of them proves anything, and none of the 31
honest runs on ``mini`` that they were tried on earns one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from codec_superb.metrics.table import METRICS, Metric
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow

FEWEST = 4
"""Clips of a category from which on they are compared with each other."""
FEWEST_OF_DECIMALS = 8
"""Values of which four decimals are no accident: one in ten to the eleventh is so short."""
_DECIMALS = 4
_BEST_SLACK = 1e-4
"""How near to its best a metric is there. PESQ of a signal with itself is 4.6439, below the end of its scale."""
_BEST = {"pesq": 4.6438, "pesq_c2": 4.6438}
_LENGTHS = 1.2
"""Ratio of the longest clip to the shortest from which on equal numbers of bits or seconds say something."""
FAILED_CLIPS, FAILED_SHARE = 3, 0.1
"""Clips with a resynthesis that a probe may fail on without a question; more of them would choose among the clips."""
_SAME_TIME = 1e-9
"""Relative difference of times that were computed from a length and not measured."""

Rows = Sequence[ClipRow]
Values = Mapping[str, Sequence[tuple[ClipRow, float]]]
"""By key of a metric of the table."""


def check_doubts(rows: Rows, submission: Submission, findings: Findings) -> None:
    """Doubt rows that are too good, too equal or too round, a dataset and category at a time."""
    batched = {d.name for d in submission.datasets if any(stamp.batch_seconds for stamp in d.provenance)}
    groups: dict[tuple[str, str], list[ClipRow]] = defaultdict(list)
    for row in rows:
        if row.status == "ok" and row.samples and row.sampling_rate:
            groups[row.dataset, row.category].append(row)
    for (dataset, category), found in sorted(groups.items()):
        if len(found) < FEWEST:
            continue
        for text in _of_group(found, submission, batched=dataset in batched):
            findings.doubt(f"{dataset} ({category}): {text}")


def _of_group(rows: Rows, submission: Submission, *, batched: bool) -> Iterator[str]:
    values: dict[str, list[tuple[ClipRow, float]]] = defaultdict(list)
    for row in rows:
        for key, entry in row.metrics.items():
            if key in METRICS and entry.value is not None:
                values[key].append((row, entry.value))
    if submission.codec.kind != "lossless":
        yield from _perfect(values)
        yield from _repeated(values)
    yield from _round(values)
    if not batched:
        yield from _times(rows)
    if submission.codec.frame_bits is None and submission.codec.bit_source == "measured":
        yield from _equal_bits(rows)
    yield from _unanswered(rows)


def _perfect(values: Values) -> Iterator[str]:
    """Doubt metrics that are at their best on every clip."""
    best = [
        key for key, found in values.items()
        if len(found) >= FEWEST and all(_is_best(METRICS[key], value) for _, value in found)
    ]  # fmt: skip
    if best:
        yield f"{', '.join(sorted(best))} at the best value on every clip: only a lossless codec has that"


def _is_best(metric: Metric, value: float) -> bool:
    """Whether a value is the best that there is; a scale may go on behind the value that counts as best (decibels)."""
    if metric.key not in _BEST and metric.best not in {metric.minimum, metric.maximum}:
        return False
    best = _BEST.get(metric.key, metric.best)
    return value >= best - _BEST_SLACK if metric.higher_is_better else value <= best + _BEST_SLACK


def _is_end(metric: Metric, value: float) -> bool:
    """Whether a value is at an end of its range, where many clips may be."""
    return value in (metric.minimum, metric.maximum) or _is_best(metric, value)


def _repeated(values: Values) -> Iterator[str]:
    """Doubt clips of different lengths with the same values, to the last digit: rows that were copied."""
    clips: dict[tuple[str, float], set[float]] = defaultdict(set)
    for key, found in values.items():
        for row, value in found:
            if not _is_end(METRICS[key], value):
                clips[key, value].add((row.samples or 0) / (row.sampling_rate or 1))
    twice: dict[str, int] = defaultdict(int)
    for (key, _), lengths in clips.items():
        twice[key] += len(lengths) - 1
    several = {key: count for key, count in twice.items() if count}
    # one metric alone may have few values (a correlation over few frames); equal lengths may be equal clips
    if len(several) > 1 or any(2 * count >= len(values[key]) for key, count in several.items()):
        words = ", ".join(f"{key} {count} times" for key, count in sorted(several.items()))
        yield f"clips of different lengths have the same value to the last digit: {words}"


def _round(values: Values) -> Iterator[str]:
    """Doubt metrics all of whose values end after a few decimals."""
    short = [
        key for key, found in values.items()
        if len(own := [value for _, value in found if not _is_end(METRICS[key], value)]) >= FEWEST_OF_DECIMALS
        and all(math.isclose(value, round(value, _DECIMALS), rel_tol=1e-12, abs_tol=1e-12) for value in own)
    ]  # fmt: skip
    if short:
        yield f"{', '.join(sorted(short))} rounded to {_DECIMALS} decimals on every clip: scores are packed as computed"


def _times(rows: Rows) -> Iterator[str]:
    """Doubt times that are the same for each clip, or for each second of sound."""
    clocks: dict[str, Callable[[ClipRow], float | None]] = {
        "encoding": lambda row: row.encode_s, "decoding": lambda row: row.decode_s,
    }  # fmt: skip
    for name, of in clocks.items():
        times = [(time, time / (row.seconds or 1.0)) for row in rows if (time := of(row))]
        if len(times) < FEWEST or not _differ_in_length(rows):
            continue
        for kind, column in (("for each clip", 0), ("for each second of sound", 1)):
            found = [time[column] for time in times]
            if max(found) <= min(found) * (1 + _SAME_TIME):
                yield f"{name} took the same time {kind}: computed, not measured?"


def _equal_bits(rows: Rows) -> Iterator[str]:
    """Doubt as many bits for a long clip as for a short one, of a codec without tokens."""
    sizes = {row.bits for row in rows if row.tokens is None}
    if len(sizes) == 1 and None not in sizes and _differ_in_length(rows):
        yield f"{next(iter(sizes))} bits for every clip, however long it is"


def _unanswered(rows: Rows) -> Iterator[str]:
    """Doubt a probe that failed on many clips whose sound is there: the others are in its figures alone."""
    for key in sorted({key for row in rows for key in row.probes}):
        asked = [row.probes[key] for row in rows if key in row.probes and row.probes[key].status != "left_out"]
        failed = sum(entry.status == "failed" for entry in asked)
        if failed > max(FAILED_CLIPS, FAILED_SHARE * len(asked)):
            yield f"{key} failed on {failed} of {len(asked)} resyntheses: its figures are of the others"


def _differ_in_length(rows: Rows) -> bool:
    lengths = [row.seconds or 0.0 for row in rows]
    return max(lengths) > _LENGTHS * min(lengths)
