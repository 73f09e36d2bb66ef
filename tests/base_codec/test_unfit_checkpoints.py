"""Checkpoints that are damaged, or whose files do not belong together: refused by name, never run as another model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.codecs.checkpoints import checkpoint

from codec_superb.base_codec.errors import MissingWeights, RefusedSetting
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec


def copied(family: str, folder: Path, **changes: Any) -> CodecOptions:
    """Copy a checkpoint, with another configuration."""
    shutil.copytree(checkpoint(family), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return CodecOptions(weights=str(folder))


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda whole: whole[:20000],
        lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 94\n",
    ],
)
def test_a_file_that_is_not_whole_is_an_error_that_says_so(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """An empty file, half a file, the pointer that git leaves: no traceback."""
    options = copied("encodec", tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(MissingWeights, match=r"model cannot be loaded \(.*model.safetensors complete"):
        open_codec("encodec_24k_6bps", "cpu", options)


@pytest.mark.parametrize(
    "changes",
    [{"num_filters": "abc"}, {"sampling_rate": None}, {"norm_type": "foo"}, {"upsampling_ratios": [8, 5, 4, 0]}],
)
def test_a_configuration_that_makes_no_model_is_an_error_that_says_so(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Values that transformers cannot build a model of."""
    options = copied("encodec", tmp_path / "model", **changes)
    with pytest.raises((MissingWeights, RefusedSetting), match="model"):
        open_codec("encodec_24k_6bps", "cpu", options)


def test_parameters_of_another_shape_are_named(tmp_path: Path) -> None:
    """The configuration of a smaller model does not fit."""
    options = copied("encodec", tmp_path / "model", num_filters=16)
    with pytest.raises(MissingWeights, match=r"[1-9]\d* have another shape and 0 are left over, such as decoder\."):
        open_codec("encodec_24k_6bps", "cpu", options)


def test_layers_that_the_configuration_leaves_out_are_named(tmp_path: Path) -> None:
    """Half of a model would run, and be scored as the whole."""
    options = copied("mimi", tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    parameters = load_file(file)
    more = {name.replace("layers.0.", "layers.77."): value.clone() for name, value in parameters.items()}
    save_file(parameters | more, file, {"format": "pt"})
    with pytest.raises(MissingWeights, match=r"[1-9]\d* are left over, such as .*layers\.77\."):
        open_codec("mimi_8cb", "cpu", options)


def test_a_graphics_card_that_is_not_there_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was torch's assertion."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RefusedSetting, match="torch finds no CUDA device; use --device auto or --device cpu"):
        open_codec("encodec_24k_6bps", "cuda", CodecOptions(weights=str(checkpoint("encodec"))))
