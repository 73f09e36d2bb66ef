"""One clip through one codec, inside a worker: load, encode, decode, measure, store; always ends in a row."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.registry import card, open_codec
from codec_superb.data_manifests import Category, Clip
from codec_superb.pipeline.audio_store import Stored, write_audio
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.lag import residual_lag
from codec_superb.pipeline.reference import DatasetSpec, cannot_write, dataset_of, load_mono, reason_of, to_mono
from codec_superb.pipeline.rows import ClipRow

Stage = Literal["load", "encode", "decode", "write"]
T = TypeVar("T")


class ResynthTask(NamedTuple):
    """What a worker is told: names, from which it opens everything itself."""

    codec: str
    device: str
    dataset: DatasetSpec
    dataset_name: str
    clip: str
    category: Category
    target: str
    """Path of the FLAC to write."""
    options: CodecOptions = DEFAULT_OPTIONS


class _Failed(Exception):
    """A clip is lost at ``stage``."""

    def __init__(self, stage: Stage, error: Exception) -> None:
        super().__init__(stage)
        self.stage: Stage = stage
        self.error = error


class _BrokenContract(Exception):
    """A codec returned something else than it must."""


class _Holder:
    """The one codec a worker has open; neural codecs are too large for two."""

    def __init__(self) -> None:
        self.key: tuple[str, str, CodecOptions] | None = None
        self.codec: Codec | None = None
        atexit.register(self.close)

    def get(self, name: str, device: str, options: CodecOptions) -> Codec:
        """Return the codec, opening it and closing the one before where it is another."""
        if self.codec is None or self.key != (name, device, options):
            self.close()
            self.codec, self.key = open_codec(name, device, options), (name, device, options)
        return self.codec

    def close(self) -> None:
        """Close what is open."""
        codec, self.codec, self.key = self.codec, None, None
        if codec is not None:
            codec.close()


_HOLDER = _Holder()


def prepare_codec(task: tuple[str, str, CodecOptions]) -> Iterator[str]:
    """Open the codec ``(name, device, options)``, so that what is missing shows at once; yield the device it is on."""
    name, device, options = task
    if device == "auto":
        device = best_device(name)
    _HOLDER.get(name, device, options)
    yield device


def best_device(name: str) -> str:
    """Choose ``cuda`` for a neural codec where torch sees a device, otherwise ``cpu``."""
    own_card = card(name)
    if own_card.kind != "neural" or own_card.isolation is not None:  # locks have packages for the CPU
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def resynthesise_clip(task: ResynthTask) -> Iterator[ClipRow]:
    """Yield the row of one clip. Raises only what must end the run: the codec cannot be opened, the disk is full."""
    codec = _HOLDER.get(task.codec, task.device, task.options)
    dataset = dataset_of(task.dataset)
    clip: Clip | None = None
    try:
        clip = _at("load", dataset.clip, task.clip)
        yield _row(task, codec, clip)
    except _Failed as failed:
        yield ClipRow(
            clip=task.clip,
            dataset=task.dataset_name,
            category=task.category,
            status="failed",
            stage=failed.stage,
            error_type=type(failed.error).__name__,
            error=reason_of(failed.error, clip),
        )


def _row(task: ResynthTask, codec: Codec, clip: Clip) -> ClipRow:
    """Do the work of one clip."""
    reference, rate = _at("load", load_mono, clip)
    started = time.perf_counter()
    encoded = _at("encode", codec.encode, reference[np.newaxis], rate)
    encode_s = time.perf_counter() - started
    started = time.perf_counter()
    decoded = _at("decode", codec.decode, encoded)
    decode_s = time.perf_counter() - started
    resynthesis = _at("decode", _checked, decoded, encoded, reference.size)
    lag = _at("decode", residual_lag, reference, resynthesis, rate)
    stored = _at("write", _store, task, resynthesis, rate)
    return ClipRow(
        clip=task.clip,
        dataset=task.dataset_name,
        category=task.category,
        status="ok",
        sampling_rate=rate,
        samples=reference.size,
        bits=encoded.bits,
        tokens=encoded.tokens,
        encode_s=encode_s,
        decode_s=decode_s,
        lag_samples=lag,
        clipped_samples=stored.clipped_samples,
        resynthesis_sha256=stored.sha256,
    )


def _at(stage: Stage, action: Callable[..., T], *arguments: object) -> T:
    """Call ``action``; whatever it raises is this clip's failure at ``stage``, but for what must end the run."""
    try:
        return action(*arguments)
    except (PipelineError, CodecUnusable):
        raise
    except Exception as error:
        raise _Failed(stage, error) from error


def _checked(decoded: NDArray[np.float32], encoded: Encoded, samples: int) -> NDArray[np.float32]:
    """Hold the codec to its contract and return mono ``(samples,)``."""
    if decoded.dtype != np.float32 or decoded.ndim != 2 or decoded.shape[1] != samples:  # noqa: PLR2004 - (channels, samples)
        raise _BrokenContract(
            f"expected float32 of shape (channels, {samples}) from the codec, got {decoded.dtype} of {decoded.shape}"
        )
    if encoded.bits < 0:
        raise _BrokenContract(f"expected a payload of 0 bits or more, got {encoded.bits}")
    wrong = int(np.count_nonzero(~np.isfinite(decoded)))
    if wrong:
        raise _BrokenContract(f"expected finite samples from the codec, got {wrong} NaN or infinite of {decoded.size}")
    return to_mono(decoded)


def _store(task: ResynthTask, resynthesis: NDArray[np.float32], rate: int) -> Stored:
    """Write the FLAC; a full disk ends the run."""
    try:
        return write_audio(Path(task.target), resynthesis, rate)
    except OSError as error:
        if (fatal := cannot_write(error, task.target)) is not None:
            raise fatal from error
        raise
