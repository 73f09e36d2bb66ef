"""Encoders of strangers: what runs unchanged, and what the check says of the faults that people make."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item, Sound
from codec_superb.applications.xares.chat import encoder_named
from codec_superb.applications.xares.encoder_contract import check_encoder, find_encoder, make_encoder

GOOD = """
import torch

class ConvEncoder(torch.nn.Module):
    def __init__(self, width=16, slope=1.0):
        super().__init__()
        self.output_dim = width
        self.conv = torch.nn.Conv1d(1, width, 320, stride=320)
        self.drop = torch.nn.Dropout(0.5)
        self.norm = torch.nn.BatchNorm1d(width)
        self.slope = slope

    def forward(self, audio, audio_attention_mask=None):
        frames = self.norm(self.drop(self.conv(audio[:, None]) * self.slope)).transpose(1, 2)
        if audio_attention_mask is None:
            return frames, None
        lengths = audio_attention_mask.sum(dim=1) // 320
        return frames, (torch.arange(frames.shape[1])[None] < lengths[:, None]).long()
"""
FAULTS = {
    "return frames, None\n        lengths": (
        "return frames\n        lengths", "expected a pair of frames and mask, got Tensor",
    ),
    "self.output_dim = width": (
        "self.output_dim = width + 1", r"frames of shape \(3, frames, 17\), got shape \(3, 156, 16\)",
    ),
    "(self, audio, audio_attention_mask=None)": ("(self, audio)", "expected two arguments, audio and mask"),
    ".sum(dim=1) // 320": (".sum(dim=1) // 640", "the mask of a whole sound leaves out its end"),
    "self.norm(self.drop(self.conv(audio[:, None]) * self.slope))": (
        "torch.log(self.conv(audio[:, None]) * 0)", "expected finite frames of noise, got NaN",
    ),
    "self.norm(self.drop(": ("(torch.randn(1) * (", "the same sound twice has two answers"),
    "< lengths[:, None]).long()": ("< lengths[:, None]).long()[:, :-1]", "expected a mask of shape"),
    "(torch.arange(frames.shape[1])[None] < lengths[:, None]).long()": (
        "torch.zeros(frames.shape[:2])", "keeps no frame|keeps 0 of",
    ),
    "frames = self.norm(": ("self.training = True\n        frames = self.norm(", "encoding changed the mode"),
    "self.conv(audio[:, None]) * self.slope": (
        "self.conv(audio[:, None]) / audio.abs().mean()", "other frames beside a longer one",
    ),
}  # fmt: skip


def _write(folder: Path, text: str = GOOD) -> Path:
    file = folder / "my_encoder.py"
    file.write_text(text)
    return file


def test_an_encoder_written_for_xares_llm_has_no_fault_and_gives_frames(tmp_path: Path) -> None:
    """Dropout and batch statistics are switched off, the mask cuts, two loads of a file are one encoder."""
    file = _write(tmp_path)
    assert list(check_encoder(make_encoder(str(file)))) == []
    backend = encoder_named(str(file))
    model = backend.prepare()
    assert model.name == "encoder-file:ConvEncoder"
    assert model.settings["hop_s"] == 0.02
    assert model == encoder_named(f"{file}:ConvEncoder").prepare() or model.sha256
    backend.load(model, "cpu", 1)
    sound = Sound(Item("a", "speech"), np.sin(np.arange(16000) / 9).astype(np.float32))
    one, two = backend.predict([sound, sound])
    assert isinstance(one, np.ndarray)
    assert isinstance(two, np.ndarray)
    assert one.shape == (50, 16)
    np.testing.assert_array_equal(one, two)
    backend.close()


@pytest.mark.parametrize("right", FAULTS, ids=[said.split("|")[0][:40] for _, said in FAULTS.values()])
def test_each_fault_is_a_sentence(tmp_path: Path, right: str) -> None:
    """What was expected, and what came; the published checker sees five of these ten."""
    wrong, said = FAULTS[right]
    assert right in GOOD
    faults = list(check_encoder(make_encoder(str(_write(tmp_path, GOOD.replace(right, wrong, 1))))))
    assert len(faults) >= 1
    assert any(re.search(said, fault) for fault in faults), faults


def test_arguments_are_json(tmp_path: Path) -> None:
    """They change the identity with the weights."""
    file, arguments = _write(tmp_path), tmp_path / "arguments.json"
    arguments.write_text(json.dumps({"width": 8}))
    assert make_encoder(str(file), arguments).output_dim == 8
    model = encoder_named(f"{file},arguments={arguments}").prepare()
    assert model.settings["output_dim"] == 8
    assert model.sha256 != encoder_named(str(file)).prepare().sha256
    arguments.write_text("[1")
    with pytest.raises(ApplicationError, match="expected a JSON object of arguments"):
        make_encoder(str(file), arguments)


def test_a_file_holds_one_encoder(tmp_path: Path) -> None:
    """Two are asked to be named; none is said; a name that is not there lists what is."""
    two = _write(tmp_path, GOOD + "\n\nclass OtherEncoder(ConvEncoder):\n    pass\n")
    with pytest.raises(ApplicationError, match="got ConvEncoder, OtherEncoder; name one"):
        find_encoder(str(two))
    assert find_encoder(f"{two}:OtherEncoder").__name__ == "OtherEncoder"
    with pytest.raises(ApplicationError, match="expected a class Third, found none; it has ConvEncoder, OtherEncoder"):
        find_encoder(f"{two}:Third")
    with pytest.raises(ApplicationError, match="got none"):
        find_encoder(str(_write(tmp_path, "x = 1\n")))
    with pytest.raises(ApplicationError, match="no file"):
        find_encoder(str(tmp_path / "absent.py"))
    with pytest.raises(ApplicationError, match="expected a module or a file"):
        find_encoder("no.such.module")


def test_what_is_no_encoder_is_refused(tmp_path: Path) -> None:
    """A class that is no module, one without output_dim, one that cannot be made."""
    for text, said in (
        ("class AnEncoder:\n    output_dim = 3\n", "expected a torch.nn.Module, got AnEncoder"),
        ("import torch\nclass AnEncoder(torch.nn.Module):\n    pass\n", "expected an attribute output_dim"),
        ("class AnEncoder:\n    def __init__(self):\n        1 / 0\n", "cannot be made: ZeroDivisionError"),
    ):
        with pytest.raises(ApplicationError, match=said):
            make_encoder(str(_write(tmp_path, text)))
