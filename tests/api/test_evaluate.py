"""``evaluate``: whatever is given goes through the pipeline of the command line, and leaves no trace here."""

from __future__ import annotations

import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.pipeline.run_codecs import HERE, Plain
from support.pipeline.runs import contents, speech_folder

import codec_superb as cs
from codec_superb.api.live import identity
from codec_superb.base_codec import live
from codec_superb.base_codec.adapting import as_codec
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Packets
from codec_superb.data_manifests import DatasetError
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis import clip
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score

QUICK: dict[str, Any] = {"metrics": ["mel", "stoi"], "progress": False, "workers": 0}
FIRST_CALL = """
import os, random, signal, sys
state = random.getstate()
import codec_superb as cs
result = cs.evaluate(sys.argv[1], sys.argv[2], metrics=["mel"], progress=False, workers=0, limit=1)
print(random.getstate() == state, "rich" in sys.modules, result.homes[0].path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
TYPED = Path(__file__).parents[1] / "typed/python_user.py"


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of four clips."""
    return speech_folder(tmp_path_factory.mktemp("sound") / "clips", 4, seconds=0.6)


class Quantiser(torch.nn.Module):
    """Sixteen steps of the amplitude by a learned scale; dropout and noise betray training mode and the generator."""

    def __init__(self, scale: float = 8.0) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(scale))
        self.frozen = torch.nn.Dropout(0.5).eval()
        self.dropout = torch.nn.Dropout(0.5)
        self.sampling_rate = 16000

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Quantise ``(1, 1, samples)``."""
        made = torch.round(self.dropout(sound) * self.scale) / self.scale + 1e-6 * torch.randn_like(sound)
        return made + float(np.random.rand() + random.random()) * 1e-6  # noqa: NPY002 - what models draw from


class Caching(Quantiser):
    """Makes a table when it is needed first, and keeps it, as those of positions are."""

    table: torch.Tensor | None = None

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Quantise ``(1, 1, samples)``."""
        if self.table is None:
            self.table = torch.ones(1)
        return super().forward(sound * self.table)


def generators() -> tuple[Any, ...]:
    """Return the states of the generators that models draw from."""
    return torch.get_rng_state().tolist(), repr(np.random.get_state()), random.getstate()  # noqa: NPY002 - these


@pytest.mark.sample(1, among="codecs given to evaluate")
def test_a_codec_given_by_name_has_the_rows_of_the_command_line(clips: Path, tmp_path: Path) -> None:
    """Worker processes, live instance, class: the same rows and the same sound as the stages that ``bench`` calls."""
    name = f"{HERE}:Plain"
    (outcome,) = resynthesise([name], [str(clips)], out=tmp_path / "runs", workers=1)
    score([outcome.path], metrics=["mel", "stoi"], workers=1)
    expected = contents(outcome.path)
    for given, workers in ((name, 1), (Plain(Plain.card), 0), (Plain, 0)):
        result = cs.evaluate(given, clips, **{**QUICK, "workers": workers})
        assert contents(result.folders[0]) == expected
        assert RunFolder(result.folders[0]).info().metrics == RunFolder(outcome.path).info().metrics
    cs.evaluate(name, clips, **QUICK)
    assert clip._HOLDER.codec is None  # a call that coded in this process has let go of the codec


@pytest.mark.sample(1, among="codecs given to evaluate")
def test_a_module_is_left_as_it_was(clips: Path) -> None:
    """Evaluation mode and no gradients for the time of the call; modes, parameters and generators as before."""
    module = Caching().train()
    module.frozen.eval()
    modes: list[tuple[bool, bool, bool]] = []
    module.register_forward_hook(
        lambda *_: modes.append((module.training, module.dropout.training, torch.is_grad_enabled()))
    )
    torch.manual_seed(1)
    before = generators()
    result = cs.evaluate(module, clips, **QUICK)
    assert generators() == before
    assert module.scale.item() == 8.0
    assert module.table is not None
    (module.table * module.scale).backward()  # what the call left in the module can be trained with
    assert set(modes) == {(False, False, False)}
    assert (module.training, module.dropout.training, module.frozen.training) == (True, True, False)
    assert torch.is_grad_enabled()
    assert result.flat()["failed"] == 0
    assert not live._REGISTERED


