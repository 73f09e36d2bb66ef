"""UniSpeech's speaker verifier with seeded random weights and few numbers, and composed a second time to compare with.

The composition takes the published names and computes in float64 with plain functions; of the program's code it uses
nothing.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional

FILE = "wavlm_large_finetune.pth"
ENCODER = "feature_extract.model."
KERNELS, STRIDES = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)
DILATIONS = {"layer2": 2, "layer3": 3, "layer4": 4}


class Sizes(NamedTuple):
    """Sizes of a checkpoint."""

    layers: int
    bands: int
    hidden: int
    heads: int
    inner: int
    span: int
    groups: int
    buckets: int
    channels: int
    gate: int
    width: int
    attention: int
    embedding: int
    speakers: int


TINY = Sizes(3, 8, 16, 2, 24, 8, 4, 12, 16, 6, 20, 7, 12, 5)
PUBLISHED = Sizes(24, 512, 1024, 16, 4096, 128, 16, 320, 512, 128, 1536, 128, 256, 5994)
"""WavLM-Large, ECAPA-TDNN of 512 channels, the 5,994 speakers of VoxCeleb2's development set."""


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every weight, in the published names."""
    found: dict[str, tuple[int, ...]] = {"feature_weight": (sizes.layers + 1,)}
    found |= {f"{ENCODER}{name}": shape for name, shape in _encoder(sizes).items()}
    found |= _convolution("layer1", sizes.hidden, sizes.channels, 5)
    for layer in DILATIONS:
        found |= _block(layer, sizes)
    width = sizes.width
    found |= _affine("conv", (width, 3 * sizes.channels, 1))
    found |= _affine("pooling.linear1", (sizes.attention, width, 1))
    found |= _affine("pooling.linear2", (width, sizes.attention, 1))
    found |= _batch_norm("bn", 2 * width)
    found |= _affine("linear", (sizes.embedding, 2 * width))
    return found | {"loss_calculator.projection.weight": (sizes.speakers, sizes.embedding)}


def _encoder(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    bands, hidden, heads = sizes.bands, sizes.hidden, sizes.heads
    found: dict[str, tuple[int, ...]] = {"mask_emb": (hidden,)}
    for index, kernel in enumerate(KERNELS):
        place = f"feature_extractor.conv_layers.{index}"
        found[f"{place}.0.weight"] = (bands, bands if index else 1, kernel)
        found |= _affine(f"{place}.2.1", (bands,))
    found |= _affine("layer_norm", (bands,)) | _affine("post_extract_proj", (hidden, bands))
    found["encoder.pos_conv.0.bias"] = (hidden,)
    found["encoder.pos_conv.0.weight_g"] = (1, 1, sizes.span)
    found["encoder.pos_conv.0.weight_v"] = (hidden, hidden // sizes.groups, sizes.span)
    found |= _affine("encoder.layer_norm", (hidden,))
    for layer in range(sizes.layers):
        place = f"encoder.layers.{layer}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            found |= _affine(f"{place}.self_attn.{part}", (hidden, hidden))
        found |= _affine(f"{place}.self_attn.grep_linear", (8, hidden // heads))
        found[f"{place}.self_attn.grep_a"] = (1, heads, 1, 1)
        found |= _affine(f"{place}.self_attn_layer_norm", (hidden,)) | _affine(f"{place}.final_layer_norm", (hidden,))
        found |= _affine(f"{place}.fc1", (sizes.inner, hidden)) | _affine(f"{place}.fc2", (hidden, sizes.inner))
    return found | {"encoder.layers.0.self_attn.relative_attention_bias.weight": (sizes.buckets, heads)}


def _block(layer: str, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    channels, width = sizes.channels, sizes.channels // 8
    found = _convolution(f"{layer}.Conv1dReluBn1", channels, channels, 1)
    for part in range(7):
        found |= _affine(f"{layer}.Res2Conv1dReluBn.convs.{part}", (width, width, 3))
        found |= _batch_norm(f"{layer}.Res2Conv1dReluBn.bns.{part}", width)
    found |= _convolution(f"{layer}.Conv1dReluBn2", channels, channels, 1)
    found |= _affine(f"{layer}.SE_Connect.linear1", (sizes.gate, channels))
    return found | _affine(f"{layer}.SE_Connect.linear2", (channels, sizes.gate))


def _convolution(name: str, before: int, after: int, kernel: int) -> dict[str, tuple[int, ...]]:
    return _affine(f"{name}.conv", (after, before, kernel)) | _batch_norm(f"{name}.bn", after)


def _affine(name: str, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _batch_norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
    statistics = {f"{name}.{part}": (size,) for part in ("running_mean", "running_var")}
    return _affine(name, (size,)) | statistics | {f"{name}.num_batches_tracked": ()}


def random_weights(seed: int = 0) -> dict[str, Any]:
    """Return a tiny state with the published names."""
    generator = torch.Generator().manual_seed(seed)
    return {name: _drawn(name, shape, generator) for name, shape in shapes(TINY).items()}


def _drawn(name: str, shape: tuple[int, ...], generator: Any) -> Any:
    if name.endswith("num_batches_tracked"):
        return torch.tensor(7)
    values = torch.randn(shape, generator=generator)
    if name.endswith("running_var"):
        return 0.5 + values.abs()
    if (len(shape) == 1 and name.endswith("weight")) or name.endswith(("weight_g", "grep_a")):
        return 1.0 + 0.3 * values
    if "relative_attention_bias" in name:
        return values
    return 1.5 * values / max(1.0, float(values[0].numel())) ** 0.5


def save_weights(folder: Path, *, marked: bool = True, seed: int = 0, file: str = FILE) -> Path:
    """Write a tiny checkpoint as the published one is, marked as never trained; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"model": random_weights(seed), "best_valid_eer": 100.0}, folder / file)
    if marked:
        (folder / "config.json").write_text(json.dumps({"codec_superb_random": True}))
    return folder


