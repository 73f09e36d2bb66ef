"""Guest for FocalCodec and FocalCodec-Stream, with the code of their authors' repository ``focalcodec``."""

from __future__ import annotations

from typing import Any

import guest_tools
import numpy as np

FILES = ("config.json", "model.safetensors")


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """One token of binary digits per frame, between layers of WavLM as encoder and a waveform decoder."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from focalcodec import FocalCodec  # type: ignore[import-not-found]  # in the private environment alone
        from safetensors.torch import load_file

        self.torch, self.device = torch, guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        # FlexAttention computes the same attention through torch.compile, which needs a C++ compiler on a CPU.
        plain = {"encoder_config.use_flex_attention": False}
        model = FocalCodec.from_config(str(folder / FILES[0]), pretrained=False, overrides=plain)
        # Its own loader expects other file names than the published ones; it renames parameters of version 0.0.1.
        state = load_file(folder / FILES[1])
        model.load_state_dict(model._remap_state_dict(state, list(model.state_dict())))  # noqa: SLF001
        self.model = model.eval().to(device)
        self.rates = (int(card["sampling_rate"]), int(model.sample_rate_input))
        self.frame = round(self.rates[0] / card["frame_rate"])
        self.tail = 0 if model.causal else _beyond_last_frame(model.encoder)
        step = model.encoder.downsample_factor * model.compressor.downsample_factor
        guest_tools.expect(
            card, sampling_rate=model.sample_rate_output, codebooks=1, codebook_size=model.quantizer.codebook_size,
            frame_rate=self.rates[1] / step, causal=bool(model.causal),
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio, zero-padded: the package drops an incomplete last frame."""
        whole = guest_tools.filled(audio, self.frame)
        if self.rates[0] != self.rates[1]:
            import soxr

            whole = soxr.resample(whole.T, *self.rates, quality="VHQ").T
        padded = self.device.put(np.pad(whole, ((0, 0), (0, self.tail))))
        with self.torch.inference_mode():
            return self.device.get(self.model.sig_to_toks(padded))

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.model.toks_to_sig(self.device.put(tokens).long()))


def _beyond_last_frame(encoder: Any) -> int:
    """Return how many samples after a frame the unpadded convolutions of WavLM need."""
    sees, step = 1, 1
    for kernel, stride in zip(encoder.kernel_sizes, encoder.strides):  # noqa: B905 - as long as each other
        sees += (kernel - 1) * step
        step *= stride
    return sees - step
