"""Export the tokens of a dataset to a Parquet file, one row per clip, and decode such a file to audio.

Columns: ``clip``, ``dataset``, ``codec``, ``codebooks``, ``frames``, ``tokens`` (int32, codebook after codebook),
``side`` (side information of some codecs), and ``samples``, ``sampling_rate``, ``channels`` of the clip, which the
decoder needs. The codec's card, with its weights, is in the file's metadata, since other weights decode the same tokens
to other audio.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.registry import configure, names, open_codec
from codec_superb.base_codec.weights import check_options_apply, describe_weights
from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.files import replacing
from codec_superb.data_manifests.objects.store_path import Place, readable
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.output_file import UNWRITTEN, make_folder, writing
from codec_superb.pipeline.resynthesis.readiness import make_ready
from codec_superb.pipeline.resynthesis.token_statistics import TokenCounter, TokenStatistics
from codec_superb.pipeline.runs.audio_store import file_name, write_audio
from codec_superb.pipeline.runs.dataset_access import load_mono, reason_of, to_mono
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.workers.devices import chosen_device, refuse_device
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

if TYPE_CHECKING:
    import pyarrow as pa

CARD_KEY = b"codec_superb.card"


class _TokenRow(NamedTuple):
    """A row of the file, by its columns."""

    clip: str
    dataset: str
    codec: str
    codebooks: int
    frames: int
    tokens: list[int] | NDArray[np.int32]
    """In the file one codebook after the other; of shape (codebooks, frames) once they are checked."""
    side: bytes
    samples: int
    sampling_rate: int
    channels: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of :func:`decode_tokens`."""

    files: list[Path]
    failed: dict[str, str] = field(default_factory=dict)
    """Clip id to reason; such a clip has no file."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of :func:`export_tokens`."""

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
    """Encode the clips of ``dataset`` (or ``limit`` of them) and write their tokens; the file is replaced atomically.

    Raises PipelineError for a codec without tokens, where every clip fails and where the file cannot be written,
    CodecUnusable where the codec's worker dies repeatedly, other CodecError, DatasetError.
    """
    import pyarrow.parquet as pq

    refuse_device(device, [card_of(codec)])
    check_options_apply(options, [card_of(codec)])
    make_ready([codec], options, device, progress or SilentProgress())
    card, options = configure(codec, options)
    if card.codebook_entries is None:
        raise PipelineError(f"{card.name} has no tokens: its payload is bytes; choose a codec with codebooks")
    with writing(file, UNWRITTEN):
        if file.is_dir():
            raise PipelineError(
                f"expected a file to write, got the folder {file}: name one in it, such as tokens.parquet"
            )
    opened = open_dataset(dataset)
    clips = select_clips(opened, limit)
    counter, failed = TokenCounter(card.codebook_entries), dict[str, str]()
    progress = progress or SilentProgress()
    progress.start(f"{card.name} on {opened.name}", len(clips), 0)
    make_folder(file.parent, UNWRITTEN)
    coder = open_codec(codec, chosen_device(codec, device), options)
    try:
        card = card.model_copy(update={"weights": coder.card.weights})
        with writing(file, UNWRITTEN), replacing(file) as partial:
            with pq.ParquetWriter(partial, _schema(card)) as writer:
                for clip_id in clips:
                    clip = opened.clip(clip_id)
                    try:
                        audio, rate = load_mono(clip)
                        encoded = coder.encode(audio[np.newaxis], rate)
                        tokens = np.asarray(encoded.payload)
                        counter.add(tokens, encoded.bits or card.bits_of(tokens.shape[1]), audio.size / rate)
                    except (PipelineError, CodecUnusable):
                        raise
                    except Exception as error:  # noqa: BLE001 - one clip is lost, whatever a codec raises
                        failed[clip_id] = f"{type(error).__name__}: {reason_of(error, clip)}"
                    else:
                        writer.write_table(_row(card, opened.name, clip_id, encoded))
                    progress.advance()
            if len(failed) == len(clips):
                raise PipelineError(
                    f"{card.name}: no clip of {opened.name} could be encoded: {next(iter(failed.values()))}"
                )
    finally:
        coder.close()
    return Exported(file, counter.statistics(), failed)


def decode_tokens(
    file: Place,
    out: Path,
    *,
    codec: str | None = None,
    device: str = "auto",
    options: CodecOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
) -> Decoded:
    """Decode every row of ``file`` to ``out/<clip>.flac``, mono, as resynth writes it.

    Raises PipelineError for a file of another kind, where ``codec`` or the weights are not those that encoded it, where
    every row fails and where ``out`` cannot be written; CodecUnusable where the codec's worker dies repeatedly.
    """
    table, card = _open(file)
    name = codec or _in_catalogue(file, card)
    refuse_device(device, [card_of(name)])
    check_options_apply(options, [card_of(name)])
    make_ready([name], options, device, progress or SilentProgress())
    own, options = configure(name, options)
    if own.name != card.name:
        raise PipelineError(f"{file} holds tokens of {card.name}, not of {own.name}")
    progress = progress or SilentProgress()
    progress.start(f"{own.name} from {file.name}", table.metadata.num_rows, 0)
    files, failed = list[Path](), dict[str, str]()
    make_folder(out)
    coder = open_codec(name, chosen_device(name, device), options)
    try:
        _refuse_other_weights(file, card, coder.card)
        for row in _rows(file, table, coder.card):
            try:
                sound = to_mono(coder.decode(_encoded(coder, row)))
                written = out / file_name(row.clip)
                with writing(written):
                    write_audio(written, sound, row.sampling_rate)
            except (PipelineError, CodecUnusable):
                raise
            except Exception as error:  # noqa: BLE001 - one clip is lost, whatever a codec raises, or FLAC of its rate
                failed[row.clip] = f"{type(error).__name__}: {reason_of(error)}"
            else:
                files.append(written)
            progress.advance()
    finally:
        coder.close()
    if failed and not files:
        raise PipelineError(f"{own.name}: no clip of {file} could be decoded: {next(iter(failed.values()))}")
    return Decoded(files, failed)