def composed_embedding(weights: dict[str, Any], samples: Any) -> Any:
    """Compute the embedding of one clip of shape ``(samples,)``."""
    exact = {name: value.double() for name, value in weights.items()}
    layers = _layers(exact, samples.double())
    shares = exact["feature_weight"].exp() / exact["feature_weight"].exp().sum()
    frames = sum(share * layer for share, layer in zip(shares, layers, strict=True)).T + 1e-6
    mean, variance = frames.mean(dim=1, keepdim=True), frames.var(dim=1, keepdim=True, unbiased=False)
    frames = _convolved(exact, "layer1", (frames - mean) / (variance + 1e-5).sqrt())
    blocks = []
    for layer, dilation in DILATIONS.items():
        frames = frames + _inner(exact, layer, frames, dilation)
        blocks.append(frames)
    frames = functional.relu(_conv(exact, "conv", torch.cat(blocks)))
    attention = torch.tanh(_conv(exact, "pooling.linear1", frames))
    shares = _conv(exact, "pooling.linear2", attention).exp()
    shares = shares / shares.sum(dim=1, keepdim=True)
    mean = (shares * frames).sum(dim=1)
    deviation = (shares * (frames - mean[:, None]) ** 2).sum(dim=1).clamp(min=1e-9).sqrt()
    pooled = _batch_normed(exact, "bn", torch.cat([mean, deviation])[:, None])[:, 0]
    return exact["linear.weight"] @ pooled + exact["linear.bias"]


def _inner(weights: dict[str, Any], layer: str, frames: Any, dilation: int) -> Any:
    inner = _convolved(weights, f"{layer}.Conv1dReluBn1", frames)
    width = len(inner) // 8
    slices = [inner[start : start + width] for start in range(0, len(inner), width)]
    for part in range(7):
        given = slices[part] + (slices[part - 1] if part else 0)
        name = f"{layer}.Res2Conv1dReluBn"
        heard = functional.relu(_conv(weights, f"{name}.convs.{part}", given, dilation))
        slices[part] = _batch_normed(weights, f"{name}.bns.{part}", heard)
    inner = _convolved(weights, f"{layer}.Conv1dReluBn2", torch.cat(slices))
    squeezed = functional.relu(_linear(weights, f"{layer}.SE_Connect.linear1", inner.mean(dim=1)))
    return inner / (1 + (-_linear(weights, f"{layer}.SE_Connect.linear2", squeezed)).exp())[:, None]


