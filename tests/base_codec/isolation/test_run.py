"""Isolated codecs in a run: one dead worker is one failed row, three in a row end the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import support_isolated

from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.pipeline.resynth import resynthesise
from codec_superb.pipeline.run_folder import RunFolder

TINY, IMPATIENT = (f"{Path(support_isolated.__file__).resolve()}:{name}" for name in ("Tiny", "Impatient"))


def make_clips(folder: Path, faults: list[int]) -> Path:
    """Write clips whose lengths ask for faults."""
    folder.mkdir()
    for number, fault in enumerate(faults):
        noise = 0.1 * np.random.default_rng(number).standard_normal(4000 + fault)
        soundfile.write(folder / f"clip{number}.wav", noise, 16000, subtype="PCM_16")
    return folder


def test_each_fault_is_one_row_with_its_last_words(tmp_path: Path) -> None:
    """Killed, hung and out of memory: three failed rows say how, the others are done, on one worker of the pipeline."""
    clips = make_clips(tmp_path / "clips", [1, 0, 3, 0, 5, 0])
    (outcome,) = resynthesise([IMPATIENT], [str(clips)], out=tmp_path / "runs", workers=1)
    rows = {row.clip: row for row in RunFolder(outcome.path).rows()}
    assert [rows[f"clip{number}.wav"].status for number in range(6)] == ["failed", "ok"] * 3
    for number, words in ((0, "about to be killed"), (2, "no answer within 1 s"), (4, "MemoryError")):
        row = rows[f"clip{number}.wav"]
        assert (row.stage, row.error_type) == ("encode", "WorkerDied")
        assert words in row.error
    assert rows["clip1.wav"].bits == 16 * 4000


def test_three_in_a_row_end_the_run_and_keep_what_is_finished(tmp_path: Path) -> None:
    """The run stops and says so; a second call takes up what was finished."""
    clips = make_clips(tmp_path / "clips", [0, 2, 2, 2, 0])
    with pytest.raises(CodecUnusable, match="tiny: its worker died 3 times in a row, the run stops here"):
        resynthesise([TINY], [str(clips)], out=tmp_path / "runs", workers=1)
    for number in (1, 2, 3):
        (clips / f"clip{number}.wav").unlink()
    (again,) = resynthesise([TINY], [str(clips)], out=tmp_path / "runs", workers=1)
    assert again.complete
