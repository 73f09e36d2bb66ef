"""Guest for WavTokenizer, with its authors' code in the package ``outetts``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import guest_tools

CLASSES = {
    "feature_extractor": "decoder.feature_extractors.EncodecFeatures",
    "backbone": "decoder.models.VocosBackbone",
    "head": "decoder.heads.ISTFTHead",
}
"""Classes that a configuration may name; the package's loader would import any class."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files | guest_tools.Download]:
    """Return what the guest opens: a checkpoint with its configuration, which may have an address of its own."""
    settings = card["settings"]
    checkpoint, config = settings["checkpoint"], settings["config"]
    if "config_address" in settings:
        return [guest_tools.Files((checkpoint,)), guest_tools.Download(config, settings["config_address"])]
    return [guest_tools.Files((checkpoint, config))]


class Guest:
    """One codebook at 40 or 75 Hz: an encoder and quantizer as in EnCodec, and a decoder as in Vocos with attention."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        checkpoint, config = files_of(card)
        refuse_other_classes(config)
        sys.path.insert(0, str(folder_of_the_code()))
        from decoder.pretrained import WavTokenizer  # type: ignore[import-not-found]  # in the private environment alone

        self.device = guest_tools.Device(device)
        model = WavTokenizer.from_hparams0802(str(config))
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)["state_dict"]
        # The training checkpoint also holds discriminators and losses.
        model.load_state_dict({name: value for name, value in state.items() if name.split(".")[0] in CLASSES})
        self.model, encodec = model.eval().to(device), model.feature_extractor.encodec
        if not all(layer._codebook.inited for layer in encodec.quantizer.vq.layers):  # noqa: SLF001 - it has no other name
            raise ValueError(f"expected a trained codebook in {checkpoint.name}, got one that is not initialised")
        self.bandwidth = torch.tensor([0], device=device)
        guest_tools.expect(
            card,
            sampling_rate=encodec.sample_rate,
            codebooks=encodec.quantizer.n_q,
            codebook_size=encodec.quantizer.bins,
            frame_rate=encodec.sample_rate / encodec.encoder.hop_length,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(1, frames)`` of each mono clip."""
        return self.device.stacked(audios, self._tokens)

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, self._sound)

    def _tokens(self, audio: Any) -> Any:
        """Return tokens ``(clips, 1, frames)`` of audio ``(clips, 1, samples)``."""
        return self.model.encode_infer(audio[:, 0], bandwidth_id=self.bandwidth)[1].transpose(0, 1)

    def _sound(self, tokens: Any) -> Any:
        """Return audio ``(clips, 1, samples)`` of tokens ``(clips, 1, frames)``."""
        features = self.model.codes_to_features(tokens.transpose(0, 1))
        return self.model.decode(features, bandwidth_id=self.bandwidth)[:, None]


def folder_of_the_code() -> Path:
    """Return the folder of the authors' code in ``outetts``, without importing its speech synthesis.

    That code imports itself as ``decoder`` and ``encoder``, so its folder goes on the import path, as in the package.
    """
    found = importlib.util.find_spec("outetts")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("expected the package outetts in the private environment, found none; rebuild it")
    return Path(found.origin).with_name("wav_tokenizer")


def files_of(card: dict[str, Any]) -> tuple[Path, Path]:
    """Return the checkpoint and its configuration, which for some models comes from another repository."""
    files, *elsewhere = weights(card)
    folder = guest_tools.weights_folder(card, *files)
    checkpoint, config = (folder / card["settings"][name] for name in ("checkpoint", "config"))
    return checkpoint, guest_tools.weights_file(card, *elsewhere[0]) if elsewhere else config


def refuse_other_classes(config: Path) -> None:
    """Raise ValueError when a configuration names another class than those of the publisher's models."""
    import yaml

    model = yaml.safe_load(config.read_text())["model"]["init_args"]
    for part, known in CLASSES.items():
        named = model[part]["class_path"]
        if named != known:
            raise ValueError(f"{config.name}: expected {known} as {part}, got {named}")
