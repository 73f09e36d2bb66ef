"""Tokens as a file: a dataset through a token codec into Parquet, a row a clip, and the sound back from it.

Columns: ``clip``, ``dataset``, ``codec``, ``codebooks``, ``frames``, ``tokens`` (int32, codebook after codebook),
``side`` (what some codecs send beside their tokens), and ``samples``, ``sampling_rate``, ``channels`` of the clip,
which the decoder needs. The codec's card, with its weights, stands in the file's metadata: other weights would read
the same tokens as other sounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.registry import configure, open_codec
from codec_superb.data_manifests import open_dataset
from codec_superb.pipeline.audio_store import file_name, write_audio
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.progress import Progress, Silent
from codec_superb.pipeline.reference import load_mono, reason_of, to_mono
from codec_superb.pipeline.resynth_clip import best_device
from codec_superb.pipeline.selection import select_clips
from codec_superb.pipeline.token_statistics import TokenCounter, TokenStatistics

if TYPE_CHECKING:
    import pyarrow as pa

CARD_KEY = b"codec_superb.card"


@dataclass(frozen=True, slots=True)
class Exported:
    """What :func:`export_tokens` did."""

    file: Path
    statistics: TokenStatistics
    failed: dict[str, str] = field(default_factory=dict)
    """Clip id to reason; such a clip has no row."""


def export_tokens(
    codec: str,
    dataset: str,
    file: Path,
    *,
    device: str = "auto",
    options: CodecOptions = DEFAULT_OPTIONS,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Encode the clips of ``dataset`` (or ``limit`` of them) and write their tokens; the file appears when it is whole.

    Raises PipelineError for a codec without tokens and where every clip fails, CodecError, DatasetError.
    """
    import pyarrow.parquet as pq

    card, options = configure(codec, options)
    if card.codebooks is None or card.codebook_size is None:
        raise PipelineError(f"{card.name} has no tokens: its payload is bytes; choose a codec with codebooks")
    opened = open_dataset(dataset)
    clips = select_clips(opened, limit)
    counter, failed = TokenCounter(card.codebooks, card.codebook_size), dict[str, str]()
    progress = progress or Silent()
    progress.start(f"{card.name} on {opened.name}", len(clips), 0)
    coder = open_codec(codec, best_device(codec) if device == "auto" else device, options)
    partial = file.with_name(f".{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with pq.ParquetWriter(partial, _schema(card)) as writer:
            for clip_id in clips:
                clip = opened.clip(clip_id)
                try:
                    audio, rate = load_mono(clip)
                    encoded = coder.encode(audio[np.newaxis], rate)
                except Exception as error:  # noqa: BLE001 - one clip is lost, whatever a codec raises
                    failed[clip_id] = f"{type(error).__name__}: {reason_of(error, clip)}"
                else:
                    counter.add(np.asarray(encoded.payload), encoded.bits, audio.size / rate)
                    writer.write_table(_row(card, opened.name, clip_id, encoded))
                progress.advance()
        if len(failed) == len(clips):
            raise PipelineError(
                f"{card.name}: no clip of {opened.name} could be encoded: {next(iter(failed.values()))}"
            )
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
        coder.close()
    return Exported(file, counter.statistics(), failed)


def decode_tokens(
    file: Path,
    out: Path,
    *,
    codec: str | None = None,
    device: str = "auto",
    options: CodecOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
) -> list[Path]:
    """Decode every row of ``file`` to ``out/<clip>.flac``, mono, as resynth writes it; return the files.

    Raises PipelineError for a file of another kind, and where ``codec`` or the weights are not those that encoded it.
    """
    import pyarrow.parquet as pq

    table, card = _open(file)
    name = codec or card.name
    own, options = configure(name, options)
    _refuse_other_codec(file, card, own)
    progress = progress or Silent()
    progress.start(f"{own.name} from {file.name}", table.metadata.num_rows, 0)
    coder = open_codec(name, best_device(name) if device == "auto" else device, options)
    try:
        return [_decode(coder, row, out, progress) for row in _rows(table)]
    except pq.lib.ArrowException as error:
        raise PipelineError(f"{file} is damaged: {error}; export it again") from error
    finally:
        coder.close()


def _schema(card: Card) -> pa.Schema:
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("clip", "dataset", "codec")]
    numbers = [(name, pa.int32()) for name in ("codebooks", "frames")]
    length = [("samples", pa.int64()), ("sampling_rate", pa.int32()), ("channels", pa.int32())]
    columns = [*texts, *numbers, ("tokens", pa.list_(pa.int32())), ("side", pa.binary()), *length]
    return pa.schema(columns, metadata={CARD_KEY: card.model_dump_json().encode()})


def _row(card: Card, dataset: str, clip: str, encoded: Encoded) -> pa.Table:
    import pyarrow as pa

    tokens = np.asarray(encoded.payload)
    row = {
        "clip": clip, "dataset": dataset, "codec": card.name, "codebooks": tokens.shape[0], "frames": tokens.shape[1],
        "tokens": tokens.ravel(), "side": encoded.side, "samples": encoded.samples,
        "sampling_rate": encoded.sampling_rate, "channels": encoded.channels,
    }  # fmt: skip
    return pa.Table.from_pylist([row], schema=_schema(card))


def _open(file: Path) -> tuple[Any, Card]:
    """Open a file of tokens and read its card."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(file)
        return table, Card.model_validate_json((table.schema_arrow.metadata or {})[CARD_KEY])
    except (pa.ArrowException, OSError, KeyError, ValidationError) as error:
        raise PipelineError(f"{file} is no file of tokens ({error}): expected one of `tokens export`") from error


def _refuse_other_codec(file: Path, card: Card, own: Card) -> None:
    """Refuse tokens of another codec, and of other weights: they would decode to something else without a word."""
    if own.name != card.name:
        raise PipelineError(f"{file} holds tokens of {card.name}, not of {own.name}")
    before, now = (its.weights.sha256 if its.weights else None for its in (card, own))
    if before != now:
        raise PipelineError(
            f"{file} was made with other weights of {card.name}: SHA-256 {str(before)[:12]}…, here {str(now)[:12]}…; "
            "name those with --weights"
        )


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    for batch in table.iter_batches(batch_size=1):
        yield from batch.to_pylist()


def _decode(coder: Codec, row: dict[str, Any], out: Path, progress: Progress) -> Path:
    """Decode one row and write its sound."""
    tokens = np.array(row["tokens"], dtype=np.int32).reshape(row["codebooks"], row["frames"])
    bits = ceil(tokens.size * log2(coder.card.codebook_size or 1)) + 8 * len(row["side"])
    encoded = Encoded(tokens, bits, row["samples"], row["sampling_rate"], row["channels"], side=row["side"])
    target = out / file_name(row["clip"])
    write_audio(target, to_mono(coder.decode(encoded)), row["sampling_rate"])
    progress.advance()
    return target
