"""DistillMOS: mean opinion scores by a small network distilled from a large self-supervised one; no reference.

The network is written out here and loads the published weights, so that neither the package distillmos nor
xls-r-sqa, with their packages, need be installed: power-law compressed spectra, six convolutions, a transformer of
seven layers, attention pooling. As in the package, a clip is padded with zeros to 7.68 s or cut into segments of
7.68 s, evenly spaced at most a second apart; each is scaled to full scale; their scores are averaged.

Paper: Stahl and Gamper, Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality
Assessment, ICASSP 2025.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from codec_superb.applications.interface import Model
from codec_superb.applications.model_files import embedded_model_folder, folder_with, refuse_variant, sha256_of
from codec_superb.applications.quality.torch_mos import TorchMosBackend

FILE = "distill_mos_v7.pt"
SEGMENT, MAX_HOP = 122_880, 16_000
"""Samples at 16 kHz."""

_WINDOW, _HOP = 320, 160
_CHANNELS = (64, 64, 128, 256, 256, 256)
_FRAMES, _WIDTH, _LAYERS, _HEADS = 384, 200, 7, 8
_POWER = 0.3
"""Exponent that magnitudes are compressed with."""
_AT_ONCE = 8
"""Segments of a clip that are computed together, always the same ones."""
_NAMES = {
    "cnn.cnn.": "convolutions.",
    "transformer_pool_attn.transformer.position_encoding.pe": "positions",
    "transformer_pool_attn.transformer.transformer_encoder.": "encoder.",
    "transformer_pool_attn.transformer.linear_proj.": "narrow.",
    "transformer_pool_attn.transformer.norm.": "second_norm.",
    "transformer_pool_attn.norm_input.": "first_norm.",
    "transformer_pool_attn.norm_trans.": "last_norm.",
    "transformer_pool_attn.pool.linear1.": "attention.0.",
    "transformer_pool_attn.pool.linear2.": "attention.2.",
    "transformer_pool_attn.pool.linear3.": "score.",
}
"""Prefixes of names in the published file, and those used here."""


class DistillMos(TorchMosBackend):
    """Answers float32 ``[mos]``, 1 to 5, higher is better."""

    def prepare(self) -> Model:
        """Find the weights: in the folder of ``--weights``, else in the package file. Raises MissingModel."""
        refuse_variant("distillmos", self.variant)
        if self.weights is None:
            folder = embedded_model_folder("distillmos")
        else:
            source = "take it out of the package distillmos 0.9.1 (distillmos/weights), or leave --weights out"
            folder = folder_with("distillmos", self.weights, [FILE], source)
        settings = {"segment_s": SEGMENT / 16_000, "max_hop_s": MAX_HOP / 16_000}
        return Model("distillmos", sha256_of([folder / FILE]), settings, folder)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the weights onto ``device``."""
        assert model.path is not None
        published = torch.load(model.path / FILE, map_location="cpu", weights_only=True)["model"]
        network = DistillMosNetwork()
        network.load_state_dict({renamed(name): value for name, value in published.items()})
        self.use(network, device, threads)

    def opinion(self, samples: Any) -> Any:
        """Return the mean over the clip's segments."""
        cut = segments(samples)
        scores = [self.network(cut[start : start + _AT_ONCE]) for start in range(0, len(cut), _AT_ONCE)]
        return torch.cat(scores).mean()


def renamed(name: str) -> str:
    """Return the name in :class:`DistillMosNetwork` of a weight of the published file."""
    for theirs, ours in _NAMES.items():
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    return name


def segments(samples: Any) -> Any:
    """Cut a clip of shape ``(samples,)`` into segments of shape ``(segments, 122880)``, from its start to its end."""
    beyond = max(0, len(samples) - SEGMENT)
    padded = functional.pad(samples, (0, max(0, SEGMENT - len(samples))))
    places = np.linspace(0, 1, ceil(beyond / MAX_HOP) + 1)
    return torch.stack([padded[int(place * beyond) : int(place * beyond) + SEGMENT] for place in places])


class DistillMosNetwork(nn.Module):
    """The network: segments of shape ``(segments, 122880)`` in, opinions of shape ``(segments,)`` out."""

    def __init__(self) -> None:
        super().__init__()
        bins = _WINDOW // 2 + 1
        layers: list[nn.Module] = []
        for index, (before, after) in enumerate(zip((2, *_CHANNELS), _CHANNELS, strict=False)):
            stride = (1 if index == 0 else 2, 2 if index == len(_CHANNELS) - 1 else 1)
            layers += [nn.Conv2d(before, after, 3, stride=stride, padding=(0, 1)), nn.LeakyReLU(0.1)]
            bins = (bins - 3) // stride[0] + 1
        features = _CHANNELS[-1] * bins
        self.convolutions = nn.Sequential(*layers)
        self.first_norm, self.second_norm = nn.BatchNorm1d(features), nn.BatchNorm1d(features)
        self.narrow = nn.Linear(features, _WIDTH)
        self.register_buffer("positions", torch.zeros(1, _FRAMES, _WIDTH))
        layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, 2 * _WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
        self.last_norm = nn.BatchNorm1d(_WIDTH)
        self.attention = nn.Sequential(nn.Linear(_WIDTH, 2 * _WIDTH), nn.ReLU(), nn.Linear(2 * _WIDTH, 1))
        self.score = nn.Linear(_WIDTH, 1)
        self.register_buffer("taper", torch.hann_window(_WINDOW), persistent=False)

    def forward(self, sounds: Any) -> Any:
        """Return the opinions, 1 to 5."""
        loud = sounds / (sounds.abs().amax(dim=1, keepdim=True) + 1e-8)
        features = self.convolutions(self._spectra(loud)).flatten(1, 2)
        narrowed = self.narrow(self.second_norm(self.first_norm(features)).transpose(1, 2))
        frames = self.encoder(narrowed + self.positions)
        frames = self.last_norm(frames.transpose(1, 2)).transpose(1, 2)
        shares = self.attention(frames).softmax(dim=1)
        pooled = (shares * frames).sum(dim=1)
        # Opinions are 1 to 5.
        return 1 + 4 * self.score(pooled).sigmoid().squeeze(1)

    def _spectra(self, sounds: Any) -> Any:
        """Return compressed complex spectra, real and imaginary part as channels: ``(segments, 2, bins, frames)``."""
        margin = (_WINDOW - _HOP) // 2
        padded = functional.pad(sounds, (margin, margin), mode="reflect")
        taper = self.taper
        spectra = torch.stft(padded, _WINDOW, _HOP, window=taper, center=False, return_complex=True)  # type: ignore[arg-type]
        parts = torch.view_as_real(spectra)
        magnitude = parts.square().sum(dim=-1, keepdim=True).sqrt().clip(1e-12)
        # The phase is kept, the magnitude raised to the power 0.3.
        return (parts * magnitude ** (_POWER - 1)).permute(0, 3, 1, 2)
