"""Dasheng and CED: what is computed equals layers of torch with the same weights, saved in the publishers' layout."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.patch_frames import levels_of
from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.interface import Item, Sound
from codec_superb.applications.transformers_checkpoint import import_transformers

WIDTH, DEPTH, HEADS = 16, 2, 4
SHAPES = {"dasheng": ((64, 4), 1008), "ced": ((16, 16), 1012)}


class _Reference(nn.Module):
    """The same network of torch's own layers."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        (high, wide), longest = SHAPES[kind]
        self.patch = nn.Conv2d(1, WIDTH, (high, wide), (high, wide))
        self.scale = nn.BatchNorm1d(64)
        self.scale.running_mean.normal_(-30, 5)
        self.scale.running_var.uniform_(50, 200)
        self.time = nn.Parameter(torch.randn(1, WIDTH, 1, longest // wide))
        self.frequency = nn.Parameter(torch.randn(1, WIDTH, 64 // high, 1))
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, DEPTH, nn.LayerNorm(WIDTH, 1e-6), enable_nested_tensor=False)
        for value in self.layers.parameters():
            nn.init.normal_(value, std=0.3)
        self.eval()

    def forward(self, levels: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            patches = self.patch(self.scale(torch.from_numpy(levels)[None])[:, None])
            placed = patches + self.time[..., : patches.shape[-1]] + self.frequency
            found = self.layers(placed.flatten(2).transpose(1, 2))[0]
        return found.reshape(*placed.shape[2:], WIDTH).mean(dim=0).numpy()


def _names(reference: _Reference, bn: str) -> dict[str, torch.Tensor]:
    """Return its weights under the publishers' names."""
    own = {
        "patch_embed.proj.weight": reference.patch.weight, "patch_embed.proj.bias": reference.patch.bias,
        "time_pos_embed": reference.time, "freq_pos_embed": reference.frequency,
        **{f"{bn}.{name}": value for name, value in reference.scale.state_dict().items()},
    }  # fmt: skip
    other = {
        "self_attn.in_proj_weight": "attn.qkv.weight", "self_attn.in_proj_bias": "attn.qkv.bias",
        "self_attn.out_proj": "attn.proj", "linear1": "mlp.fc1", "linear2": "mlp.fc2",
    }  # fmt: skip
    for name, value in reference.layers.state_dict().items():
        ours = functools.reduce(lambda text, pair: text.replace(*pair), other.items(), name)
        own[ours.replace("layers.", "blocks.")] = value
    return {f"encoder.{name}": value.detach().contiguous() for name, value in own.items()}


def _write(folder: Path, kind: str, *, safe: bool) -> _Reference:
    from safetensors.torch import save_file

    torch.manual_seed(0)
    reference = _Reference(kind)
    folder.mkdir()
    (patch, longest) = SHAPES[kind]
    sizes: dict[str, Any] = {"embed_dim": WIDTH, "depth": DEPTH, "num_heads": HEADS, "target_length": longest}
    sizes |= {"patch_size": list(patch), "patch_stride": list(patch)} if kind == "dasheng" else {"patch_stride": 16}
    said = {"encoder_kwargs": sizes} if kind == "dasheng" else sizes
    (folder / "config.json").write_text(json.dumps({"model_type": kind, **said}))
    # Dasheng's normalisation stands between two rearrangements, CED's by itself
    tensors = _names(reference, "init_bn.1" if kind == "dasheng" else "init_bn")
    if safe:
        save_file(tensors, folder / "model.safetensors")
    else:
        torch.save(tensors, folder / "pytorch_model.bin")
    return reference


def _sound(count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-0.4, 0.4, count).astype(np.float32)


@pytest.mark.parametrize("kind", SHAPES)
def test_frames_are_those_of_torch_s_layers(tmp_path: Path, kind: str) -> None:
    """Of a short sound and of one of two parts, whose second is filled up with zeros behind the normalisation."""
    reference = _write(tmp_path / "m", kind, safe=kind == "ced")
    backend = open_backend(f"{kind}-frames:{tmp_path / 'm'}")
    model = backend.prepare()
    wide, longest = SHAPES[kind][0][1], SHAPES[kind][1]
    assert model.settings["hop_s"] == wide / 100
    backend.load(model, "cpu", 1)
    short, long = _sound(24_000), _sound(200_000)
    found, of_long, refused = backend.predict([Sound(Item("a", "audio"), each) for each in (short, long, _sound(200))])
    wanted = reference(levels_of(short))
    assert wanted.shape == (151 // wide, WIDTH)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    levels = levels_of(long)
    assert isinstance(of_long, np.ndarray)
    assert of_long.shape == (levels.shape[1] // wide, WIDTH)
    first = reference(levels[:, :longest])
    np.testing.assert_allclose(of_long[: len(first)], first, atol=1e-4)
    mean, variance = reference.scale.running_mean.numpy(), reference.scale.running_var.numpy()
    silent = np.repeat(mean[:, None], longest, axis=1)  # becomes 0
    silent[:, : levels.shape[1] - longest] = levels[:, longest:]
    np.testing.assert_allclose(of_long[len(first) :], reference(silent)[: len(of_long) - len(first)], atol=1e-3)
    assert variance.min() > 0
    assert "expected more than 256" in str(refused)
    backend.close()


def test_levels_are_those_of_transformers_mel_filters() -> None:
    """HTK's scale with triangles of height 1 in Hz, 120 dB of range below the loudest."""
    utils = import_transformers().audio_utils
    filters = utils.mel_filter_bank(257, 64, 0.0, 8000.0, 16000, norm=None, mel_scale="htk")
    sound = _sound(8000)
    wanted = utils.spectrogram(
        sound, utils.window_function(512, "hann"), 512, 160, 512, power=2.0, center=True, mel_filters=filters,
        log_mel="dB", db_range=120.0,
    )  # fmt: skip
    np.testing.assert_allclose(levels_of(sound), wanted, atol=1e-3)
    quiet = np.zeros(8000, np.float32)
    quiet[:100] = 0.5
    assert np.ptp(levels_of(quiet)) == pytest.approx(120.0, abs=1e-3)


def test_another_checkpoint_is_refused(tmp_path: Path) -> None:
    """By its kind, or by what it lacks."""
    _write(tmp_path / "m", "ced", safe=False)
    with pytest.raises(ApplicationError, match="expected a checkpoint of dasheng, got one of ced"):
        open_backend(f"dasheng-frames:{tmp_path / 'm'}").prepare()
    torch.save({"encoder.time_pos_embed": torch.zeros(2)}, tmp_path / "m" / "pytorch_model.bin")
    backend = open_backend(f"ced-frames:{tmp_path / 'm'}")
    with pytest.raises(MissingModel, match=r"it has no 'patch_embed.proj.weight'"):
        backend.load(backend.prepare(), "cpu", 1)
