"""Find the delay of a codec that states none, on the first clips of a run, so that it can be removed from all of them.

Clips are coded at the codec's own rate and compared with what was coded (:mod:`.lag`). A delay counts as found where
half of the clips have a distinct lag, and most of these agree with their median. What is found is kept on the run's
card as *found*, not declared; a codec that comes early is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from statistics import median_low
from typing import NamedTuple

import numpy as np

from codec_superb.base_codec import fitting
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError, CodecUnusable
from codec_superb.base_codec.options import CodecOptions
from codec_superb.pipeline.resynthesis.clip import opened
from codec_superb.pipeline.resynthesis.lag import WINDOW_S, residual_lag
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.workers.executor import Executor, TaskResult

CLIPS = 6
"""Clips that are listened to, spread over the categories."""
AGREE_S = 0.0005
"""Seconds that a lag may differ from the median: a quantised waveform moves its peak by some samples."""


class LagTask(NamedTuple):
    """The task of a worker."""

    codec: str
    device: str
    options: CodecOptions
    dataset: DatasetSpec
    clip: str


class Trial(NamedTuple):
    """What the first clips showed."""

    lags: tuple[int | None, ...]
    """Samples at the codec's rate by which each clip that was coded is late; None where no lag is distinct."""
    errors: tuple[str, ...]
    """Of the clips that could not be coded."""


def try_clips(tasks: Sequence[LagTask], pool: Executor) -> Trial:
    """Code each clip in a worker, as a task of its own: a time limit is that of a clip, and a death costs one."""
    found: dict[str, Trial] = {}
    for event in pool.stream(lag_of_clip, tasks):
        # a worker may die behind its answer, which counts
        found.setdefault(event.task.clip, event.value if isinstance(event, TaskResult) else Trial((), (event.reason,)))
    trials = [found[task.clip] for task in tasks]
    return Trial(*(tuple(chain.from_iterable(each)) for each in zip(*trials, strict=True)))


def lag_of_clip(task: LagTask) -> Iterator[Trial]:
    """Yield the lag of a clip, coded without removing any delay."""
    codec = opened(task.codec, task.device, task.options)
    clip = dataset_of(task.dataset).clip(task.clip)
    try:
        samples, rate = load_mono(clip)
    except Exception:  # noqa: BLE001 - a file that cannot be read has its row, and says nothing of the codec
        yield Trial((), ())
        return
    own = rate if codec.card.input_rate else codec.card.sampling_rate
    samples = samples[: round(WINDOW_S * rate)]
    given = fitting.resample(samples[np.newaxis], rate, own, fitting.resampled_length(samples.size, rate, own))
    try:
        lag = residual_lag(given[0], fitting.to_mono(codec.decode(codec.encode(given, own)))[0], own)
    except CodecUnusable:
        raise
    except Exception as error:  # noqa: BLE001 - code of the user's
        kind = "" if isinstance(error, CodecError) else f"{type(error).__name__}: "
        yield Trial((), (f"{kind}{reason_of(error, clip)}",))
        return
    yield Trial((lag,), ())


def first_clips(dataset: DatasetSpec, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the clips to listen to: the same whatever has been done, of those that are asked for."""
    spread = set(select_clips(dataset_of(dataset), CLIPS))
    return tuple(clip for clip in asked if clip in spread) or tuple(asked[:CLIPS])


def delay_of(card: Card, trial: Trial) -> tuple[int, str]:
    """Return the delay in samples at the card's rate, 0 where none was found, and a sentence about it.

    Raises CodecUnusable where every clip failed.
    """
    if trial.errors and not trial.lags:
        clips = f"all of its first {_count(len(trial.errors), 'clip')}"
        raise CodecUnusable(f"{card.name} fails on {clips}: {trial.errors[0]}; mend it and call again")
    lags = [lag for lag in trial.lags if lag is not None]
    middle = median_low(lags) if lags else 0
    agreeing = [lag for lag in lags if abs(lag - middle) <= AGREE_S * card.sampling_rate]
    tried = f"its first {_count(len(trial.lags), 'clip')}"
    none = f"{card.name}: its delay is not declared, and"
    if not lags or 2 * len(lags) < len(trial.lags) or 2 * len(agreeing) <= len(lags):
        return 0, f"{none} no lag is distinct on {tried}: taken as 0; state delay_samples in its card where you know it"
    heard = f"{len(agreeing)} of {tried}"
    if middle <= 0:
        early = f"come {_count(-middle, 'sample')} early: left so, taken as 0" if middle else "are in place: 0, found"
        return 0, f"{none} {heard} {early}"
    rate = "the rate of each clip" if card.input_rate else f"{card.sampling_rate} Hz"
    return middle, f"{none} {heard} come {_count(middle, 'sample')} at {rate} late: removed, and kept as found"


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}{'s' * (amount != 1)}"
