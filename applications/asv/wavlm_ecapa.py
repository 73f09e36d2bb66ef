"""The network of UniSpeech's speaker verifiers: WavLM's layers, their weighted sum, a small ECAPA-TDNN.

WavLM's layers (what enters each, and what leaves the last through the final normalisation) are added up with learned
weights, each feature is normalised over the clip's time, and ECAPA-TDNN makes an embedding: a convolution, three
blocks with growing dilation that see their input in slices (Res2Net) and weigh their channels (squeeze and
excitation), attentive mean and deviation over time, one linear layer. Activations come before batch normalisation.

The encoder is that of transformers; the head has the published names. :func:`published_name` maps every weight of
the network to its name in a published checkpoint, and the sizes are read off the checkpoint.

Written from the published names, shapes and order of operations (microsoft/UniSpeech, downstreams/speaker_verification,
and WavLM as s3prl runs it). Papers: Chen et al., WavLM, IEEE JSTSP 2022; Desplanques et al., ECAPA-TDNN, Interspeech
2020.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.transformers_checkpoint import import_transformers

TRAINING_ONLY = frozenset({"loss_calculator.projection.weight"})
"""Weights that a checkpoint may hold and an embedding does not need: the classifier of the training speakers."""
STRIDES = (5, 2, 2, 2, 2, 2, 2)
"""Of the encoder's convolutions: a frame is 320 samples, 20 ms; not derivable from shapes."""
_FARTHEST = 800
"""Frames beyond which all distances count as one, in every WavLM; not derivable from shapes."""
_DILATIONS = (2, 3, 4)
"""Of the three blocks."""
_SLICES = 8
_ABOVE_ZERO = 1e-6
"""Added to the weighted sum before it is normalised."""
_LEAST_VARIANCE = 1e-9
_WAVLM = "feature_extract.model."
_NAMES = (
    (r"^wavlm\.masked_spec_embed$", f"{_WAVLM}mask_emb"),
    (r"^wavlm\.feature_projection\.layer_norm\.", f"{_WAVLM}layer_norm."),
    (r"^wavlm\.feature_projection\.projection\.", f"{_WAVLM}post_extract_proj."),
    (r"^wavlm\.(feature_extractor\.conv_layers\.\d+)\.conv\.", rf"{_WAVLM}\1.0."),
    (r"^wavlm\.(feature_extractor\.conv_layers\.\d+)\.layer_norm\.", rf"{_WAVLM}\1.2.1."),
    (r"^wavlm\.encoder\.pos_conv_embed\.conv\.bias$", f"{_WAVLM}encoder.pos_conv.0.bias"),
    (r"^wavlm\.encoder\.pos_conv_embed\.conv\.parametrizations\.weight\.original0$",
     f"{_WAVLM}encoder.pos_conv.0.weight_g"),
    (r"^wavlm\.encoder\.pos_conv_embed\.conv\.parametrizations\.weight\.original1$",
     f"{_WAVLM}encoder.pos_conv.0.weight_v"),
    (r"^wavlm\.(encoder\.layers\.\d+)\.attention\.gru_rel_pos_const$", rf"{_WAVLM}\1.self_attn.grep_a"),
    (r"^wavlm\.(encoder\.layers\.\d+)\.attention\.gru_rel_pos_linear\.", rf"{_WAVLM}\1.self_attn.grep_linear."),
    (r"^wavlm\.(encoder\.layers\.\d+)\.attention\.rel_attn_embed\.", rf"{_WAVLM}\1.self_attn.relative_attention_bias."),
    (r"^wavlm\.(encoder\.layers\.\d+)\.attention\.", rf"{_WAVLM}\1.self_attn."),
    (r"^wavlm\.(encoder\.layers\.\d+)\.layer_norm\.", rf"{_WAVLM}\1.self_attn_layer_norm."),
    (r"^wavlm\.(encoder\.layers\.\d+)\.feed_forward\.intermediate_dense\.", rf"{_WAVLM}\1.fc1."),
    (r"^wavlm\.(encoder\.layers\.\d+)\.feed_forward\.output_dense\.", rf"{_WAVLM}\1.fc2."),
    (r"^wavlm\.", _WAVLM),
)  # fmt: skip
"""Names of WavLM's weights in transformers and in checkpoints; the first match applies."""


def published_name(name: str) -> str:
    """Return the name of a weight of :class:`SpeakerNetwork` in a published checkpoint; names are unique."""
    for ours, theirs in _NAMES:
        changed, count = re.subn(ours, theirs, name)
        if count:
            return changed
    return name