def _schema(card: Card) -> pa.Schema:
    import pyarrow as pa

    # int32: the largest codebook of the catalogue has 250,047 entries
    texts = [(name, pa.string()) for name in ("clip", "dataset", "codec")]
    numbers = [(name, pa.int32()) for name in ("codebooks", "frames")]
    length = [("samples", pa.int64()), ("sampling_rate", pa.int32()), ("channels", pa.int32())]
    columns = [*texts, *numbers, ("tokens", pa.list_(pa.int32())), ("side", pa.binary()), *length]
    return pa.schema(columns, metadata={CARD_KEY: card.model_dump_json().encode()})


def _row(card: Card, dataset: str, clip: str, encoded: Encoded) -> pa.Table:
    import pyarrow as pa

    tokens = np.asarray(encoded.payload)
    row = _TokenRow(
        clip, dataset, card.name, tokens.shape[0], tokens.shape[1], tokens.ravel(), encoded.side, encoded.samples,
        encoded.sampling_rate, encoded.channels,
    )  # fmt: skip
    return pa.Table.from_pylist([row._asdict()], schema=_schema(card))


def _open(file: Place) -> tuple[Any, Card]:
    """Open a file of tokens and read its card."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(readable(file))
        card = Card.model_validate_json((table.schema_arrow.metadata or {})[CARD_KEY])
    except (pa.ArrowException, OSError, KeyError, ValidationError) as error:
        said = "it has no card of a codec" if isinstance(error, KeyError | ValidationError) else error
        raise PipelineError(f"{file} is no token file ({said}): expected a file of `tokens export`") from error
    # equals() compares names and types, not metadata, unless asked to
    if not table.schema_arrow.equals(_schema(card)):
        raise PipelineError(f"{file} is damaged: expected the columns of `tokens export`, got others; export it again")
    return table, card


def _in_catalogue(file: Place, card: Card) -> str:
    """Return the name of the codec that made ``file``. Raises PipelineError for one of the user's own file."""
    if card.name not in names():
        raise PipelineError(
            f"{file} holds tokens of {card.name}, which is no codec of the catalogue: name the file that it comes from "
            "with --codec path/to/file.py:Class"
        )
    return card.name


def _refuse_other_weights(file: Place, card: Card, own: Card) -> None:
    """Refuse tokens of other weights, which would decode to other audio without an error."""
    before, now = ((its.weights.sha256, its.weights.config_sha256) if its.weights else None for its in (card, own))
    if before != now:
        raise PipelineError(
            f"{file} was made with other weights of {card.name}: {describe_weights(card.weights)}, "
            f"here {describe_weights(own.weights)}; name those with --weights, or leave it out for the card's own"
        )


def _rows(file: Place, table: Any, card: Card) -> Iterator[_TokenRow]:
    """Yield the rows with tokens ``(codebooks, frames)``. Raises PipelineError for a damaged file."""
    import pyarrow as pa

    seen = set[str]()
    try:
        # a row holds all tokens of a clip: one at a time keeps memory at one clip
        for batch in table.iter_batches(batch_size=1):
            for columns in batch.to_pylist():
                row = _TokenRow(**columns)
                yield row._replace(tokens=_tokens(row, card, seen))
                seen.add(row.clip)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise PipelineError(f"{file} is damaged: {error}; export it again") from error


def _tokens(row: _TokenRow, card: Card, seen: Container[str]) -> NDArray[np.int32]:
    """Return tokens ``(codebooks, frames)``. Raises ValueError where they are not those of the card's codebooks."""
    sizes = card.codebook_entries or ()
    given = row._asdict()
    wrong = {name for name, value in given.items() if value is None}
    wrong |= {name for name in {"frames", "samples", "sampling_rate", "channels"} - wrong if given[name] < 1}
    wrong |= {name for name, own in (("codec", card.name), ("codebooks", len(sizes))) if given[name] != own}
    if wrong:
        said = ", ".join(f"{name} {given[name]!r}" for name in given if name in wrong)
        raise ValueError(f"{row.clip}: expected a value of {card.name} in each column, got {said}")
    if row.clip in seen:  # its sound would replace that of the first
        raise ValueError(f"{row.clip}: expected each clip once, got it again")
    if len(row.tokens) != len(sizes) * row.frames:
        raise ValueError(f"{row.clip}: expected {len(sizes)} x {row.frames} tokens, got {len(row.tokens)}")
    tokens = np.array(row.tokens, dtype=np.int32).reshape(len(sizes), row.frames)
    for codebook, (found, size) in enumerate(zip(tokens, sizes, strict=True)):
        if found.size and not 0 <= found.min() <= found.max() < size:
            raise ValueError(
                f"{row.clip}: expected tokens from 0 to {size - 1} in codebook {codebook}, got {found.min()} to "
                f"{found.max()}"
            )
    return tokens


def _encoded(coder: Codec, row: _TokenRow) -> Encoded:
    """Return the encoder's result from a row."""
    bits = coder.card.bits_of(row.frames) + 8 * len(row.side)
    return Encoded(np.asarray(row.tokens), bits, row.samples, row.sampling_rate, row.channels, side=row.side)
