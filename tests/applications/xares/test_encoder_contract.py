"""Encoders of strangers: what runs unchanged, and what the check says of the faults that people make."""

from __future__ import annotations

import json
import re
import sys
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
    "self.conv(audio[:, None])": ("self.conv(0 * audio[:, None])", "two sounds have one answer: expected frames"),
    "< lengths[:, None]).long(": (
        "< lengths[:, None]).long().mul(7", "expected a mask of 0 and 1, got numbers from 7 to 7; round it",
    ),
    "        return frames, (torch": (
        """        frames = frames / (torch.arange(frames.shape[1])[None] < lengths[:, None])[..., None]
        return frames, (torch""",
        "expected finite frames behind a padded sound",
    ),
    "        frames = self.norm": (
        "        raise SystemExit\n        frames = self.norm", "forward: it calls sys.exit; it must take",
    ),
    "  if audio_attention_mask is None": (
        "  raise OSError('two\\nlines')\n        if audio_attention_mask is None",
        r"forward: OSError: two lines \(line 15\); it must take",
    ),
    "        return frames, None": ("        return frames[:, :0], None", "expected frames of 50000 samples, got none"),
    "return frames, (torch.arange(frames.shape[1])": (
        "return {'a': 1, 'b': 2}, (torch.arange(frames.shape[1])", r"got dict",
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
    """What was expected, and what came; the published checker sees five of the first ten."""
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


@pytest.mark.parametrize(("stated", "taken"), [
    ("np.int64(width)", True), ("'16'", False), ("True", False), ("0", False), ("-16", False), ("torch.ones(2)", False),
])  # fmt: skip
def test_output_dim_is_a_number(tmp_path: Path, stated: str, taken: bool) -> None:
    """Of any kind of whole number; what came is said of others."""
    file = _write(tmp_path, "import numpy as np\n" + GOOD.replace("output_dim = width", f"output_dim = {stated}"))
    if taken:
        assert list(check_encoder(make_encoder(str(file)))) == []
    else:
        with pytest.raises(ApplicationError, match=r"expected an attribute output_dim, .*, got .*; set it in __init__"):
            make_encoder(str(file))


def test_half_precision_is_no_fault(tmp_path: Path) -> None:
    """What is rounded to 16 bits differs by their last digits beside a longer sound."""
    for kind in ("half", "bfloat16", "double"):
        file = _write(tmp_path, GOOD.replace("frames = self.norm(", f"frames = torch.Tensor.{kind}(self.norm("
                      ).replace(".transpose(1, 2)", ").transpose(1, 2)", 1))  # fmt: skip
        assert list(check_encoder(make_encoder(str(file)))) == [], kind


def test_code_and_arguments_decide_about_kept_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of other code, or of another argument, are not taken for its own where weights are the same."""
    file, arguments = _write(tmp_path), tmp_path / "arguments.json"
    digests = set()
    for slope in (1.0, 2.0):
        arguments.write_text(json.dumps({"slope": slope}))
        digests.add(encoder_named(f"{file},arguments={arguments}").prepare().sha256)
    monkeypatch.syspath_prepend(str(tmp_path))
    for text in (GOOD, GOOD.replace("* self.slope", "* self.slope + 1")):
        (tmp_path / "dotted_encoder.py").write_text(text)
        digests.add(encoder_named("encoder-file:dotted_encoder:ConvEncoder").prepare().sha256)
        monkeypatch.delitem(sys.modules, "dotted_encoder")
    assert len(digests) == 4


def test_an_encoder_that_fails_or_prints_keeps_to_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is trained; standard output stays the program's."""
    for text, said in (
        ("raise OSError('gone')", r"forward: OSError: gone \(line 14\)"),
        ("raise SystemExit(0)", "it calls sys.exit"),
    ):
        file = _write(tmp_path, GOOD.replace("frames = self.norm", f"{text}\n        frames = self.norm"))
        with pytest.raises(ApplicationError, match=said):
            encoder_named(str(file)).prepare()
    with pytest.raises(ApplicationError, match=r"cannot be made: it calls sys\.exit; mend it"):
        make_encoder(str(_write(tmp_path, GOOD.replace("super().__init__()", "raise SystemExit(0)"))))
    talks = GOOD.replace("super().__init__()", "super().__init__(); print('made')").replace(
        "frames = self.norm", "print('encodes'); frames = self.norm"
    )
    assert list(check_encoder(make_encoder(str(_write(tmp_path, talks))))) == []
    told = capsys.readouterr()
    assert told.out == ""
    assert {"made", "encodes"} == set(told.err.split())


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