def speaker_network(published: Mapping[str, Any], file: str) -> SpeakerNetwork:
    """Build the network that ``published`` is the state of, in float32.

    Raises MissingModel naming the first weight that is missing, unknown, or of another shape or kind of number.
    """
    sizes = _Sizes(published, file)
    wavlm = import_transformers().WavLMModel
    try:
        config = _config(sizes)
        with torch.device("meta"):  # no random initialisation of weights that the file provides
            network = SpeakerNetwork(wavlm(config), sizes)
    except (ArithmeticError, RuntimeError, ValueError) as error:
        raise MissingModel(f"{file} describes a network that cannot be built: {error}") from error
    names = {name: published_name(name) for name in network.state_dict()}
    _check(network, names, published, file)
    weights = {name: published[theirs] for name, theirs in names.items()}
    network.load_state_dict(
        {name: value.float() if value.is_floating_point() else value for name, value in weights.items()}, assign=True
    )
    return network.requires_grad_(False).eval()


class _Sizes:
    """Shapes of a checkpoint's weights."""

    def __init__(self, published: Mapping[str, Any], file: str) -> None:
        self._published = published
        self._file = file

    def __call__(self, name: str, dimensions: int) -> tuple[int, ...]:
        """Return a weight's shape. Raises MissingModel where it is missing or has another number of dimensions."""
        if name not in self._published:
            raise MissingModel(f"{self._file} lacks {name}: it is no checkpoint of WavLM-Large under an ECAPA-TDNN")
        shape = tuple(self._published[name].shape)
        if len(shape) != dimensions or 0 in shape:
            raise MissingModel(f"{self._file}: expected {name} to have {dimensions} dimensions, got shape {shape}")
        return shape

    def layers(self) -> int:
        """Return how many layers of the encoder have weights here."""
        prefix = f"{_WAVLM}encoder.layers."
        return len({name.removeprefix(prefix).partition(".")[0] for name in self._published if name.startswith(prefix)})


def _check(network: nn.Module, names: Mapping[str, str], published: Mapping[str, Any], file: str) -> None:
    expected = {names[name]: value for name, value in network.state_dict().items()}
    if missing := sorted(expected.keys() - published.keys()):
        raise MissingModel(f"{file} lacks {missing[0]}, the first of {len(missing)} weights that the network needs")
    if unknown := sorted(published.keys() - expected.keys() - TRAINING_ONLY):
        raise MissingModel(f"{file} has {unknown[0]}, the first of {len(unknown)} weights that the network has not")
    for name in sorted(expected):
        wanted, came = expected[name], published[name]
        if came.shape != wanted.shape or came.is_floating_point() != wanted.is_floating_point():
            raise MissingModel(f"{file}: expected {name} to be {_described(wanted)}, got {_described(came)}")


def _described(weight: torch.Tensor) -> str:
    return f"{weight.dtype} of shape {tuple(weight.shape)}"


def _config(sizes: _Sizes) -> Any:
    """Describe transformers' WavLM of the checkpoint's sizes, of the large design: normalisation before each part."""
    kernels = [sizes(f"{_WAVLM}feature_extractor.conv_layers.{i}.0.weight", 3) for i in range(len(STRIDES))]
    hidden, per_group, span = sizes(f"{_WAVLM}encoder.pos_conv.0.weight_v", 3)
    buckets, heads = sizes(f"{_WAVLM}encoder.layers.0.self_attn.relative_attention_bias.weight", 2)
    return import_transformers().WavLMConfig(
        conv_dim=[shape[0] for shape in kernels],
        conv_kernel=[shape[2] for shape in kernels],
        conv_stride=list(STRIDES),
        conv_bias=False,
        feat_extract_norm="layer",
        do_stable_layer_norm=True,
        hidden_size=hidden,
        num_hidden_layers=sizes.layers(),
        num_attention_heads=heads,
        intermediate_size=sizes(f"{_WAVLM}encoder.layers.0.fc1.weight", 2)[0],
        num_conv_pos_embeddings=span,
        num_conv_pos_embedding_groups=hidden // per_group,
        num_buckets=buckets,
        max_bucket_distance=_FARTHEST,
        mask_time_prob=0.05,  # gives the encoder the mask embedding that the file holds; nothing is masked here
    )


