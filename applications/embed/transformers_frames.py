"""Backends ``transformers-frames`` and ``pooled-transformers``: HuBERT, wav2vec 2.0, WavLM and Whisper's encoder.

A checkpoint of transformers is named behind the colon (``OWNER/NAME[@REVISION]`` or a folder), or by ``--weights``. The
option ``layer`` takes the output of that layer instead of the last one's; 0 is the input of the first. Each clip is
encoded alone. One of more than 30 s is divided into equal parts of at most 30 s, which hear nothing of each other;
Whisper takes no more at once, and the silence that fills up its 30 s has no frames. The published weights of HuBERT,
wav2vec 2.0 and WavLM have not been run in this project: the code is tested on checkpoints with seeded random weights,
and Whisper's on tiny.en.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, prod
from typing import Any, ClassVar

import numpy as np

from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.transformers_checkpoint import (
    PREPROCESSOR,
    find_checkpoint,
    frame_samples,
    import_transformers,
    load_network,
    read_json,
)

LAST = -1
PART_S = 30
_NETWORKS = {"hubert": "HubertModel", "wav2vec2": "Wav2Vec2Model", "wavlm": "WavLMModel", "whisper": "WhisperModel"}
"""``model_type`` of a configuration, and the class of its network."""
_WHISPER_HOP = 320
"""Samples of a frame: spectra every 160, of which a convolution takes every second."""
_UNUSED = frozenset({"masked_spec_embed"})
"""Tensors that only training needs."""
_Layer = Callable[[Samples], Any]


class TransformersFrames(FrameBackend):
    """Frames ``(frames, dimensions)``, 20 ms apart with the usual checkpoints."""

    kind: ClassVar[str] = "transformers-frames"
    defaults: ClassVar[Mapping[str, Setting]] = {"layer": LAST}

    def prepare(self) -> Model:
        """Find or fetch configuration, preprocessor and weights.

        Raises ApplicationError where none is named, for another kind of network, and for a layer that it has not.
        """
        given = self.chosen or self.weights
        if not given:
            raise ApplicationError(f"{self.kind}: name a checkpoint, such as {self.kind}:facebook/hubert-base-ls960")
        found = find_checkpoint(self.kind, "facebook/hubert-base-ls960", (PREPROCESSOR,), given)
        config, kind = found.config, str(found.config.get("model_type"))
        if kind not in _NETWORKS:
            raise ApplicationError(f"{self.kind}: expected a checkpoint of {', '.join(_NETWORKS)}, got {kind}")
        layers = int(config["encoder_layers" if kind == "whisper" else "num_hidden_layers"])
        if not LAST <= int(self.options["layer"]) <= layers:
            raise ApplicationError(f"option layer: expected 0 to {layers}, got {self.options['layer']}")
        preprocessor = found.read(PREPROCESSOR)
        if preprocessor.get("sampling_rate", self.rate) != self.rate:
            raise ApplicationError(
                f"{self.kind}: expected a model of {self.rate} Hz, got {preprocessor['sampling_rate']} Hz"
            )
        settings: dict[str, Setting] = {"hop_s": _hop(config) / self.rate, "part_s": PART_S, **self.options}
        if kind != "whisper":
            settings["unit_variance"] = bool(preprocessor.get("do_normalize", True))
        return Model(f"{self.kind}:{found.source}", found.sha256, settings, found.folder, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Load the network. Raises MissingModel for a checkpoint of another one."""
        assert model.path is not None
        config = read_json(model.path / "config.json")
        network = load_network(_NETWORKS[config["model_type"]], model.path, device, threads, unused=_UNUSED)
        if config["model_type"] == "whisper":
            self._hop = self._needed = _WHISPER_HOP
            self._encode = _whisper(network, model, device, int(self.options["layer"]))
        else:
            self._hop = _hop(config)
            self._needed = frame_samples(network.config.conv_kernel, network.config.conv_stride)
            self._encode = _wav2vec(network, device, int(self.options["layer"]), bool(model.settings["unit_variance"]))

    def frames(self, samples: Samples) -> Frames:
        """Return the frames of all parts of a clip."""
        import torch

        if samples.size < self._needed:
            raise PredictionFailed(f"the clip has {samples.size} samples at {self.rate} Hz; a frame has {self._needed}")
        with torch.inference_mode():
            found = [self._encode(part).float().cpu().numpy() for part in parts(samples, self._hop, self._needed)]
        return np.concatenate(found)

    def close(self) -> None:
        """Release the network."""
        del self._encode


class PooledTransformers(TransformersFrames):
    """One vector ``(dimensions,)`` a clip: its frames, averaged unless the option ``pooling`` says otherwise."""

    kind: ClassVar[str] = "pooled-transformers"
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean", **TransformersFrames.defaults}


def parts(samples: Samples, hop: int, needed: int) -> list[Samples]:
    """Divide a clip of more than 30 s into equal parts of whole hops; each reaches as far as its last frame needs."""
    count = max(1, ceil((samples.size - (needed - hop)) / (PART_S * FrameBackend.rate)))
    if count == 1:
        return [samples]
    step = ceil((samples.size - (needed - hop)) / count / hop) * hop
    return [samples[start : start + step + needed - hop] for start in range(0, samples.size - needed + 1, step)]


def _hop(config: Mapping[str, Any]) -> int:
    """Return the samples between two frames."""
    # the strides that transformers takes where a configuration names none
    strides = config.get("conv_stride", (5, 2, 2, 2, 2, 2, 2))
    return _WHISPER_HOP if config["model_type"] == "whisper" else prod(strides)


def _chosen(answer: Any, layer: int) -> Any:
    return answer.last_hidden_state[0] if layer == LAST else answer.hidden_states[layer][0]


def _wav2vec(network: Any, device: str, layer: int, normalised: bool) -> _Layer:
    import torch

    from codec_superb.applications.torch_setup import unit_variance

    def encode(part: Samples) -> Any:
        clip = torch.from_numpy(np.array(part, np.float32))[None].to(device)
        return _chosen(network(unit_variance(clip) if normalised else clip, output_hidden_states=layer != LAST), layer)

    return encode


def _whisper(network: Any, model: Model, device: str, layer: int) -> _Layer:
    extractor = import_transformers().WhisperFeatureExtractor.from_pretrained(model.path, local_files_only=True)
    encoder = network.get_encoder()

    def encode(part: Samples) -> Any:
        spectra = extractor(part, sampling_rate=FrameBackend.rate, padding="max_length", return_tensors="pt")
        answer = encoder(spectra.input_features.to(device), output_hidden_states=layer != LAST)
        return _chosen(answer, layer)[: ceil(part.size / _WHISPER_HOP)]

    return encode
