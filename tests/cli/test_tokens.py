"""``tokens export`` and ``tokens decode``: the sound that comes back is what resynth makes."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
import torch
from support.codecs.checkpoints import checkpoint, save_checkpoint
from support.limits import limit
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3

from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call
from codec_superb.pipeline.resynthesis.tokens import Exported, export_tokens
from codec_superb.pipeline.runs.folder import RunFolder

__all__ = ["s3", "s3_of_process"]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with two short clips of noise."""
    folder = tmp_path / "clips"
    folder.mkdir()
    for index in range(2):
        sound = 0.1 * np.random.default_rng(index).standard_normal(8000 + 1000 * index)
        soundfile.write(folder / f"{index}.wav", sound, 16000)
    return folder


@pytest.mark.network
@pytest.mark.sample(1, among="neural codecs by commands")
def test_tokens_go_out_and_come_back_as_resynth_has_them(
    tmp_path: Path, clips: Path, s3: S3, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a clip with its tokens; decoding them, by URL too, gives resynth's samples; the JSON has statistics."""
    torch.set_num_threads(1)  # as the workers of resynth
    name, family = "encodec_48k_3bps", "encodec_48k"
    file, out, runs = tmp_path / "tokens.parquet", tmp_path / "sound", tmp_path / "runs"
    weights = ["--weights", str(checkpoint(family)), "--device", "cpu"]
    data = ["--codec", name, "--dataset", str(clips)]
    assert call(["tokens", "export", *data, "-o", str(file), *weights, "--json"]) == 0
    statistics = json.loads(capsys.readouterr().out)["statistics"]
    rows = pq.read_table(file).to_pylist()
    assert [row["codec"] for row in rows] == [name] * 2
    assert [len(row["tokens"]) for row in rows] == [row["codebooks"] * row["frames"] for row in rows]
    assert statistics["tokens"] == sum(len(row["tokens"]) for row in rows)
    assert 0 < statistics["entropy_kbps"] <= statistics["kbps"]
    assert len(statistics["codebooks"]) == rows[0]["codebooks"]
    assert call(["tokens", "decode", str(file), "--out", str(out), *weights]) == 0
    s3.put("tokens.parquet", file.read_bytes())
    assert call(["tokens", "decode", f"{s3.url}/tokens.parquet", "--out", str(tmp_path / "there"), *weights]) == 0
    assert [path.read_bytes() for path in sorted((tmp_path / "there").iterdir())] == [
        path.read_bytes() for path in sorted(out.iterdir())
    ]
    assert call(["resynth", *data, "--category", "speech", "--out", str(runs), "--workers", "1", *weights]) == 0
    run = RunFolder(runs / name / "clips")
    for row in run.rows():
        expected, _ = soundfile.read(run.audio_path(row.clip), dtype="int32")
        got, rate = soundfile.read(out / f"{row.clip}.flac", dtype="int32")
        assert rate == 16000
        assert np.array_equal(got, expected)


@pytest.mark.sample(2, among="files of tokens")
def test_other_weights_do_not_decode_a_file(tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tokens are decoded only by the weights that made them, and by their own codec; other files are refused."""
    file = tmp_path / "tokens.parquet"
    data = ["--codec", "encodec_24k_3bps", "--dataset", str(clips), "--limit", "1", "--device", "cpu"]
    assert call(["tokens", "export", *data, "-o", str(file), "--weights", str(checkpoint("encodec"))]) == 0
    assert "perplexity" in capsys.readouterr().out
    other = save_checkpoint("encodec", tmp_path / "other", seed=1)
    back = ["tokens", "decode", str(file), "--out", str(tmp_path / "x"), "--weights"]
    assert call([*back, str(other)]) == 2
    assert "was made with other weights" in capsys.readouterr().err
    assert call([*back, str(checkpoint("encodec")), "--codec", "encodec_24k_6bps"]) == 2
    assert "holds tokens of encodec_24k_3bps, not of encodec_24k_6bps" in capsys.readouterr().err
    (tmp_path / "no.parquet").write_bytes(b"no")
    assert call(["tokens", "decode", str(tmp_path / "no.parquet"), "--out", str(tmp_path / "x")]) == 2
    assert "is no token file" in capsys.readouterr().err


@pytest.mark.sample(2, among="files of tokens")
def test_a_file_that_is_damaged_says_so(tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that changed on the way, a token that no codebook has, and one that is missing: named, and no traceback."""
    whole, file = tmp_path / "whole.parquet", tmp_path / "tokens.parquet"
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu"]
    data = ["--codec", "encodec_24k_3bps", "--dataset", str(clips), "--limit", "1"]
    assert call(["tokens", "export", *data, "-o", str(whole), *weights]) == 0
    content = bytearray(whole.read_bytes())
    content[4:60] = bytes(56)  # the first page, behind the magic number
    file.write_bytes(content)
    assert call(["tokens", "decode", str(file), "--out", str(tmp_path / "sound"), *weights]) == 2
    assert "tokens.parquet is damaged: " in capsys.readouterr().err
    table = pq.read_table(whole)
    (row,) = table.to_pylist()
    for tokens, words in (
        ([*row["tokens"][:-1], 70000], "expected tokens from 0 to "),
        (row["tokens"][:-1], " tokens, got "),
    ):
        changed = pa.Table.from_pylist([row | {"tokens": tokens}], schema=table.schema)
        pq.write_table(changed, file)
        assert call(["tokens", "decode", str(file), "--out", str(tmp_path / "sound"), *weights]) == 2
        message = capsys.readouterr().err
        assert "tokens.parquet is damaged: " in message
        assert words in message


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("column", "value"),
    [("side", None), ("samples", 0), ("sampling_rate", 0), ("channels", -1), ("clip", None), ("codec", "other")],
)
@pytest.mark.sample(2, among="files of tokens")
def test_a_row_that_no_export_writes_is_damage(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str], column: str, value: object
) -> None:
    """Values that are missing or impossible are named, and a column that is missing too."""
    file = tmp_path / "tokens.parquet"
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu"]
    data = ["--codec", "encodec_24k_3bps", "--dataset", str(clips), "--limit", "1"]
    assert call(["tokens", "export", *data, "-o", str(file), *weights]) == 0
    table = pq.read_table(file)
    pq.write_table(pa.Table.from_pylist([table.to_pylist()[0] | {column: value}], schema=table.schema), file)
    decode = ["tokens", "decode", str(file), "--out", str(tmp_path / "sound"), *weights]
    assert call(decode) == 2
    assert "expected a value of encodec_24k_3bps in each column, got " in capsys.readouterr().err
    pq.write_table(table.drop_columns([column]), file)
    assert call(decode) == 2
    assert "expected the columns of `tokens export`, got others" in capsys.readouterr().err