class SpeakerNetwork(nn.Module):
    """Sound of shape ``(clips, samples)`` at 16 kHz in, embeddings of shape ``(clips, dimensions)`` out."""

    def __init__(self, encoder: Any, sizes: _Sizes) -> None:
        super().__init__()
        channels = sizes("layer1.conv.weight", 3)[0]
        gate = sizes("layer2.SE_Connect.linear1.weight", 2)[0]
        width = sizes("conv.weight", 3)[0]
        self.wavlm = encoder
        self.feature_weight = nn.Parameter(torch.zeros(encoder.config.num_hidden_layers + 1))
        self.layer1 = _Convolution(encoder.config.hidden_size, channels, 5)
        self.layer2, self.layer3, self.layer4 = (_Block(channels, dilation, gate) for dilation in _DILATIONS)
        self.conv = nn.Conv1d(len(_DILATIONS) * channels, width, 1)
        self.pooling = _Pooling(width, sizes("pooling.linear1.weight", 3)[0])
        self.bn = nn.BatchNorm1d(2 * width)
        self.linear = nn.Linear(2 * width, sizes("linear.weight", 2)[0])

    def forward(self, sounds: torch.Tensor) -> torch.Tensor:
        """Return the embeddings; the sounds of a batch have one length, at least two frames (720 samples)."""
        level = functional.layer_norm(sounds, sounds.shape[1:])  # mean 0, variance 1, as the encoder was trained
        first = self.layer1(functional.instance_norm(self._weighted(level).transpose(1, 2) + _ABOVE_ZERO))
        second = self.layer2(first)
        third = self.layer3(second)
        fourth = self.layer4(third)
        frames = functional.relu(self.conv(torch.cat([second, third, fourth], dim=1)))
        embeddings: torch.Tensor = self.linear(self.bn(self.pooling(frames)))
        return embeddings

    def _weighted(self, sounds: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum of WavLM's layers, shape ``(clips, frames, features)``."""
        heard = self.wavlm(sounds, output_hidden_states=True)
        # Versions of transformers differ in whether the last of the hidden states is normalised; this one is.
        layers = torch.stack([*heard.hidden_states[:-1], heard.last_hidden_state])
        return torch.einsum("l,lctf->ctf", self.feature_weight.softmax(dim=0), layers)


class _Convolution(nn.Module):
    """Convolution over time that keeps the length, ReLU, batch normalisation."""

    def __init__(self, before: int, after: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(before, after, kernel, padding=kernel // 2)
        self.bn = nn.BatchNorm1d(after)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        normalised: torch.Tensor = self.bn(functional.relu(self.conv(frames)))
        return normalised


class _Slices(nn.Module):
    """Dilated convolutions over slices of the channels, each after the one before; the last slice passes through."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        if channels % _SLICES:
            raise ValueError(f"expected a multiple of {_SLICES} channels, got {channels}")
        self._width = width = channels // _SLICES
        self.convs = nn.ModuleList(
            nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation) for _ in range(_SLICES - 1)
        )
        self.bns = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(_SLICES - 1))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        *slices, last = torch.split(frames, self._width, dim=1)
        done: list[torch.Tensor] = []
        for one, conv, bn in zip(slices, self.convs, self.bns, strict=True):
            done.append(bn(functional.relu(conv(one + done[-1] if done else one))))
        return torch.cat([*done, last], dim=1)


class _Gate(nn.Module):
    """Weighs each channel by what all channels are on average over time."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(channels, width)
        self.linear2 = nn.Linear(width, channels)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        weights = torch.sigmoid(self.linear2(functional.relu(self.linear1(frames.mean(dim=2)))))
        return frames * weights[:, :, None]


class _Block(nn.Module):
    """One block of ECAPA-TDNN; its parts have the published names."""

    def __init__(self, channels: int, dilation: int, gate: int) -> None:
        super().__init__()
        self.Conv1dReluBn1 = _Convolution(channels, channels, 1)
        self.Res2Conv1dReluBn = _Slices(channels, dilation)
        self.Conv1dReluBn2 = _Convolution(channels, channels, 1)
        self.SE_Connect = _Gate(channels, gate)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        inner = self.Conv1dReluBn2(self.Res2Conv1dReluBn(self.Conv1dReluBn1(frames)))
        added: torch.Tensor = frames + self.SE_Connect(inner)
        return added


class _Pooling(nn.Module):
    """Mean and deviation over time, each feature with its own attention."""

    def __init__(self, features: int, attention: int) -> None:
        super().__init__()
        self.linear1 = nn.Conv1d(features, attention, 1)
        self.linear2 = nn.Conv1d(attention, features, 1)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        shares = self.linear2(torch.tanh(self.linear1(frames))).softmax(dim=2)
        mean = (shares * frames).sum(dim=2)
        # May be negative by rounding, hence the clamp below.
        variance = (shares * frames.square()).sum(dim=2) - mean.square()
        return torch.cat([mean, variance.clamp(min=_LEAST_VARIANCE).sqrt()], dim=1)
