"""Take over one resynthesis inside a worker: read, fit, measure, store; every clip yields a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card
from codec_superb.data_manifests import Clip
from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.importing.token_files import WrongTokens, read_tokens
from codec_superb.pipeline.output_file import cannot_write
from codec_superb.pipeline.resynthesis.lag import residual_lag
from codec_superb.pipeline.resynthesis.token_statistics import check_tokens
from codec_superb.pipeline.runs.audio_store import write_audio
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, load_mono, reason_of, to_mono
from codec_superb.pipeline.runs.token_store import write_tokens
from codec_superb.pipeline.scoring.fit import Fitted, fit_to_reference
from codec_superb.pipeline.tables.rows import ResynthesisRow


class Source(NamedTuple):
    """What a clip's row is made of."""

    audio: str
    """Path of the resynthesis."""
    tokens: str = ""
    """Path of its tokens; '' where none are taken."""
    bits: int | None = None
    """Bits that the user states for this clip."""


class ImportTask(NamedTuple):
    """The task of a worker: one clip."""

    clip: Clip
    dataset: DatasetSpec
    source: Source
    card: Card
    audio: str
    """Path of the FLAC to write."""
    tokens: str
    """Path of the tokens to write."""
    longest_s: float
    """Largest difference in length that is fitted, in seconds."""
    resample: bool


class ImportedClip(NamedTuple):
    """The row of a clip, and what was done to its sound."""

    row: ResynthesisRow
    fitted: Fitted | None = None


class AnotherRate(Exception):
    """The resynthesis has not the rate of the reference."""


class AnotherLength(Exception):
    """The resynthesis, or its tokens, are longer or shorter than the reference by more than can be fitted."""


def import_clip(task: ImportTask) -> Iterator[ImportedClip]:
    """Yield the row of one clip. Raises PipelineError for what must end the run: the disk is full, torch is missing."""
    stage: Literal["load", "decode", "write"] = "load"
    try:
        reference, rate = load_mono(dataset_of(task.dataset).clip(task.clip.id))
        stage = "decode"
        audio, fitted = _read(task, rate, reference.size)
        tokens = _tokens(task, reference.size / rate)
        lag = residual_lag(reference, audio, rate)
        stage = "write"
        if tokens is not None:
            write_tokens(Path(task.tokens), tokens)
        stored = write_audio(Path(task.audio), audio, rate)
    except PipelineError:
        raise
    except Exception as error:
        fatal = cannot_write(error, task.audio) if stage == "write" and isinstance(error, OSError) else None
        if fatal is not None:
            raise fatal from error
        yield ImportedClip(_failed(task, stage, error))
        return
    row = blank_row(task.clip).model_copy(
        update={
            "status": "ok",
            "sampling_rate": rate,
            "samples": reference.size,
            "bits": bits_of(task, tokens, reference.size / rate),
            "tokens": None if tokens is None else int(tokens.size),
            "lag_samples": lag,
            "clipped_samples": stored.clipped_samples,
            "resynthesis_sha256": stored.sha256,
        }
    )
    yield ImportedClip(row, fitted)


def blank_row(clip: Clip) -> ResynthesisRow:
    """Return the row of a clip without a resynthesis."""
    return ResynthesisRow(
        clip=clip.id, dataset=clip.dataset, category=clip.category, cluster=clip.cluster, slice=clip.slice,
        status="failed",
    )  # fmt: skip


def bits_of(task: ImportTask, tokens: NDArray[np.integer[Any]] | None, seconds: float) -> int | None:
    """Return a clip's bits: counted from its tokens, stated for it, or of the declared bitrate; None for none."""
    if tokens is not None:
        return task.card.bits_of(tokens.shape[1])
    if task.card.bit_source == "declared" and task.card.nominal_kbps is not None:
        return round(task.card.nominal_kbps * 1000 * seconds)
    return task.source.bits


def _read(task: ImportTask, rate: int, samples: int) -> tuple[NDArray[np.float32], Fitted | None]:
    """Return the resynthesis as mono ``(samples,)`` at ``rate`` Hz, and what was done to it."""
    audio, its_rate = read_audio(Path(task.source.audio))
    if its_rate != rate and not task.resample:
        raise AnotherRate(
            f"expected {rate} Hz, as its reference has, got {its_rate} Hz: resample the file, or import with --resample"
        )
    try:
        return fit_to_reference(to_mono(audio), its_rate, rate, samples, longest_s=task.longest_s)
    except RunFolderError as error:  # any other PipelineError ends the run
        raise AnotherLength(str(error)) from error


def _tokens(task: ImportTask, seconds: float) -> NDArray[np.integer[Any]] | None:
    """Return the tokens of a clip of ``seconds``; None where none are taken."""
    if not task.source.tokens:
        return None
    path, card = Path(task.source.tokens), task.card
    tokens = read_tokens(path)
    try:
        check_tokens(tokens, card.codebook_entries or ())
    except ValueError as error:
        raise WrongTokens(f"{path.name}: {error}") from error
    if card.frame_rate is not None:
        frames, expected = tokens.shape[1], seconds * card.frame_rate
        # encoders pad to a whole block, some by one more, and the sound may differ by longest_s
        if abs(frames - expected) > 2 * card.block_frames + task.longest_s * card.frame_rate:
            raise AnotherLength(
                f"{path.name}: expected about {expected:.0f} frames, as the card's frame_rate {card.frame_rate:g} "
                f"gives for {seconds:.3f} s, got {frames} ({frames / seconds:.5g} a second): correct the card or the "
                "tokens"
            )
    return tokens


def _failed(task: ImportTask, stage: str, error: Exception) -> ResynthesisRow:
    # a path of this machine is none of the reader's business
    name = Path(task.source.audio).name
    reason = reason_of(error, task.clip).replace(task.source.audio, name)
    return blank_row(task.clip).model_copy(update={"stage": stage, "error_type": type(error).__name__, "error": reason})
