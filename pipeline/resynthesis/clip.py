"""Resynthesise clips with one codec inside a worker: load, encode, decode, measure, store; every clip yields a row.

The clips of a task are coded as a batch where the codec supports it. If the batch raises, its clips are coded one by
one, so that a failing clip affects no other.
"""

from __future__ import annotations

import atexit
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Weights
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.fitting import non_finite
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.live import is_live
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.registry import open_codec
from codec_superb.base_codec.weights import describe_weights
from codec_superb.data_manifests import Category, Clip
from codec_superb.data_manifests.errors import StoreError
from codec_superb.pipeline.conditions.apply import Heard, codings, decode_received, heard, packet_times
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.resynthesis.codec_files import OpenedLate, Watch
from codec_superb.pipeline.resynthesis.lag import residual_lag
from codec_superb.pipeline.runs.audio_store import Stored, write_audio
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of, to_mono
from codec_superb.pipeline.runs.token_store import write_tokens
from codec_superb.pipeline.tables.rows import ResynthesisRow
from codec_superb.pipeline.workers.devices import chosen_device

Stage = Literal["load", "encode", "decode", "write"]
T = TypeVar("T")


class Target(NamedTuple):
    """One clip and the output files of its resynthesis."""

    clip: str
    category: Category
    path: str
    """Path of the FLAC to write."""
    tokens: str = ""
    """Path of the file for its tokens; '' where they are not stored."""
    cluster: str = ""
    """Opaque id of the clip's cluster."""
    slice: str = ""
    """Label by which figures are given apart too."""


class ResynthTask(NamedTuple):
    """The task of a worker: names and paths, from which it opens everything itself."""

    codec: str
    device: str
    dataset: DatasetSpec
    dataset_name: str
    targets: tuple[Target, ...]
    """One clip, or the clips of a batch."""
    options: CodecOptions = DEFAULT_OPTIONS
    weights: Weights | None = None
    """Weights on the run's card."""
    condition: Condition | None = None
    """None for a clean run."""
    files: Mapping[str, str] = {}
    """SHA-256 of what the codec's file read where it was opened first, by path."""


class OpenedCodec(NamedTuple):
    """Facts about an opened codec."""

    device: str
    gains_from_batches: bool
    weights: Weights | None
    """Weights that were opened; their hash may be unknown before."""
    files: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple's default, which nobody changes
    """SHA-256 of the files that a codec given as a file read, by path."""


class _Sound(NamedTuple):
    """A decoded reference clip."""

    clip: Clip
    reference: NDArray[np.float32]
    """Mono ``(samples,)``, as it is compared with."""
    rate: int
    heard: Heard
    """What the codec is given."""


class _Coded(NamedTuple):
    """Payload and resynthesis of a clip, with the seconds of both steps."""

    encoded: Encoded
    resynthesis: NDArray[np.float32]
    """Mono ``(samples,)``."""
    encode_s: float
    decode_s: float


class _Failed(Exception):
    """A clip failed at ``stage``."""

    def __init__(self, stage: Stage, error: Exception) -> None:
        super().__init__(stage)
        self.stage: Stage = stage
        self.error = error


class _BrokenContract(Exception):
    """A codec returned a value that breaks the codec interface."""


class _LoadedCodec:
    """The single codec that a worker has open; memory does not suffice for several neural codecs."""

    def __init__(self) -> None:
        self.key: tuple[str, str, CodecOptions] | None = None
        self.codec: Codec | None = None
        self.watch = Watch("")
        # a codec may hold a process of its own (isolation), which must not outlive this one
        atexit.register(self.close)

    def get(self, name: str, device: str, options: CodecOptions) -> Codec:
        """Return the codec, closing another open one first."""
        if self.codec is None or self.key != (name, device, options):
            self.close()
            self.watch = Watch(name)
            with self.watch.opening():
                self.codec, self.key = open_codec(name, device, options), (name, device, options)
            self.watch.opened(self.codec)
        return self.codec

    def close(self) -> None:
        """Close what is open; a codec that lives in this process is its owner's to close."""
        codec, key, self.codec, self.key = self.codec, self.key, None, None
        if codec is not None and key is not None and not is_live(key[0]):
            codec.close()


_HOLDER = _LoadedCodec()


def opened(name: str, device: str, options: CodecOptions) -> Codec:
    """Return the codec as this worker has it open."""
    return _HOLDER.get(name, device, options)


def let_go() -> None:
    """Close what this process has open: for one that is no worker, and goes on to other work."""
    _HOLDER.close()


def load_stage(_nothing: None) -> None:
    """Inside a worker, beside what is imported with this module: load the libraries that every clip needs."""
    for name in ("scipy.fft", "soundfile", "soxr"):
        import_module(name)


