"""Guest for XY-Tokenizer, with the code of its authors' repository ``XY-Tokenizer``."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import guest_tools

CHECKPOINT = "xy_tokenizer.ckpt"
CONFIGURATION = "xy_tokenizer_config.yaml"


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((CHECKPOINT,))]


class Guest:
    """Eight residual codebooks over a semantic and an acoustic Whisper encoder."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        import yaml

        # The package imports librosa and calls nothing of it.
        sys.modules.setdefault("librosa", module_from_spec(ModuleSpec("librosa", None)))
        from xy_tokenizer.model import XY_Tokenizer  # type: ignore[import-not-found]  # in the private environment alone

        self.device = guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        config = yaml.safe_load(configuration(folder).read_text())["generator_params"]
        stored = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
        self.model = XY_Tokenizer(config)
        self.model.load_state_dict(stored.get("generator", stored))
        self.model.eval().to(device)
        quantizer = self.model.quantizer
        if not all(bool(layer.inited) for layer in quantizer.quantizers):
            raise ValueError(f"expected trained codebooks in {CHECKPOINT}, got some that are not initialised")
        self.hop = int(self.model.downsample_rate)
        guest_tools.expect(
            card, sampling_rate=self.model.sample_rate, codebooks=quantizer.num_quantizers,
            codebook_size=quantizer.codebook_size, frame_rate=self.model.sample_rate / self.hop,
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(8, frames)`` of mono audio, zero-padded: the package drops an incomplete last frame."""
        padded = self.device.put(guest_tools.filled(audio, self.hop)[0])
        return self.device.get(self.model.encode([padded], device=self.device.name)["codes_list"][0])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        codes = self.device.put(tokens)
        return self.device.get(self.model.decode([codes], device=self.device.name)["syn_wav_list"][0][None])


def configuration(folder: Path) -> Path:
    """Return the configuration beside the checkpoint if there is one, else that of the package's repository."""
    own = folder / CONFIGURATION
    if own.is_file():
        return own
    found = find_spec("xy_tokenizer")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("expected XY-Tokenizer in the private environment, found none; rebuild it")
    return Path(next(iter(found.submodule_search_locations))).with_name("config") / CONFIGURATION