def test_a_module_that_was_trained_further_is_another_run(clips: Path, tmp_path: Path) -> None:
    """With ``out`` finished clips are used again, and never those of other parameters or of another setting."""
    module = Quantiser()

    def coded() -> int:
        calls: list[int] = []
        hook = module.register_forward_hook(lambda *_: calls.append(1))
        try:
            cs.evaluate(module, clips, out=tmp_path, name="mine", **QUICK)
        finally:
            hook.remove()
        return len(calls)

    assert coded() > 0
    assert coded() == 0
    with torch.no_grad():
        module.scale += 1
    assert coded() > 0
    module.depth = 3  # type: ignore[assignment]  # a setting of the user's
    assert coded() > 0
    assert coded() == 0


@pytest.mark.parametrize(
    ("setting", "other", "same"),
    [
        (np.arange(5000), np.arange(5000), True),
        (np.arange(5000), np.r_[np.arange(2500), 0, np.arange(2501, 5000)], False),
        ([1.0], [1.0], True),
        ([torch.tensor(1.0)], [torch.tensor(1.000001)], False),
        ({"table": np.arange(5000)}, {"table": np.r_[np.arange(2500), 0, np.arange(2501, 5000)]}, False),
    ],
)
def test_two_modules_are_one_only_where_all_is_equal(setting: Any, other: Any, same: bool) -> None:
    """Texts of arrays are rounded and cut: what has some inside of something is never taken for another."""
    first, second = Quantiser(), Quantiser()
    first.setting, second.setting = setting, other
    assert (identity(as_codec(first)) == identity(as_codec(second))) is same


