"""Guest for UniCodec at 24 kHz, with the repository ``unicodec`` that corrected its authors' inference."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import guest_tools

CHECKPOINT = "unicode.ckpt"
CONFIG = "configs/unicodec_frame75_10s_nq1_code16384_dim512_finetune.yaml"
"""The model's sizes, in the repository: the publisher's file has parameters alone."""
DOMAINS = {"speech": "0", "music": "1", "audio": "2"}
PARTS = ("feature_extractor.", "backbone.", "head.")
"""Prefixes of the codec's parameters; the file also holds discriminators and the state of the training."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((CHECKPOINT,))]


class Guest:
    """One codebook with a part for each domain; the card's setting ``domain`` says which part is searched."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        _stand_in_for_fairseq()
        from unicodec.decoder import pretrained  # type: ignore[import-not-found]  # in the private environment alone

        self.torch, self.device = torch, guest_tools.Device(device)
        checkpoint = _read(torch, guest_tools.weights_folder(card, *weights(card)[0]) / CHECKPOINT)
        model = pretrained.Unicodec.from_hparams0802(str(Path(pretrained.__file__).parents[2] / CONFIG))
        model.load_state_dict({name: value for name, value in checkpoint.items() if name.startswith(PARTS)})
        self.model, self.domain = model.eval().to(device), DOMAINS[card["settings"]["domain"]]
        # The decoder is conditioned on one of four bitrates and was trained for the first.
        self.bitrate = torch.tensor([0], device=device)
        encodec = model.feature_extractor.encodec
        guest_tools.expect(
            card, sampling_rate=encodec.sample_rate, codebooks=encodec.quantizer.n_q,
            codebook_size=encodec.quantizer.bins, frame_rate=encodec.sample_rate / int(encodec.encoder.hop_length),
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio."""
        with self.torch.inference_mode():
            found = self.model.encode_infer(self.device.put(audio), self.domain, bandwidth_id=self.bitrate)
        return self.device.get(found[1][:, 0])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            features = self.model.codes_to_features(self.device.put(tokens).long())
            return self.device.get(self.model.decode(features, bandwidth_id=self.bitrate))


class _Unread:
    """Placeholder for the classes of non-tensor objects in a checkpoint, whose code is not run."""

    def __init__(self, *_values: Any, **_named: Any) -> None:
        pass

    def __setstate__(self, _state: Any) -> None:
        pass


def _read(torch: Any, file: Path) -> Any:
    """Return the parameters of a training checkpoint by name, without running code from it."""
    names = torch.serialization.get_unsafe_globals_in_checkpoint(file)
    unread = [(type("_Unread", (_Unread,), {}), name) for name in names]
    with torch.serialization.safe_globals(unread):
        return torch.load(file, map_location="cpu", weights_only=True)["state_dict"]


def _stand_in_for_fairseq() -> None:
    """Register stand-ins for the modules of fairseq that the encoder imports; Python 3.11 cannot import fairseq.

    All of them belong to training: the masking of frames, and the types of its settings.
    """
    settings = ("EXTRACTOR_MODE_CHOICES", "MASKING_DISTRIBUTION_CHOICES", "LAYER_TYPE_CHOICES")
    networks = ("ConvFeatureExtractionModel", "TransformerEncoder")
    contents: dict[str, dict[str, Any]] = {
        "fairseq": {"utils": SimpleNamespace(get_available_activation_fns=list)},
        "fairseq.dataclass": {"ChoiceEnum": tuple, "FairseqDataclass": object},
        "fairseq.data.data_utils": {"compute_mask_indices": None},
        "fairseq.modules": {"LayerNorm": None},
        "fairseq.models.wav2vec.wav2vec2": dict.fromkeys((*settings, *networks)),
    }
    for name, content in contents.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(content)
