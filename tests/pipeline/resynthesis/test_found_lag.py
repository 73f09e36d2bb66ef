"""The delay of a codec that states none is found on the first clips, removed, kept as found, and found once a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline.runs import contents, speech_folder

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecUnusable, RefusedSetting
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.data_manifests import open_dataset
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.resynthesis.found_lag import LagTask, Trial, delay_of, first_clips, try_clips
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import SilentProgress

CARD = Card(name="mine", sampling_rate=16000)
SOURCE = """
import numpy as np


def late(audio, rate):
    return np.concatenate([np.zeros(70, np.float32), 0.5 * audio])[: audio.size]


late.sampling_rate = 8000


def broken(audio, rate):
    return audio[: rate // 16]


def deadly_once(audio, rate):
    import os
    import pathlib

    died = pathlib.Path(__file__).with_name("died")
    if not died.exists():
        died.touch()
        os._exit(3)
    return audio
"""


class Listener(SilentProgress):
    """Keeps messages, and stops after some clips as Ctrl-C does."""

    def __init__(self, clips: int) -> None:
        self.said: list[str] = []
        self._left = clips

    def message(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)

    def advance(self) -> None:
        """Count a clip."""
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("lags", "delay", "said"),
    [
        ((60, 60, 61, 60), 60, "4 of its first 4 clips come 60 samples at 16000 Hz late: removed, and kept as found"),
        ((60, 60, None, 300), 60, "2 of its first 4 clips come 60 samples"),
        ((1,), 1, "1 of its first 1 clip come 1 sample at 16000 Hz late"),
        ((0, 0, 0), 0, "3 of its first 3 clips are in place: 0, found"),
        ((-40, -40, -40), 0, "come 40 samples early: left so, taken as 0"),
        ((10, 400, 3000), 0, "no lag is distinct on its first 3 clips: taken as 0; state delay_samples"),
        ((60, None, None, None), 0, "no lag is distinct"),
        ((), 0, "no lag is distinct on its first 0 clips"),
    ],
)
def test_a_delay_is_what_most_clips_agree_on(lags: tuple[int | None, ...], delay: int, said: str) -> None:
    """The median of distinct lags, where half of the clips have one and most of these are equal; else 0, and said."""
    found, text = delay_of(CARD, Trial(lags, ()))
    assert found == delay
    assert said in text


def test_one_clip_that_fails_ends_no_run_and_all_of_them_do() -> None:
    """What goes wrong with one clip costs that clip; where each fails the run ends with one sentence."""
    assert delay_of(CARD, Trial((5,), ("CodingFailed: no",)))[0] == 5
    with pytest.raises(CodecUnusable, match="mine fails on all of its first 2 clips: CodingFailed: no; mend it"):
        delay_of(CARD, Trial((), ("CodingFailed: no",) * 2))


def test_a_worker_that_dies_costs_one_clip(tmp_path: Path) -> None:
    """The others have their lags, and the reason is kept."""
    code, clips = tmp_path / "my.py", speech_folder(tmp_path / "clips", 3, seconds=0.6)
    code.write_text(SOURCE)
    dataset = open_dataset(clips)
    spec = DatasetSpec(str(clips), None, dataset.manifest_hash)
    chosen = first_clips(spec, sorted(dataset.clip_ids()))
    tasks = [LagTask(f"{code}:deadly_once", "cpu", DEFAULT_OPTIONS, spec, clip) for clip in chosen]
    with Executor(1) as pool:
        trial = try_clips(tasks, pool)
    assert trial == Trial((0, 0), ("worker process ended with exit code 3",))


def test_a_run_finds_its_delay_once_whenever_it_is_stopped(tmp_path: Path) -> None:
    """Stopped and resumed it has the rows of one that was not; a run under a condition takes the clean run's delay."""
    code, clips = tmp_path / "my.py", speech_folder(tmp_path / "clips", 5)
    code.write_text(SOURCE)

    def run(out: str, listener: Listener) -> RunFolder:
        (done, *_) = resynthesise(
            [f"{code}:late"], [str(clips)], out=tmp_path / out, conditions=[parse_condition("repeat:2", "clean")],
            options=CodecOptions(kbps=6), progress=listener, workers=1,
        )  # fmt: skip
        return RunFolder(done.path)

    whole, again = Listener(0), Listener(0)
    undisturbed = run("whole", whole)
    with pytest.raises(KeyboardInterrupt):
        run("stopped", Listener(2))
    resumed = run("stopped", again)
    assert contents(resumed.path) == contents(undisturbed.path)
    late = [said for said in whole.said if "late: removed" in said]
    what = "5 of its first 5 clips come 70 samples at 8000 Hz late: removed, and kept as found"
    assert late == [f"my_late: its delay is not declared, and {what}"]
    assert whole.said[0] == "clips: no category is stated, taken as speech; say --category audio or music if it is not"
    assert again.said == []
    conditioned = RunFolder(tmp_path / "whole" / "my_late@repeat_2" / "clips")
    for folder in (undisturbed, resumed, conditioned):
        card = folder.info().card
        assert (card.delay_samples, card.delay_source, card.bit_source) == (70, "found", "declared")
    for row in undisturbed.rows():
        assert (row.lag_samples, row.decode_s) == (0, None)
        assert row.bits == round(6000 * (row.seconds or 0))

    with pytest.raises(
        CodecUnusable,
        match=r"my_broken fails on all of its first 5 clips: my.py:broken returned .* as many as were given",
    ):
        resynthesise([f"{code}:broken"], [str(clips)], out=tmp_path / "whole", workers=1)
    with pytest.raises(RefusedSetting, match="kbps declares the bitrate of a codec that does not count its bits; opus"):
        resynthesise(["opus_12k"], [str(clips)], out=tmp_path / "whole", options=CodecOptions(kbps=6))