def prepare_codec(task: tuple[str, str, CodecOptions]) -> Iterator[OpenedCodec]:
    """Open the codec ``(name, device, options)``, so that errors are raised before the first clip; yield its facts."""
    name, device, options = task
    device = chosen_device(name, device)
    codec = _HOLDER.get(name, device, options)
    yield OpenedCodec(device, codec.gains_from_batches, codec.card.weights, _HOLDER.watch.hashes)


def check_packets(task: tuple[str, CodecOptions, Condition]) -> Iterator[None]:
    """Code half a second of a tone, so that a codec without packets to lose is refused before any run.

    Raises PipelineError.
    """
    name, options, condition = task
    codec = _HOLDER.get(name, "cpu", options)
    rate = codec.card.sampling_rate
    tone = 0.1 * np.sin(2 * np.pi * 440 / rate * np.arange(rate // 2))
    try:
        encoded = codec.encode(tone[None].astype(np.float32), rate)
    except Exception:  # noqa: BLE001 - what it cannot code its clips will say, each for itself
        encoded = None
    if encoded is not None:
        packet_times(codec, encoded, condition)
    yield None


def resynthesise_clips(task: ResynthTask) -> Iterator[ResynthesisRow | OpenedLate]:
    """Yield the row of each clip, in order, and then what the codec opened late.

    Raises only what must end the run: the codec cannot be opened, the disk is full.
    """
    codec = _HOLDER.get(task.codec, task.device, task.options)
    # weights given as a folder may be replaced while workers start one after the other
    if codec.card.weights != task.weights:
        raise PipelineError(
            f"{codec.card.name}: its weights changed while it ran, from {describe_weights(task.weights)} to "
            f"{describe_weights(codec.card.weights)}; restart the run with --overwrite"
        )
    for name, found in _HOLDER.watch.hashes.items():
        if found != task.files.get(name, found):  # here, or on the machine of another worker
            raise PipelineError(
                f"{codec.card.name}: expected one file {name} in all workers, got SHA-256 {task.files[name]} and, on "
                f"{socket.gethostname()}, {found}: give all machines one, and restart the run with --overwrite"
            )
    sounds = [_read(task, target) for target in task.targets]
    with _HOLDER.watch.coding():
        coded = _together(codec, [sound for sound in sounds if isinstance(sound, _Sound)], task.condition)
    for target, sound in zip(task.targets, sounds, strict=True):
        if isinstance(sound, ResynthesisRow):
            yield sound
            continue
        try:
            with _HOLDER.watch.coding():
                its = coded[target.clip] if target.clip in coded else _alone(codec, sound, task.condition)
            row = _row(task, target, sound, its)
        except _Failed as failed:
            row = _failed_row(task, target, failed, sound.clip)
        yield row
    if (late := _HOLDER.watch.late()) is not None:
        yield late


def _read(task: ResynthTask, target: Target) -> _Sound | ResynthesisRow:
    """Return the clip, or its row where it cannot be read."""
    dataset = dataset_of(task.dataset)
    clip: Clip | None = None
    try:
        clip = _at("load", dataset.clip, target.clip)
        reference, rate = _at("load", load_mono, clip)
        return _Sound(clip, reference, rate, _at("load", heard, task.condition, dataset, clip, reference, rate))
    except _Failed as failed:
        return _failed_row(task, target, failed, clip)


def _together(codec: Codec, sounds: Sequence[_Sound], condition: Condition | None) -> dict[str, _Coded]:
    """Code the clips of each sampling rate as a batch; return the results by clip, without those of a failed batch.

    Damaged payloads, and clips that are coded several times, go one by one.
    """
    coded: dict[str, _Coded] = {}
    if condition is not None and condition.kind.place != "sound":
        return coded
    for rate in sorted({sound.rate for sound in sounds}):
        batch = [sound for sound in sounds if sound.rate == rate]
        if len(batch) > 1:
            coded |= _batch(codec, batch, rate)
    return coded


def _batch(codec: Codec, batch: Sequence[_Sound], rate: int) -> dict[str, _Coded]:
    """Code clips of one rate as a batch; time is attributed to clips by length. Empty where the batch raises."""
    coded: dict[str, _Coded] = {}
    whole = sum(sound.reference.size for sound in batch)
    try:
        codec.wake()
        started = time.perf_counter()
        encoded = codec.encode_batch([sound.heard.samples[np.newaxis] for sound in batch], rate)
        encode_s = time.perf_counter() - started
        started = time.perf_counter()
        decoded = codec.decode_batch(encoded)
        decode_s = time.perf_counter() - started
        for sound, its, audio in zip(batch, encoded, decoded, strict=True):
            samples = sound.reference.size
            # of the seconds of a batch, by length: the real-time factor of the run stays right
            share = samples / whole
            resynthesis = _listened(_checked(audio, its, samples), sound)
            coded[sound.clip.id] = _Coded(its, resynthesis, share * encode_s, share * decode_s)
    except (PipelineError, CodecUnusable):
        raise
    except Exception:  # noqa: BLE001 - each is tried alone, and what it raises then is its own
        return {}
    return coded


def _alone(codec: Codec, sound: _Sound, condition: Condition | None) -> _Coded:
    """Code one clip; whatever the codec raises is the clip's failure."""
    # before the clock starts: a worker of an isolated codec that died is started again here
    _at("encode", codec.wake)
    samples, encode_s, decode_s = sound.heard.samples, 0.0, 0.0
    for _ in range(codings(condition)):
        started = time.perf_counter()
        encoded = _at("encode", codec.encode, samples[np.newaxis], sound.rate)
        encode_s += time.perf_counter() - started
        started = time.perf_counter()
        audio = _at("decode", decode_received, codec, encoded, condition, sound.clip)
        decode_s += time.perf_counter() - started
        samples = _at("decode", _checked, audio, encoded, sound.reference.size)
    return _Coded(encoded, _listened(samples, sound), encode_s, decode_s)


def _listened(resynthesis: NDArray[np.float32], sound: _Sound) -> NDArray[np.float32]:
    """Undo the gain of a condition of level."""
    return resynthesis if sound.heard.gain == 1.0 else resynthesis / np.float32(sound.heard.gain)


def _row(task: ResynthTask, target: Target, sound: _Sound, coded: _Coded) -> ResynthesisRow:
    """Measure and store the resynthesis of a clip, and return its row."""
    lag = _at("decode", residual_lag, sound.reference, coded.resynthesis, sound.rate)
    stored = _at("write", _store, target, coded, sound.rate)
    return ResynthesisRow(
        clip=target.clip,
        dataset=task.dataset_name,
        category=target.category,
        cluster=target.cluster,
        slice=target.slice,
        status="ok",
        sampling_rate=sound.rate,
        samples=sound.reference.size,
        bits=coded.encoded.bits,
        tokens=coded.encoded.tokens,
        encode_s=coded.encode_s,
        decode_s=None if coded.encoded.one_step else coded.decode_s,
        lag_samples=lag,
        clipped_samples=stored.clipped_samples,
        resynthesis_sha256=stored.sha256,
    )


def _failed_row(task: ResynthTask, target: Target, failed: _Failed, clip: Clip | None) -> ResynthesisRow:
    """Return the row of a failed clip with stage and reason."""
    return ResynthesisRow(
        clip=target.clip,
        dataset=task.dataset_name,
        category=target.category,
        cluster=target.cluster,
        slice=target.slice,
        status="failed",
        stage=failed.stage,
        error_type=type(failed.error).__name__,
        error=reason_of(failed.error, clip),
    )


def _at(stage: Stage, action: Callable[..., T], *arguments: object) -> T:
    """Call ``action``; an exception becomes this clip's failure at ``stage``, except those that end the run."""
    try:
        return action(*arguments)
    except (PipelineError, CodecUnusable, StoreError):
        raise
    except Exception as error:
        raise _Failed(stage, error) from error


def _checked(decoded: NDArray[np.float32], encoded: Encoded, samples: int) -> NDArray[np.float32]:
    """Check the codec's output and return it as mono ``(samples,)``."""
    if decoded.dtype != np.float32 or decoded.ndim != 2 or decoded.shape[1] != samples:  # noqa: PLR2004 - (channels, samples)
        raise _BrokenContract(
            f"expected float32 of shape (channels, {samples}) from the codec, got {decoded.dtype} of {decoded.shape}"
        )
    if encoded.bits is not None and encoded.bits < 0:
        raise _BrokenContract(f"expected a payload of 0 bits or more, got {encoded.bits}")
    wrong = non_finite(decoded)
    if wrong:
        raise _BrokenContract(f"expected finite samples from the codec, got {wrong} NaN or infinite of {decoded.size}")
    # a codec that only takes stereo gives two channels back
    return to_mono(decoded)


def _store(target: Target, coded: _Coded, rate: int) -> Stored:
    """Write the FLAC, and the tokens where they are stored; a full disk ends the run."""
    try:
        if target.tokens and not isinstance(coded.encoded.payload, bytes):
            write_tokens(Path(target.tokens), coded.encoded.payload)
        return write_audio(Path(target.path), coded.resynthesis, rate)
    except OSError as error:
        if (fatal := cannot_write(error, target.path)) is not None:
            raise fatal from error
        raise
