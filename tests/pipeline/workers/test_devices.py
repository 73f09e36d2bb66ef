"""Where a codec runs, and that it is closed when its worker ends."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import speech_folder

from codec_superb.base_codec.options import DEFAULT_OPTIONS
from codec_superb.base_codec.registry import card
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.clip import prepare_codec
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.devices import chosen_device, refuse_device


def opened(codec: str, device: str) -> tuple[object, ...]:
    """Return device, gain from batches and weights of a codec of the tests, as its worker opened it."""
    (found,) = prepare_codec((f"{HERE}:{codec}", device, DEFAULT_OPTIONS))
    return found[:3]


@pytest.mark.parametrize(("available", "device"), [(True, "cuda"), (False, "cpu")])
def test_auto_is_the_gpu_for_a_neural_codec_where_torch_sees_one(
    monkeypatch: pytest.MonkeyPatch, *, available: bool, device: str
) -> None:
    """A stand-in for torch says what this machine may not have; a classical codec never asks it."""
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: available))
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert opened("Neural", "auto") == (device, False, None)
    assert opened("Plain", "auto") == ("cpu", False, None)


def test_auto_is_the_cpu_without_torch_and_a_named_device_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No torch is no error, and what the user names is not second-guessed."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert opened("Neural", "auto") == ("cpu", False, None)
    assert opened("Neural", "cuda") == ("cuda", False, None)


def test_a_neural_codec_of_the_cpu_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lyra's library has no CUDA: ``auto`` does not even ask torch, and ``cuda`` is refused before any work."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert chosen_device("lyra_6k", "auto") == "cpu"
    with pytest.raises(PipelineError, match=r"^lyra_6k runs on the cpu; take --device auto"):
        refuse_device("cuda", [card("opus_12k"), card("lyra_6k")])
    refuse_device("auto", [card("lyra_6k")])


@pytest.mark.usefixtures("fresh_workers")
def test_a_codec_is_closed_when_its_worker_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a codec holds (a model, a child process) is given back at the end of the command, on the stamped device."""
    monkeypatch.setenv("CLOSED_MARK", str(tmp_path / "closed"))
    clips = speech_folder(tmp_path / "clips", 1)
    (outcome,) = resynthesise([f"{HERE}:Neural"], [str(clips)], out=tmp_path / "runs", workers=1, device="cpu")
    assert (tmp_path / "closed").read_text() == "cpu"
    assert RunFolder(outcome.path).info().provenance[0].device == "cpu"
