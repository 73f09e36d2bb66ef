"""UTMOS's export with seeded random weights and few numbers, and the network composed a second time to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from codec_superb.applications.quality.utmos import FILE, STRIDES
from codec_superb.base_codec.weight_folders import RANDOM_KEY

KERNELS = (10, 3, 3, 3, 3, 2, 2)
LAYERS = 2
HEAD = 64


def random_export(seed: int = 0, *, layers: int = LAYERS, tiny: bool = True) -> dict[str, Any]:
    """Return a state dict with the export's names; with its shapes where it is not ``tiny`` and has 12 layers."""
    published = (512, 768, 3072, 512, 2048, 128, 128, 16)
    sizes = (16, 128, 192, 24, 32, 8, 16, 4) if tiny else published
    channels, hidden, inner, state, width, side, span, groups = sizes
    shapes: dict[str, tuple[int, ...]] = {"wav2vec2.mask_emb": (hidden,)}
    for index, kernel in enumerate(KERNELS):
        before = channels if index else 1
        shapes[f"wav2vec2.feature_extractor.conv_layers.{index}.0.weight"] = (channels, before, kernel)
    for name, size in (("feature_extractor.conv_layers.0.2", channels), ("layer_norm", channels),
                       ("encoder.layer_norm", hidden)):  # fmt: skip
        shapes |= {f"wav2vec2.{name}.weight": (size,), f"wav2vec2.{name}.bias": (size,)}
    shapes |= {
        "wav2vec2.post_extract_proj.weight": (hidden, channels),
        "wav2vec2.post_extract_proj.bias": (hidden,),
        "wav2vec2.encoder.pos_conv.0.weight_g": (1, 1, span),
        "wav2vec2.encoder.pos_conv.0.weight_v": (hidden, hidden // groups, span),
        "wav2vec2.encoder.pos_conv.0.bias": (hidden,),
        "domain_emb": (1, side),
        "judge_emb": (1, side),
        "projection.0.weight": (width, 2 * state),
        "projection.0.bias": (width,),
        "projection.2.weight": (1, width),
        "projection.2.bias": (1,),
    }
    for direction in ("", "_reverse"):
        shapes[f"blstm.weight_ih_l0{direction}"] = (4 * state, hidden + 2 * side)
        shapes[f"blstm.weight_hh_l0{direction}"] = (4 * state, state)
        shapes |= {f"blstm.bias_{kind}_l0{direction}": (4 * state,) for kind in ("ih", "hh")}
    for layer in range(layers):
        shapes |= _layer(f"wav2vec2.encoder.layers.{layer}.", hidden, inner)
    generator = torch.Generator().manual_seed(seed)
    return {name: _drawn(name, shape, generator) for name, shape in shapes.items()}


def _layer(prefix: str, hidden: int, inner: int) -> dict[str, tuple[int, ...]]:
    linear = {f"self_attn.{part}_proj": (hidden, hidden) for part in "qkv"}
    linear |= {"self_attn.out_proj": (hidden, hidden), "fc1": (inner, hidden), "fc2": (hidden, inner)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in linear.items():
        shapes |= {f"{prefix}{name}.weight": shape, f"{prefix}{name}.bias": shape[:1]}
    for name in ("self_attn_layer_norm", "final_layer_norm"):
        shapes |= {f"{prefix}{name}.weight": (hidden,), f"{prefix}{name}.bias": (hidden,)}
    return shapes


def _drawn(name: str, shape: tuple[int, ...], generator: Any) -> Any:
    values = torch.randn(shape, generator=generator)
    if "norm" in name or ".0.2." in name or name.endswith("weight_g"):
        return 1.0 + 0.1 * values
    return values / max(1.0, float(values[0].numel())) ** 0.5


def save_export(folder: Path, *, marked: bool = True, seed: int = 0) -> Path:
    """Write a tiny export under its published name, marked as never trained."""
    torch.save(random_export(seed=seed), folder / FILE)
    if marked:
        (folder / "config.json").write_text(json.dumps({RANDOM_KEY: True}))
    return folder


def composed_opinion(weights: dict[str, Any], samples: Any) -> float:
    """Compute the opinion from the export's weights with plain functions, one clip of shape ``(samples,)``."""
    frames = _context(weights, _heard(weights, samples))
    beside = torch.cat([weights["domain_emb"], weights["judge_emb"]], dim=1).expand(len(frames), -1)
    inputs = torch.cat([frames, beside], dim=1)
    onward, backward = (_lstm(weights, inputs, end) for end in ("", "_reverse"))
    inner = functional.relu(_linear(weights, "projection.0", torch.cat([onward, backward], dim=1)))
    return float(2 * _linear(weights, "projection.2", inner).mean() + 3)


def _heard(weights: dict[str, Any], samples: Any) -> Any:
    sound = samples[None, None]
    for index, stride in enumerate(STRIDES):
        prefix = f"wav2vec2.feature_extractor.conv_layers.{index}"
        sound = functional.conv1d(sound, weights[f"{prefix}.0.weight"], stride=stride)
        if index == 0:
            mean, variance = sound.mean(dim=2, keepdim=True), sound.var(dim=2, keepdim=True, unbiased=False)
            scaled = (sound - mean) / (variance + 1e-5).sqrt()
            sound = scaled * weights[f"{prefix}.2.weight"][:, None] + weights[f"{prefix}.2.bias"][:, None]
        sound = functional.gelu(sound)
    return _linear(weights, "wav2vec2.post_extract_proj", _norm(weights, "wav2vec2.layer_norm", sound[0].T))


def _context(weights: dict[str, Any], frames: Any) -> Any:
    direction = weights["wav2vec2.encoder.pos_conv.0.weight_v"]
    length = direction.square().sum(dim=(0, 1), keepdim=True).sqrt()
    kernel = weights["wav2vec2.encoder.pos_conv.0.weight_g"] * direction / length
    groups, span = direction.shape[0] // direction.shape[1], direction.shape[2]
    bias = weights["wav2vec2.encoder.pos_conv.0.bias"]
    places = functional.conv1d(frames.T[None], kernel, bias, padding=span // 2, groups=groups)[0, :, :-1]
    frames = _norm(weights, "wav2vec2.encoder.layer_norm", frames + functional.gelu(places).T)
    for layer in range(LAYERS):
        prefix = f"wav2vec2.encoder.layers.{layer}."
        frames = _norm(weights, f"{prefix}self_attn_layer_norm", frames + _attended(weights, prefix, frames))
        inner = functional.gelu(_linear(weights, f"{prefix}fc1", frames))
        frames = _norm(weights, f"{prefix}final_layer_norm", frames + _linear(weights, f"{prefix}fc2", inner))
    return frames


def _attended(weights: dict[str, Any], prefix: str, frames: Any) -> Any:
    asked, keys, values = (_linear(weights, f"{prefix}self_attn.{part}_proj", frames) for part in "qkv")
    heads = []
    for start in range(0, frames.shape[1], HEAD):
        part = slice(start, start + HEAD)
        shares = (asked[:, part] @ keys[:, part].T / HEAD**0.5).softmax(dim=1)
        heads.append(shares @ values[:, part])
    return _linear(weights, f"{prefix}self_attn.out_proj", torch.cat(heads, dim=1))


def _lstm(weights: dict[str, Any], inputs: Any, end: str) -> Any:
    state = cell = torch.zeros(weights[f"blstm.weight_hh_l0{end}"].shape[1])
    outputs = []
    for frame in inputs.flip(0) if end else inputs:
        gates = weights[f"blstm.weight_ih_l0{end}"] @ frame + weights[f"blstm.bias_ih_l0{end}"]
        gates = gates + weights[f"blstm.weight_hh_l0{end}"] @ state + weights[f"blstm.bias_hh_l0{end}"]
        enter, forget, candidate, leave = gates.chunk(4)
        cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
        state = leave.sigmoid() * cell.tanh()
        outputs.append(state)
    return torch.stack(outputs[::-1] if end else outputs)


def _linear(weights: dict[str, Any], name: str, values: Any) -> Any:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(weights: dict[str, Any], name: str, values: Any) -> Any:
    mean, variance = values.mean(dim=1, keepdim=True), values.var(dim=1, keepdim=True, unbiased=False)
    return (values - mean) / (variance + 1e-5).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]
