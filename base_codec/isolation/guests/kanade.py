"""Guest for Kanade, with the code of its author's repository ``kanade-tokenizer`` and the vocoder Vocos."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import guest_tools
import numpy as np

FILES = ("config.yaml", "model.safetensors")
VOCOS = ("config.yaml", "pytorch_model.bin")
WAVLM = "wavlm_base_plus.pth"
TRAINING = ("ssl_feature_extractor.", "feature_decoder.", "conv_upsample.")
"""Parameters that the file may lack: WavLM, which has its own, and what only training calls."""
LOST = 135
"""Samples by which the sound may be shorter than its tokens: the spectrum has whole hops of 256."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files | guest_tools.Download]:
    """Return what the guest opens: Kanade, WavLM and Vocos."""
    settings = card["settings"]
    listener = guest_tools.Download(WAVLM, settings["listener"])
    if "weights" in settings:  # the user's folder holds all
        vocoder = guest_tools.Files(tuple(f"{vocoder_folder(card)}/{name}" for name in VOCOS))
    else:
        vocoder = guest_tools.Files(VOCOS, origin=settings["vocoder"])
    return [guest_tools.Files(FILES), listener, vocoder]


class Guest:
    """One FSQ codebook for the content of speech, and a vector of 128 numbers per clip for the voice."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        import torchaudio

        self.torch, self.device = torch, guest_tools.Device(device)
        own, heard, spoken = weights(card)
        folder = guest_tools.weights_folder(card, *own)
        listener = torch.load(guest_tools.weights_file(card, *heard), map_location="cpu", weights_only=True)
        bundle = torchaudio.pipelines.WAVLM_BASE_PLUS
        bundle._get_state_dict = lambda _: listener  # noqa: SLF001 - else torchaudio fetches it, the folder or not
        self.model = self._open_model(folder)
        vocoder = guest_tools.weights_folder(card, *spoken)
        self.vocoder = self._open_vocoder(vocoder / vocoder_folder(card) if "weights" in card["settings"] else vocoder)
        config, extractor = self.model.config, self.model.ssl_feature_extractor
        hop = extractor.hop_size * config.downsample_factor * config.sample_rate / extractor.ssl_sample_rate
        self.hop, self.voice = int(hop), int(self.model.global_encoder.output_dim)
        guest_tools.expect(
            card, sampling_rate=config.sample_rate, codebooks=1, frame_rate=config.sample_rate / hop,
            codebook_size=self.model.local_quantizer.all_codebook_size,
        )  # fmt: skip

    def _open_model(self, folder: Path) -> Any:
        import yaml
        from kanade_tokenizer import KanadeModel  # type: ignore[import-not-found]  # in the private environment alone
        from kanade_tokenizer.module.transformer import Attention  # type: ignore[import-not-found]
        from safetensors.torch import load_file

        refuse_other_classes(yaml.safe_load((folder / FILES[0]).read_text()))
        model = KanadeModel.from_hparams(str(folder / FILES[0]))
        missing, unknown = model.load_state_dict(load_file(folder / FILES[1]), strict=False)
        guest_tools.refuse_gaps(FILES[1], missing, TRAINING)
        if unknown:
            raise ValueError(f"expected in {FILES[1]} what {FILES[0]} describes, got {unknown[0]} besides")
        model.feature_decoder = None  # reconstructs features of WavLM in training, and its result is dropped here
        for part in model.modules():
            # Without flash-attn the package drops a tenth of attention at random, in training and after it.
            if isinstance(part, Attention):
                part.dropout = 0.0
        return model.eval().to(self.device.name)

    def _open_vocoder(self, folder: Path) -> Any:
        from vocos import Vocos  # type: ignore[import-not-found]  # in the private environment alone

        vocoder = Vocos.from_hparams(str(folder / VOCOS[0]))
        vocoder.load_state_dict(self.torch.load(folder / VOCOS[1], map_location="cpu", weights_only=True))
        return vocoder.eval().to(self.device.name)

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio, zero-padded to whole frames, and its voice as 128 float32."""
        frames = ceil((audio.shape[1] + LOST) / self.hop)
        padded = np.pad(audio[0], (0, frames * self.hop - audio.shape[1]))
        features = self.model.encode(self.device.put(padded))
        voice = self.device.get(features.global_embedding).astype("<f4").tobytes()
        return self.device.get(features.content_token_indices[None]), voice

    def decode(self, tokens: Any, _channels: int, side: bytes) -> Any:
        """Return audio ``(1, samples)``."""
        if len(side) != 4 * self.voice:
            raise ValueError(f"expected {4 * self.voice} bytes beside the tokens, got {len(side)}")
        voice = self.device.put(np.frombuffer(side, "<f4").copy())
        spectrum = self.model.decode(voice, content_token_indices=self.device.put(tokens[0]).long())
        with self.torch.inference_mode():
            return self.device.get(self.vocoder.decode(spectrum[None]))


def vocoder_folder(card: dict[str, Any]) -> str:
    """Return where Vocos lies in a folder given by the user, whose top has a file of the same name."""
    return str(card["settings"]["vocoder"]["source"]).split("/")[1]


def refuse_other_classes(config: Any) -> None:
    """Raise ValueError where a configuration names a class that is not the package's: it would be imported and run."""
    if not isinstance(config, dict):
        return
    name = config.get("class_path")
    if name is not None and not str(name).startswith("kanade_tokenizer."):
        raise ValueError(f"expected classes of kanade_tokenizer in {FILES[0]}, got {name}")
    for part in config.values():
        refuse_other_classes(part)
