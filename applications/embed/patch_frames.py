"""Backends ``dasheng-frames`` and ``ced-frames``: transformers over patches of a log-mel spectrogram.

Dinkel et al., "Scaling up masked audio encoder learning for general audio classification" (Dasheng), Interspeech 2024;
"CED: Consistent ensemble distillation for audio tagging", ICASSP 2024. Checkpoints are those of the hub
(``mispeech/dasheng-base``, ``mispeech/ced-base``) or a folder of such files; what their publishers' code computes is
written here anew, since transformers has neither, and their repositories ask for running code of the hub. A frame of
Dasheng is a patch of all 64 bands and 40 ms; of CED's patches of 16 bands and 160 ms those of one time are averaged, as
its own pooling over frequencies does. Sounds are divided into parts of some 10 s (1008 and 1012 spectra), as published.
The published weights have not been run in this project: the code is tested on random weights in their layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.transformers_checkpoint import CONFIG, WEIGHTS, find_checkpoint, read_json
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import htk_mel, mel_edges, triangles

BANDS, WINDOW, HOP = 64, 512, 160
"""Of the spectrogram at 16 kHz, for both."""
FLOOR, RANGE_DB = 1e-10, 120.0
"""Least power, and how far below the loudest a level is cut."""
_HEADS = {192: 3, 256: 4, 384: 6, 768: 12, 1280: 16, 1536: 24}
"""Heads of the published sizes, by width; a configuration that states them has its own."""
# layer norms of timm's vision transformers have 1e-6, torch's batch norm has 1e-5 by default
_EPSILON = 1e-6
_BATCH_EPSILON = 1e-5
_PUBLISHED = {"dasheng": ("mispeech/dasheng-base", 1008), "ced": ("mispeech/ced-base", 1012)}
"""Repository, and spectra of the longest part."""


class PatchFrames(FrameBackend):
    """Frames ``(frames, dimensions)``: 25 a second of Dasheng, 6.25 of CED."""

    kind: ClassVar[str]
    defaults: ClassVar[Mapping[str, Setting]] = {}

    def prepare(self) -> Model:
        """Find or fetch configuration and weights. Raises MissingModel; ApplicationError for another network."""
        repository, longest = _PUBLISHED[self.kind]
        found = find_checkpoint(f"{self.kind}-frames", repository, (), self.chosen or self.weights or repository)
        if (kind := found.config.get("model_type", self.kind)) != self.kind:
            raise ApplicationError(f"{self.kind}-frames: expected a checkpoint of {self.kind}, got one of {kind}")
        sizes = {**found.config, **found.config.get("encoder_kwargs", {})}
        step = _pair(sizes.get("patch_stride", (64, 4) if self.kind == "dasheng" else 16))[1]
        settings: dict[str, Setting] = {
            "hop_s": step * HOP / self.rate, "part_spectra": int(sizes.get("target_length", longest)),
            "over_frequency": "mean",
        }  # fmt: skip
        return Model(f"{self.kind}-frames:{found.source}", found.sha256, settings, found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a checkpoint of another one."""
        from codec_superb.applications.torch_setup import set_up_torch

        assert model.path is not None
        set_up_torch(threads)
        config = read_json(model.path / CONFIG)
        sizes = {**config, **config.get("encoder_kwargs", {})}
        self._network = _Network(_tensors(model.path), sizes.get("num_heads"), device)
        self._longest = int(model.settings["part_spectra"])

    def frames(self, samples: Samples) -> Frames:
        """Return the frames of all parts of a clip."""
        levels = levels_of(samples)
        if levels.shape[1] < self._network.step:
            raise PredictionFailed(
                f"the clip has {samples.size} samples at {self.rate} Hz; a frame has {self._network.step * HOP}"
            )
        return self._network.frames(levels, self._longest)

    def close(self) -> None:
        """Release the network."""
        del self._network


class DashengFrames(PatchFrames):
    """Dasheng: patches of all bands."""

    kind: ClassVar[str] = "dasheng"


class CedFrames(PatchFrames):
    """CED: patches of a quarter of the bands."""

    kind: ClassVar[str] = "ced"