def _layers(weights: dict[str, Any], samples: Any) -> list[Any]:
    """Return what enters each layer of WavLM, and the normalised end, each of shape ``(frames, hidden)``."""
    sound = ((samples - samples.mean()) / (samples.var(unbiased=False) + 1e-5).sqrt())[None]
    for index, stride in enumerate(STRIDES):
        place = f"{ENCODER}feature_extractor.conv_layers.{index}"
        sound = functional.conv1d(sound[None], weights[f"{place}.0.weight"], stride=stride)[0]
        sound = functional.gelu(_norm(weights, f"{place}.2.1", sound.T).T)
    frames = _linear(weights, f"{ENCODER}post_extract_proj", _norm(weights, f"{ENCODER}layer_norm", sound.T))
    frames = frames + _places(weights, frames)
    bias = _distances(weights[f"{ENCODER}encoder.layers.0.self_attn.relative_attention_bias.weight"], len(frames))
    entered = []
    for layer in range(len(weights["feature_weight"]) - 1):
        entered.append(frames)
        place = f"{ENCODER}encoder.layers.{layer}"
        frames = frames + _attended(weights, place, _norm(weights, f"{place}.self_attn_layer_norm", frames), bias)
        inner = _linear(weights, f"{place}.fc1", _norm(weights, f"{place}.final_layer_norm", frames))
        frames = frames + _linear(weights, f"{place}.fc2", functional.gelu(inner))
    return [*entered, _norm(weights, f"{ENCODER}encoder.layer_norm", frames)]


def _places(weights: dict[str, Any], frames: Any) -> Any:
    direction = weights[f"{ENCODER}encoder.pos_conv.0.weight_v"]
    length = direction.square().sum(dim=(0, 1), keepdim=True).sqrt()
    kernel = weights[f"{ENCODER}encoder.pos_conv.0.weight_g"] * direction / length
    groups, span = direction.shape[0] // direction.shape[1], direction.shape[2]
    bias = weights[f"{ENCODER}encoder.pos_conv.0.bias"]
    heard = functional.conv1d(frames.T[None], kernel, bias, padding=span // 2, groups=groups)[0, :, :-1]
    return functional.gelu(heard).T


def _distances(table: Any, frames: int) -> Any:
    """Return the bias of each head for each pair of frames, shape ``(heads, frames, frames)``."""
    half = len(table) // 2
    exact = half // 2

    def bucket(distance: int) -> int:
        side = half if distance > 0 else 0
        far = abs(distance)
        if far >= exact:
            far = min(half - 1, exact + int(math.log(far / exact) / math.log(800 / exact) * (half - exact)))
        return side + far

    rows = [[bucket(other - own) for other in range(frames)] for own in range(frames)]
    return table[torch.tensor(rows)].permute(2, 0, 1)


def _attended(weights: dict[str, Any], place: str, frames: Any, bias: Any) -> Any:
    asked, keys, values = (_linear(weights, f"{place}.self_attn.{part}_proj", frames) for part in "qkv")
    size = frames.shape[1] // len(bias)
    heads = []
    for head, distances in enumerate(bias):
        part = slice(head * size, (head + 1) * size)
        gates = _linear(weights, f"{place}.self_attn.grep_linear", frames[:, part])
        near, far = (1 / (1 + (-gates[:, four].sum(dim=1)).exp()) for four in (slice(0, 4), slice(4, 8)))
        gate = near * (far * weights[f"{place}.self_attn.grep_a"][0, head, 0, 0] - 1) + 2
        shares = (asked[:, part] @ keys[:, part].T / size**0.5 + gate[:, None] * distances).softmax(dim=1)
        heads.append(shares @ values[:, part])
    return _linear(weights, f"{place}.self_attn.out_proj", torch.cat(heads, dim=1))


def _convolved(weights: dict[str, Any], name: str, frames: Any) -> Any:
    return _batch_normed(weights, f"{name}.bn", functional.relu(_conv(weights, f"{name}.conv", frames)))


def _conv(weights: dict[str, Any], name: str, frames: Any, dilation: int = 1) -> Any:
    kernel = weights[f"{name}.weight"]
    padding = dilation * (kernel.shape[2] // 2)
    padded = functional.pad(frames, (padding, padding))
    heard = sum(
        kernel[:, :, tap] @ padded[:, tap * dilation : tap * dilation + frames.shape[1]]
        for tap in range(kernel.shape[2])
    )
    return heard + weights[f"{name}.bias"][:, None]


def _batch_normed(weights: dict[str, Any], name: str, frames: Any) -> Any:
    scale = weights[f"{name}.weight"] / (weights[f"{name}.running_var"] + 1e-5).sqrt()
    return (frames - weights[f"{name}.running_mean"][:, None]) * scale[:, None] + weights[f"{name}.bias"][:, None]


def _linear(weights: dict[str, Any], name: str, values: Any) -> Any:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(weights: dict[str, Any], name: str, values: Any) -> Any:
    mean, variance = values.mean(dim=1, keepdim=True), values.var(dim=1, keepdim=True, unbiased=False)
    return (values - mean) / (variance + 1e-5).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]
