"""What measured rows hardly ever look like: numbers that were made up, copied from clip to clip, or computed.

Each doubt has a moderator look before a public board shows the file. None of them proves anything, and none of the 31
honest runs on ``mini`` that they were tried on earns one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import METRICS, Metric
from codec_superb.pipeline.statistics.jackknife import Floats
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.stored_rows import StoredRows

FEWEST = 4
"""Clips of a category from which on they are compared with each other."""
FEWEST_OF_DECIMALS = 8
"""Values of which four decimals are no accident: one in ten to the eleventh is so short."""
_DECIMALS = 4
_BEST_SLACK = 1e-4
"""How near to its best a metric is there."""
_LENGTHS = 1.2
"""Ratio of the longest clip to the shortest from which on equal numbers of bits or seconds say something."""
FAILED_CLIPS, FAILED_SHARE = 3, 0.1
"""Clips with a resynthesis that a probe may fail on without a question; more of them would choose among the clips."""
_SAME_TIME = 1e-9
"""Relative difference of times that were computed from a length and not measured."""

Values = Mapping[str, Floats]
"""By key of a metric of the table; NaN where a clip has none."""


def check_doubts(rows: StoredRows, submission: Submission, findings: Findings) -> None:
    """Doubt rows that are too good, too equal or too round, a dataset and category at a time."""
    batched = {d.name for d in submission.datasets if any(stamp.batch_seconds for stamp in d.provenance)}
    ok = rows.where("status", {"ok"})
    for dataset in sorted(ok.unique("dataset")):
        its = ok.where("dataset", {dataset})
        for category in sorted(its.unique("category")):
            clips = its.where("category", {category})
            clips = clips.those((np.nan_to_num(clips.number("samples")) != 0) & (_rates(clips) != 0))
            if len(clips) < FEWEST:
                continue
            for text in _of_group(clips, submission, batched=dataset in batched):
                findings.doubt(f"{dataset} ({category}): {text}")


def _rates(rows: StoredRows) -> Floats:
    return np.nan_to_num(rows.number("sampling_rate"))


def _of_group(rows: StoredRows, submission: Submission, *, batched: bool) -> Iterator[str]:
    values = {key: rows.number(key) for key in rows.metrics if key in METRICS}
    values = {key: found for key, found in values.items() if np.isfinite(found).any()}
    seconds = rows.number("samples") / _rates(rows)
    if submission.codec.kind != "lossless":
        yield from _perfect(values)
    yield from _repeated(values, seconds)
    yield from _round(values)
    if not batched:
        yield from _times(rows, seconds)
    if submission.codec.frame_bits is None and submission.codec.bit_source == "measured":
        yield from _equal_bits(rows, seconds)
    yield from _unanswered(rows)


def _perfect(values: Values) -> Iterator[str]:
    """Doubt metrics that are at their best on every clip."""
    known = {key: found[np.isfinite(found)] for key, found in values.items()}
    best = [key for key, own in known.items() if len(own) >= FEWEST and _is_best(METRICS[key], own).all()]
    if best:
        yield f"{', '.join(sorted(best))} at the best value on every clip: only a lossless codec has that"


def _is_best(metric: Metric, values: Floats) -> NDArray[np.bool_]:
    """Tell which values are the best that there are."""
    best = metric.best_end
    return np.asarray(values >= best - _BEST_SLACK if metric.higher_is_better else values <= best + _BEST_SLACK)


def _away_from_ends(metric: Metric, values: Floats) -> NDArray[np.bool_]:
    """Tell which clips have a value that is at no end of its range, where many clips may be."""
    ends = (values == metric.minimum) | (values == metric.maximum) | _is_best(metric, values)
    return np.asarray(np.isfinite(values) & ~ends)


def _repeated(values: Values, seconds: Floats) -> Iterator[str]:
    """Doubt clips of different lengths with the same values, to the last digit: rows that were copied."""
    several = {}
    for key, found in values.items():
        own = _away_from_ends(METRICS[key], found) & (found != 0)  # 0 is ESTOI, and SDR, of silence: nothing arrived
        lengths = np.unique(np.stack([found[own], seconds[own]]), axis=1)
        if count := lengths.shape[1] - len(np.unique(lengths[0])):
            several[key] = count
    # one metric alone may have few values (a correlation over few frames); equal lengths may be equal clips
    sizes = {key: int(np.isfinite(values[key]).sum()) for key in several}
    if len(several) > 1 or any(2 * count >= sizes[key] for key, count in several.items()):
        words = ", ".join(f"{key} {count} times" for key, count in sorted(several.items()))
        yield f"clips of different lengths have the same value to the last digit: {words}"


def _round(values: Values) -> Iterator[str]:
    """Doubt metrics all of whose values end after a few decimals."""
    own = {key: found[_away_from_ends(METRICS[key], found)] for key, found in values.items()}
    short = [key for key, found in own.items() if len(found) >= FEWEST_OF_DECIMALS and _is_short(found)]
    if short:
        yield f"{', '.join(sorted(short))} rounded to {_DECIMALS} decimals on every clip: scores are packed as computed"


def _is_short(values: Floats) -> bool:
    # of measured values the first ones tell
    return all(
        math.isclose(value, round(value, _DECIMALS), rel_tol=1e-12, abs_tol=1e-12) for value in map(float, values)
    )


def _times(rows: StoredRows, seconds: Floats) -> Iterator[str]:
    """Doubt times that are the same for each clip, or for each second of sound."""
    for name, column in {"encoding": "encode_s", "decoding": "decode_s"}.items():
        times = rows.number(column)
        known = np.nan_to_num(times) != 0
        if int(known.sum()) < FEWEST or not _differ_in_length(seconds):
            continue
        of = {"for each clip": times[known], "for each second of sound": times[known] / seconds[known]}
        for kind, found in of.items():
            if found.max() <= found.min() * (1 + _SAME_TIME):
                yield f"{name} took the same time {kind}: computed, not measured?"


def _equal_bits(rows: StoredRows, seconds: Floats) -> Iterator[str]:
    """Doubt as many bits for a long clip as for a short one, of a codec without tokens."""
    sizes = np.unique(rows.number("bits")[np.isnan(rows.number("tokens"))])
    if len(sizes) == 1 and np.isfinite(sizes[0]) and _differ_in_length(seconds):
        yield f"{int(sizes[0])} bits for every clip, however long it is"


def _unanswered(rows: StoredRows) -> Iterator[str]:
    """Doubt a probe that failed on many clips whose sound is there: the others are in its figures alone."""
    for key in rows.probes:
        states = rows.texts(f"{key}.status")
        failed, asked = states.count("failed"), len(states) - states.count("left_out") - states.count(None)
        if failed > max(FAILED_CLIPS, FAILED_SHARE * asked):
            yield f"{key} failed on {failed} of {asked} resyntheses: its figures are of the others"


def _differ_in_length(seconds: Floats) -> bool:
    return bool(seconds.max() > _LENGTHS * seconds.min())
