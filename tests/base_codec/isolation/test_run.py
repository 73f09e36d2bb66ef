"""Isolated codecs in a run: one dead worker is one failed row, three in a row end the run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.codecs import isolated
from support.codecs.isolated import make_clips
from support.pipeline.run_codecs import HERE

from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.options import DEFAULT_OPTIONS
from codec_superb.pipeline.resynthesis.clip import prepare_codec
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

TINY, IMPATIENT, TRAINED = (f"{Path(isolated.__file__).resolve()}:{name}" for name in ("Tiny", "Impatient", "Trained"))


def test_each_fault_is_one_row_with_its_last_words(tmp_path: Path) -> None:
    """Killed, hung and out of memory: three failed rows say how, the others are done, on one worker of the pipeline."""
    clips = make_clips(tmp_path / "clips", [1, 0, 3, 0, 5, 0])
    (outcome,) = resynthesise([IMPATIENT], [str(clips)], out=tmp_path / "runs", workers=1)
    rows = {row.clip: row for row in RunFolder(outcome.path).rows()}
    assert [rows[f"clip{number}.wav"].status for number in range(6)] == ["failed", "ok"] * 3
    for number, words in ((0, "about to be killed"), (2, "no answer within 5 s"), (4, "MemoryError")):
        row = rows[f"clip{number}.wav"]
        assert (row.stage, row.error_type) == ("encode", "WorkerDied")
        assert words in row.error
    assert rows["clip1.wav"].bits == 16 * 4000


@pytest.mark.sample(1, among="isolated runs lose clips")
def test_three_in_a_row_end_the_run_and_keep_what_is_finished(tmp_path: Path) -> None:
    """The run stops and says so; a second call takes up what was finished."""
    clips = make_clips(tmp_path / "clips", [0, 2, 2, 2, 0])
    with pytest.raises(CodecUnusable, match="tiny: its worker died 3 times in a row, the run stops here"):
        resynthesise([TINY], [str(clips)], out=tmp_path / "runs", workers=1)
    for number in (1, 2, 3):
        (clips / f"clip{number}.wav").unlink()
    (again,) = resynthesise([TINY], [str(clips)], out=tmp_path / "runs", workers=1)
    assert again.complete


def test_auto_is_the_cpu_for_an_isolated_codec_beside_one_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch sees a graphics card, a neural codec gets it; an isolated one opens and stays on the CPU."""
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    devices = []
    for codec in (f"{HERE}:Neural", TRAINED, f"{HERE}:Neural", TRAINED):
        (prepared,) = prepare_codec((codec, "auto", DEFAULT_OPTIONS))
        devices.append(prepared.device)
    assert devices == ["cuda", "cpu"] * 2
