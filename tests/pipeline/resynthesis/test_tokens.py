"""Files of tokens that no export wrote, by a codec of a file: what cannot be decoded, and what costs one clip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from support.audio import speech_like
from support.codecs.frame_codecs import HERE

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.tokens import Decoded, decode_tokens, export_tokens

CODEC = f"{HERE}:Levels"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """Export two clips."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "data").mkdir()
    for number in range(2):
        soundfile.write(folder / "data" / f"c{number}.wav", speech_like(0.2, 16_000, seed=number), 16_000)
    return pq.read_table(export_tokens(CODEC, str(folder / "data"), folder / "tokens.parquet").file)


def decoded(table: pa.Table, folder: Path, **changed: Any) -> Decoded:
    """Decode the file with other values in its first row."""
    first, second = table.to_pylist()
    file = folder / "changed.parquet"
    pq.write_table(pa.Table.from_pylist([first | changed, second], schema=table.schema), file)
    return decode_tokens(file, folder / "sound", codec=CODEC)


def test_a_rate_that_no_flac_has_costs_its_clip(table: pa.Table, tmp_path: Path) -> None:
    """FLAC ends at 655,350 Hz: the reason stands beside the clip, and the other one is written."""
    done = decoded(table, tmp_path, sampling_rate=768_000)
    assert [file.name for file in done.files] == ["c1.wav.flac"]
    assert list(done.failed) == ["c0.wav"]
    assert "sample rate" in done.failed["c0.wav"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clip": "c1.wav"}, "c1.wav: expected each clip once"),
        ({"codebooks": 7}, "in each column, got codebooks 7; export"),
        ({"samples": None, "channels": 0}, "in each column, got samples None, channels 0; export"),
    ],
)
def test_rows_that_contradict_each_other_are_damage(
    table: pa.Table, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    """A clip that would replace another one's sound, another number of codebooks, values that are missing."""
    with pytest.raises(PipelineError, match=words):
        decoded(table, tmp_path, **changed)


def test_a_file_without_a_readable_card_is_none_of_tokens(table: pa.Table, tmp_path: Path) -> None:
    """In one sentence, whether the card is missing or damaged."""
    for metadata in ({}, {b"codec_superb.card": b"{"}):
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "x.parquet")
        with pytest.raises(PipelineError, match=r"is no token file \(it has no card of a codec\): expected"):
            decode_tokens(tmp_path / "x.parquet", tmp_path / "sound", codec=CODEC)