def test_a_folder_is_no_file_to_write(tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said before the dataset is encoded."""
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu"]
    data = ["--codec", "encodec_24k_3bps", "--dataset", str(clips)]
    assert call(["tokens", "export", *data, "-o", str(tmp_path), *weights]) == 2
    assert "expected a file to write, got the folder" in capsys.readouterr().err


def test_a_codec_without_tokens_is_refused(tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Opus has bytes and no tokens: it says so, and no file is made."""
    line = ["tokens", "export", "--codec", "opus_12k", "--dataset", str(clips), "-o", str(tmp_path / "t.parquet")]
    assert call(line) == 2
    assert "opus_12k has no tokens" in capsys.readouterr().err
    assert not (tmp_path / "t.parquet").exists()


@pytest.mark.sample(2, among="files of tokens")
def test_a_clip_that_cannot_be_encoded_is_listed(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clip of NaN costs its row, is named with its reason, and gives exit code 3; no clip at all is an error."""
    soundfile.write(clips / "bad.wav", np.full(800, np.nan), 16000, subtype="FLOAT")
    file = tmp_path / "tokens.parquet"
    line = ["tokens", "export", "--codec", "encodec_24k_3bps", "-o", str(file), "--device", "cpu", "--json"]
    line += ["--weights", str(checkpoint("encodec")), "--dataset"]
    assert call([*line, str(clips)]) == 3
    failed = json.loads(capsys.readouterr().out)["failed"]
    assert list(failed) == ["bad.wav"]
    assert "800 samples are NaN" in failed["bad.wav"]
    assert str(tmp_path) not in failed["bad.wav"]
    assert len(pq.read_table(file)) == 2
    for good in clips.glob("[01].wav"):
        good.unlink()
    assert call([*line, str(clips)]) == 2
    assert "no clip of clips could be encoded" in capsys.readouterr().err


class _Beside:
    """Does something else when the first clip is done."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.done = list[object]()

    def start(self, label: str, total: int, done: int = 0) -> None:
        """Nothing to do."""

    def advance(self, count: int = 1) -> None:
        """Do it, once."""
        if not self.done:
            self.done.append(self.work())

    def message(self, text: str) -> None:
        """Nothing to do."""


@pytest.mark.sample(1, among="places for tokens")
def test_two_exports_to_one_file_do_not_mix(tmp_path: Path, clips: Path) -> None:
    """Each reports its own figures; the last to finish leaves its file, whole, and nothing else is left."""
    file = tmp_path / "out" / "tokens.parquet"
    name, options = "encodec_24k_3bps", CodecOptions(str(checkpoint("encodec")))

    def other() -> Exported:
        done = export_tokens(name, str(clips), file, device="cpu", options=options, limit=1)
        assert len(pq.read_table(file)) == 1
        return done

    beside = _Beside(other)
    last = export_tokens(name, str(clips), file, device="cpu", options=options, progress=beside)
    (first,) = beside.done
    assert isinstance(first, Exported)
    assert (first.statistics.clips, last.statistics.clips) == (1, 2)
    assert len(pq.read_table(file)) == 2
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.sample(1, among="places for tokens")
def test_a_full_disk_is_named_and_so_is_what_there_is(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export that finds no room leaves nothing, not even a part, and says so; the file of before stays."""
    file, out = tmp_path / "out" / "tokens.parquet", tmp_path / "sound"
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu"]
    export = ["tokens", "export", "--codec", "encodec_24k_3bps", "--dataset", str(clips), "-o", str(file), *weights]
    words = "no space to write {}: File too large; {}: free space and run it again"
    for content in (None, b"of yesterday"):
        if content is not None:
            file.write_bytes(content)
        with limit(resource.RLIMIT_FSIZE, 100):
            assert call(export) == 2
        assert words.format(file, "nothing was written") in capsys.readouterr().err
        assert [path.read_bytes() for path in file.parent.iterdir()] == ([] if content is None else [content])
    assert call(export) == 0
    capsys.readouterr()
    with limit(resource.RLIMIT_FSIZE, 100):
        assert call(["tokens", "decode", str(file), "--out", str(out), *weights]) == 2
    assert words.format(out / "0.wav.flac", "what is finished is kept") in capsys.readouterr().err
    assert not list(out.iterdir())


@pytest.mark.sample(1, among="places for tokens")
def test_a_place_where_nothing_can_be_written_is_named(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that cannot be created, and one in which no file can be: the place, the system's reason, exit code 2."""
    file = tmp_path / "tokens.parquet"
    weights = ["--weights", str(checkpoint("encodec")), "--device", "cpu"]
    export = ["tokens", "export", "--codec", "encodec_24k_3bps", "--dataset", str(clips), *weights, "-o"]
    reason = "No such file or directory; nothing was written: name another place"
    for place, named in (("/proc/nothing/t.parquet", "/proc/nothing"), ("/proc/t.parquet", "/proc/t.parquet")):
        assert call([*export, place]) == 2
        assert f"cannot write {named}: {reason}" in capsys.readouterr().err
    assert call([*export, str(file)]) == 0
    capsys.readouterr()
    for place, named in (("/proc/nothing", "/proc/nothing"), ("/proc", "/proc/0.wav.flac")):
        assert call(["tokens", "decode", str(file), "--out", place, *weights]) == 2
        assert f"cannot write {named}: No such file or directory; what is finished" in capsys.readouterr().err
