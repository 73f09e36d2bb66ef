"""Count what a neural codec computes for one clip of a run, beside the timed clips: once a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from codec_superb.base_codec.counting import Counted
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import CodecOptions
from codec_superb.metrics.results import Operations, StepOperations
from codec_superb.pipeline.resynthesis.clip import opened
from codec_superb.pipeline.resynthesis.plan import Plan
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.pipeline.workers.devices import chosen_device
from codec_superb.pipeline.workers.executor import Executor, TaskResult

SECONDS = 10.0
"""Longest part of a clip that is coded: attention grows with the square of the length, and so does its cost."""


class CountTask(NamedTuple):
    """The task of a worker."""

    codec: str
    device: str
    options: CodecOptions
    dataset: DatasetSpec
    clip: str


def count_operations(
    plan: Plan, journal: Journal[ResynthesisRow], known: Operations | None, device: str, pool: Executor
) -> Operations | None:
    """Count the operations of the first clip, by its id, that has a resynthesis; None where none has.

    ``known`` are returned while their clip has one. What cannot be counted is said, and costs no clip.
    """
    if known is not None and known.clip in plan.clips and _is_coded(journal, known.clip):
        return known
    clip = next((clip for clip in plan.clips if _is_coded(journal, clip)), None)
    if clip is None:
        return None
    task = CountTask(plan.codec, chosen_device(plan.codec, device), plan.options, plan.spec, clip)
    (event,) = pool.stream(operations_of_clip, [task])
    if isinstance(event, TaskResult):
        return event.value
    lost = StepOperations(reason=f"counting ended the worker process: {event.reason}")
    return Operations(backend="none", clip=clip, seconds=SECONDS, encode=lost, decode=lost)


def _is_coded(journal: Journal[ResynthesisRow], clip: str) -> bool:
    row = journal.last(clip)
    return row is not None and row.status == "ok"


def operations_of_clip(task: CountTask) -> Iterator[Operations]:
    """Yield the operations of the codec on the beginning of a clip, as it is without any condition."""
    samples, rate = load_mono(dataset_of(task.dataset).clip(task.clip))
    samples = samples[: round(SECONDS * rate)]
    seconds = samples.size / rate
    if task.options.compile:
        encoding = decoding = Counted(None, reason="torch.compile joins operations, which torch's counter cannot see")
    else:
        codec = opened(task.codec, task.device, task.options)
        encoded, encoding = _encoding(codec, samples[np.newaxis], rate)
        decoding = _decoding(codec, encoded)
    yield Operations(
        backend=encoding.backend,
        clip=task.clip,
        seconds=seconds,
        encode=_step(encoding, seconds),
        decode=_step(decoding, seconds),
    )


def _encoding(codec: Codec, audio: Audio, rate: int) -> tuple[Encoded | None, Counted]:
    try:
        return codec.encode_counted(audio, rate)
    except Exception as error:  # noqa: BLE001 - a codec that fails under the counter has been run without it
        return None, _failed(error)


def _decoding(codec: Codec, encoded: Encoded | None) -> Counted:
    if codec.card.encode_only:
        return Counted(None, reason="the codec only encodes")
    if encoded is None:
        return Counted(None, reason="the encoder was not counted either")
    try:
        return codec.decode_counted(encoded)[1]
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(error)


def _failed(error: Exception) -> Counted:
    return Counted(None, reason=f"{type(error).__name__}: {reason_of(error)}")


def _step(counted: Counted, seconds: float) -> StepOperations:
    per_second = counted.operations and counted.operations / seconds
    return StepOperations(per_second=per_second or None, unseen=counted.unseen, reason=counted.reason[:1000])
