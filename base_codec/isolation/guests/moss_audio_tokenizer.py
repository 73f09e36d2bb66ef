"""Guest for MOSS-Audio-Tokenizer, with the code of its authors' repository ``MOSS-Audio-Tokenizer``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import guest_tools

INDEX = "model.safetensors.index.json"
FILES = ("config.json", INDEX, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """Up to 32 residual codebooks between causal transformers, without convolutions."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.device, self.used = torch, guest_tools.Device(device), card["codebooks"]
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        tokenizer: Any = model_class()  # output_loading_info makes from_pretrained return a pair
        model, report = tokenizer.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        guest_tools.refuse_gaps(INDEX, report["missing_keys"])
        self.model, config = model.eval().to(device), model.config
        self.hop = int(config.downsample_rate)
        guest_tools.expect(
            card,
            sampling_rate=config.sampling_rate,
            codebook_size=model.quantizer.codebook_size,
            frame_rate=config.sampling_rate / self.hop,
        )
        if self.used > model.quantizer.num_quantizers:
            raise ValueError(f"expected a model of {self.used} codebooks, got {model.quantizer.num_quantizers}")

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, zero-padded: the package masks an incomplete frame."""
        padded = self.device.put(guest_tools.filled(audio, self.hop))
        with self.torch.inference_mode():
            return self.device.get(self.model.encode(padded[None], num_quantizers=self.used).audio_codes[:, 0])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.model.decode(self.device.put(tokens)).audio[0])


def model_class() -> Any:
    """Return the class of the model; its files are a package whose folder bears the repository's name."""
    found = find_spec("modeling_moss_audio_tokenizer")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("expected MOSS-Audio-Tokenizer in the private environment, found none; rebuild it")
    package = sys.modules.setdefault("moss_audio_tokenizer", ModuleType("moss_audio_tokenizer"))
    package.__path__ = [str(Path(found.origin).parent)]
    from moss_audio_tokenizer.modeling_moss_audio_tokenizer import (  # type: ignore[import-not-found]  # in the private environment alone
        MossAudioTokenizerModel,
    )

    return MossAudioTokenizerModel