def test_a_function_runs_anew(clips: Path, tmp_path: Path) -> None:
    """A function cannot be told from another: its earlier rows are never used; a failing clip costs that clip."""
    calls: list[int] = []

    def resynthesise_badly(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
        calls.append(audio.size)
        if audio.size == max(calls):
            raise ValueError("too long")
        return audio

    calls.append(10**9)
    first = cs.evaluate(resynthesise_badly, clips, out=tmp_path, **QUICK)
    count = len(calls)
    calls[0] = 0
    again = cs.evaluate(resynthesise_badly, clips, out=tmp_path, **QUICK)
    assert len(calls) > count
    assert first.flat()["failed"] == 0
    assert again.flat()["failed"] > 0
    assert "too long" in again.failures[0].reason
    assert "too long" in repr(again)


class Together(Plain):
    """Remembers how many clips it was given at once."""

    def __init__(self) -> None:
        super().__init__(Plain.card)
        self.sizes: list[int] = []

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        """Encode one after the other."""
        self.sizes.append(len(audios))
        return super()._encode_batch(audios)


def test_a_live_codec_gets_batches(clips: Path) -> None:
    """A codec that gains from them is given batches by seconds of sound, in this process, and stays open."""
    codec = Together()
    together = cs.evaluate(codec, clips, batch=1.3, **QUICK)
    assert codec.sizes == [2, 2]
    alone = cs.evaluate(codec, clips, **QUICK)
    assert codec.sizes == [2, 2]
    assert contents(together.folders[0]) == contents(alone.folders[0])


def test_flat_is_for_a_logger(clips: Path) -> None:
    """Plain numbers by plain names, NaN for what has no value, and a prefix where one is asked for."""
    flat = cs.evaluate(Plain, clips, **{**QUICK, "metrics": ["mel"]}).flat("valid/")
    assert set(flat) == {"valid/mel", "valid/kbps", "valid/clips", "valid/failed", "valid/score"}
    assert all(type(value) in {int, float} for value in flat.values())
    assert flat["valid/clips"] == 4
    assert np.isnan(flat["valid/score"])  # of one metric there is none
    assert abs(flat["valid/kbps"] - 256) < 1  # 16 bits at 16 kHz


def test_what_cannot_be_evaluated_is_said(clips: Path) -> None:
    """Options of objects are none of names, and a model is not moved to another device."""
    with pytest.raises(RefusedSetting, match="a named codec has its own"):
        cs.evaluate("opus_12k", clips, name="mine")
    with pytest.raises(RefusedSetting, match="the model lies on cpu"):
        cs.evaluate(Quantiser(), clips, device="cuda")
    with pytest.raises(RefusedSetting, match="weights and dtype are of a named codec; an object has its own"):
        cs.evaluate(Quantiser(), clips, dtype="bfloat16", progress=False)
    with pytest.raises(PipelineError, match="limit"):
        cs.evaluate(Plain, clips, limit=0, progress=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda clips: cs.evaluate(Plain, clips, category="spech"), PipelineError, "speech, audio or music"),  # type: ignore[arg-type]
        (lambda clips: cs.evaluate(Plain, clips, limit=2.5), PipelineError, "whole number of clips"),  # type: ignore[arg-type]
        (lambda clips: cs.evaluate(np.abs, clips, kbps="6"), RefusedSetting, "bitrate as a number above 0, got '6'"),  # type: ignore[arg-type]
        (lambda clips: cs.evaluate(Plain, clips, workers=-1), PipelineError, "or 0 for this process alone, got -1"),
        (lambda clips: cs.evaluate([Plain, Plain], clips), RefusedSetting, "one at a time, then a"),
        (lambda clips: cs.evaluate(Plain, clips, device="gpu"), RefusedSetting, "auto, cpu or cuda, got 'gpu'"),  # type: ignore[arg-type]
        (lambda clips: cs.load([clips, clips]), PipelineError, "got a list: of several write load"),  # type: ignore[arg-type]
        (lambda _: cs.load("nix"), PipelineError, "no file or folder nix"),
        (lambda clips: cs.open_dataset(clips)[0], DatasetError, "no clip 0: a clip is taken by its id"),  # type: ignore[index]
        (lambda clips: cs.open_dataset(clips, category="spech"), PipelineError, "speech, audio or music"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_a_wrong_argument_is_answered_with_a_sentence(
    clips: Path, call: Callable[[Path], object], error: type[Exception], words: str
) -> None:
    """Never an error of Python's own."""
    with pytest.raises(error, match=words):
        call(clips)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
def test_an_object_is_not_sent_to_a_device_that_is_not_there(clips: Path) -> None:
    """It stays where it is."""
    with pytest.raises(RefusedSetting, match="no CUDA device here; leave device out, an object stays where it is"):
        cs.evaluate(lambda audio, rate: audio, clips, device="cuda")


def test_a_typed_script_of_a_user_runs(clips: Path) -> None:
    """The script that mypy reads in strict mode uses every name, and runs."""
    result = runpy.run_path(str(TYPED))["main"](str(clips))
    assert result.codecs == ("halve",)


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_first_call_draws_nothing_and_a_killed_process_leaves_nothing(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports draw from ``random`` too; the next call removes the folder of a process that is no more, and only it."""
    temporary = os.environ | {"TMPDIR": str(tmp_path)}
    program = [sys.executable, "-c", FIRST_CALL, "g711_alaw", str(clips)]
    done = subprocess.run(program, check=False, capture_output=True, text=True, env=temporary)
    assert done.returncode == -signal.SIGKILL, done.stderr
    same, drawn, folder = done.stdout.split()
    assert (same, drawn) == ("True", "True")  # rich draws when it is imported
    assert Path(folder).is_dir()
    (tmp_path / "codec_superb-mine").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alive = cs.evaluate("g711_alaw", clips, limit=1, **QUICK)
    assert not Path(folder).exists()
    cs.evaluate("g711_alaw", clips, limit=1, **QUICK)
    assert alive.folders[0].is_dir()
    kept = alive.clips[0]
    del alive
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codec_superb-mine"]
    with pytest.raises(PipelineError, match="temporary folder ended with its result: keep the result, or use out="):
        kept.resynthesis()