def levels_of(samples: Samples) -> Frames:
    """Return levels in dB of 64 bands, ``(bands, spectra)``: HTK's mel to 8 kHz, power, centred windows.

    As torchaudio's ``MelSpectrogram`` and ``AmplitudeToDB(top_db=120)``. Raises PredictionFailed for a sound that is
    too short to be reflected at its ends.
    """
    if samples.size <= WINDOW // 2:
        raise PredictionFailed(f"the clip has {samples.size} samples: expected more than {WINDOW // 2}")
    padded = np.pad(samples.astype(np.float64), WINDOW // 2, mode="reflect")
    power = np.square(np.abs(np.fft.rfft(frame(padded, WINDOW, HOP) * hann(WINDOW))))
    levels = 10.0 * np.log10(np.maximum(_filters() @ power.T, FLOOR))
    found: Frames = np.maximum(levels, levels.max() - RANGE_DB).astype(np.float32)
    return found


@cache
def _filters() -> Any:
    # HTK: mel = 1127 ln(1 + f / 700)
    edges = 700.0 * np.expm1(mel_edges(BANDS, 0.0, FrameBackend.rate / 2, htk_mel) / 1127.0)
    return triangles(edges, bin_hertz(WINDOW, FrameBackend.rate))


class _Network:
    """The encoder; its tensors have the names of the publishers' code."""

    def __init__(self, tensors: Mapping[str, Any], heads: object, device: str) -> None:
        import torch

        self._of = _unwrapped({name: value.float().to(device) for name, value in tensors.items()})
        try:
            self._patch = self._of["patch_embed.proj.weight"]
            self._time, self._frequency = self._of["time_pos_embed"], self._of["freq_pos_embed"]
            self._scale = self._of["init_bn.weight"] / torch.sqrt(self._of["init_bn.running_var"] + _BATCH_EPSILON)
            self._shift = self._of["init_bn.bias"] - self._of["init_bn.running_mean"] * self._scale
        except KeyError as error:
            raise MissingModel(f"the checkpoint is no encoder of spectrogram patches: it has no {error}") from error
        if "cls_token" in self._of or self._scale.numel() != BANDS:
            raise MissingModel(f"expected an encoder of {BANDS} bands without a class token, got another checkpoint")
        width = int(self._patch.shape[0])
        self._heads = int(str(heads)) if heads else _HEADS.get(width, width // 64)
        self._device = device
        self.step = int(self._patch.shape[3])
        self._depth = len({name.split(".")[1] for name in self._of if name.startswith("blocks.")})

    def frames(self, levels: Frames, longest: int) -> Frames:
        """Return ``(frames, width)`` of levels; the last part is filled up with zeros, whose frames are cut off."""
        import torch

        with torch.inference_mode():
            scaled = torch.from_numpy(levels).to(self._device) * self._scale[:, None] + self._shift[:, None]
            parts = list(scaled.split(longest, dim=1))
            if len(parts) > 1:
                parts[-1] = torch.nn.functional.pad(parts[-1], (0, longest - parts[-1].shape[1]))
            found = torch.cat([self._encode(part) for part in parts])
        own: Frames = found[: max(1, levels.shape[1] // self.step)].float().cpu().numpy()
        return own

    def _encode(self, part: Any) -> Any:
        import torch

        patches = torch.nn.functional.conv2d(
            part[None, None], self._patch, self._of["patch_embed.proj.bias"], stride=self._patch.shape[2:]
        )
        placed = (patches + self._time[..., : patches.shape[-1]] + self._frequency)[0]  # (width, bands, times)
        bands, times = placed.shape[1:]
        x = placed.flatten(1).T
        for number in range(self._depth):
            x = self._block(x, f"blocks.{number}.")
        return self._norm(x, "norm").reshape(bands, times, -1).mean(dim=0)

    def _block(self, x: Any, name: str) -> Any:
        import torch

        tokens, width = x.shape
        joined = self._linear(self._norm(x, f"{name}norm1"), f"{name}attn.qkv")
        query, key, value = joined.reshape(tokens, 3, self._heads, -1).permute(1, 2, 0, 3)
        attended = torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]
        mixed = self._linear(attended.transpose(0, 1).reshape(tokens, width), f"{name}attn.proj")
        x = x + mixed * self._of.get(f"{name}ls1.gamma", 1.0)
        inner = torch.nn.functional.gelu(self._linear(self._norm(x, f"{name}norm2"), f"{name}mlp.fc1"))
        return x + self._linear(inner, f"{name}mlp.fc2") * self._of.get(f"{name}ls2.gamma", 1.0)

    def _linear(self, x: Any, name: str) -> Any:
        import torch

        return torch.nn.functional.linear(x, self._of[f"{name}.weight"], self._of.get(f"{name}.bias"))

    def _norm(self, x: Any, name: str) -> Any:
        import torch

        return torch.nn.functional.layer_norm(
            x, x.shape[-1:], self._of[f"{name}.weight"], self._of[f"{name}.bias"], _EPSILON
        )


def _unwrapped(of: Mapping[str, Any]) -> dict[str, Any]:
    """Return tensors without what their classes put before the names: ``encoder.``, and 1 for the middle of three."""
    bare = {name.removeprefix("encoder."): value for name, value in of.items()}
    return {name.replace("init_bn.1.", "init_bn."): value for name, value in bare.items()}


def _tensors(folder: Path) -> Mapping[str, Any]:
    import torch
    from safetensors.torch import load_file

    file = next(folder / name for name in WEIGHTS if (folder / name).is_file())
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        state: Mapping[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # both raise what their readers do
        raise MissingModel(
            f"{file.name} cannot be read as weights: {str(error).splitlines()[0]}; fetch it again"
        ) from error
    return state


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, int) else (int(size[0]), int(size[1]))
