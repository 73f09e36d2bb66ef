"""``tokens show``: everything about a codec's tokens on a file or a folder, for people, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import soundfile
from support.audio import speech_like
from support.codecs.frame_codecs import COARSE, FINE, HERE

from codec_superb.applications.tokens.costs import SIZES, cost
from codec_superb.cli.main import call

LEVELS, SLOW = f"{HERE}:Levels", f"{HERE}:SlowLevels"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give three clips."""
    found = tmp_path_factory.mktemp("sound")
    for number in range(3):
        soundfile.write(found / f"c{number}.wav", speech_like(0.8, 16_000, seed=number), 16_000)
    return found


def test_a_folder_is_shown_for_each_codec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has what is known of the codec; two codecs stand side by side, once each, in CSV one below the other."""
    assert call(["tokens", "show", str(folder), "--codec", LEVELS, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["clips"], found["failed"], found["random"]) == (3, {}, False)
    assert [book["entries"] for book in found["books"]] == [COARSE, FINE]
    assert (found["frame_rate"], found["tokens_per_second"]) == pytest.approx((100, 200))
    assert found["entropy_kbps"] < found["nominal_kbps"] == pytest.approx(found["kbps"], rel=0.01)
    assert found["same"]["recode_2"] == found["same"]["shift_frame"] == 100
    assert found["trained_on_others"] is True
    assert {"stft", "mel", "pesq", "stoi"} <= found["metrics"].keys()
    three = [part for name in (LEVELS, SLOW, LEVELS) for part in ("--codec", name)]
    assert call(["tokens", "show", str(folder), *three, "--csv", "--limit", "1"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["codec"] for row in rows] == ["levels", "slow_levels"]
    assert {row["trained_on_others"] for row in rows} == {"False"}
    assert float(rows[0]["same.recode_2"]) == 100


def test_a_clip_of_no_frame_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named with the reason, and the others are shown."""
    sound = speech_like(0.3, 16_000)
    for name, samples in (("short", 100), ("long", sound.size)):
        soundfile.write(tmp_path / f"{name}.wav", sound[:samples], 16_000)
    assert call(["tokens", "show", str(tmp_path), "--codec", f"{HERE}:WholeFrames", "--json"]) == 3
    said = capsys.readouterr()
    assert "short.wav: CodingFailed: the clip has 100 samples at 16000 Hz: too short for one frame" in said.err
    assert [of["clips"] for of in json.loads(said.out)] == [1]


def test_a_file_is_a_folder_of_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table says that no other clip taught the coder's model."""
    assert call(["tokens", "show", str(folder / "c0.wav"), "--codec", LEVELS]) == 0
    said = capsys.readouterr().out
    assert "(no other clips)" in said
    assert "same: by chance" in said
    assert call(["tokens", "show", str(folder), "--codec", LEVELS, "--codec", "opus_12k"]) != 0
    said = capsys.readouterr().err
    assert "opus_12k has no tokens" in said
    assert "to do" not in said  # before the first codec has worked
    assert call(["tokens", "show", str(folder), "--codec", LEVELS, "--model", "gpt"]) != 0
    assert "expected a model of qwen2.5-0.5b" in capsys.readouterr().err


def test_memory_of_a_minute_is_that_of_the_configuration() -> None:
    """Llama 3.1 8B keeps 128 KiB a position in bfloat16; 8 codebooks at 12.5 Hz are 6,000 positions a minute."""
    model = SIZES["llama-3.1-8b"]
    assert model.bytes_per_position == 128 * 1024
    found = cost(12.5, 8, model)
    assert found.tokens_per_minute == 6000
    assert found.cache_mb_per_minute == pytest.approx(6000 * 131_072 / 1e6)
    assert found.cache_mb_per_minute_frames == pytest.approx(found.cache_mb_per_minute / 8)
    assert (found.context_of_an_hour, found.context_of_an_hour_frames) == (360_000, 45_000)
