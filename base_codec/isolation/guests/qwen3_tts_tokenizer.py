"""Guest for the 12.5 Hz tokenizer of Qwen3-TTS, with its authors' package ``qwen-tts``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import guest_tools

FILES = ("config.json", "model.safetensors")


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """Sixteen codebooks by the encoder of Mimi, and a decoder of its own; computed in float32."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.device = torch, guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        tokenizer: Any = tokenizer_class()  # output_loading_info makes from_pretrained return a pair
        model, report = tokenizer.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        # The mark that a codebook was initialised belongs to training.
        guest_tools.refuse_gaps(FILES[1], report["missing_keys"], ("codebook.initialized",))
        self.model, config = model.eval().to(device), model.config
        self.hop = int(config.encode_downsample_rate)
        guest_tools.expect(
            card,
            sampling_rate=config.input_sample_rate,
            codebooks=config.encoder_valid_num_quantizers,
            codebook_size=config.encoder_config.codebook_size,
            frame_rate=config.input_sample_rate / self.hop,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(16, frames)`` of mono audio; the package pads the last frame with silence."""
        sound = self.device.put(audio)
        with self.torch.inference_mode():
            whole = self.torch.ones_like(sound, dtype=self.torch.long)
            return self.device.get(self.model.encode(sound, whole).audio_codes[0].T)

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.model.decode(self.device.put(tokens).T[None].long()).audio_values[0][None])


def tokenizer_class() -> Any:
    """Return the class of the tokenizer, without the speech synthesis and the other tokenizer beside it."""
    found = importlib.util.find_spec("qwen_tts")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("expected the package qwen-tts in the private environment, found none; rebuild it")
    sys.path.insert(0, str(Path(found.origin).with_name("core")))
    from tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import (  # type: ignore[import-not-found]  # in the private environment alone
        Qwen3TTSTokenizerV2Model,
    )

    return Qwen3TTSTokenizerV2Model
