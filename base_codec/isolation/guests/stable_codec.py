"""Guest for Stable Codec, with its authors' packages ``stable-codec`` and ``stable-audio-tools``."""

from __future__ import annotations

from typing import Any

import guest_tools
import numpy as np

FILES = ("model_config.json", "model.safetensors")


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """One FSQ codebook or several residual ones; the quantizer is inserted after training (post-hoc bottleneck)."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        import torch
        from safetensors.torch import load_file
        from stable_codec import StableCodec  # type: ignore[import-not-found]  # in the private environment alone

        self.torch, self.device = torch, guest_tools.Device(device)
        codec = StableCodec(model_config_path=str(folder / FILES[0]), device=torch.device(device))
        codec.model.load_state_dict(load_file(folder / FILES[1]))
        _attend_in_windows(codec.model)
        codec.set_posthoc_bottleneck(card["settings"]["bottleneck"])
        self.codec, quantizers = codec.eval(), codec.residual_fsq.quantizers
        guest_tools.expect(
            card,
            sampling_rate=codec.sample_rate,
            codebooks=len(quantizers),
            codebook_size=quantizers[0].codebook_size,
            frame_rate=codec.sample_rate / codec.model.downsampling_ratio,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, the last frame padded with silence."""
        with self.torch.inference_mode():
            sound = self.codec.model.preprocess_audio_for_encoder(self.device.put(audio), self.codec.sample_rate)
            stages = self.codec.encode(sound, posthoc_bottleneck=True)[1]
        return np.stack([self.device.get(stage[0, :, 0]) for stage in stages])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        stages = [self.device.put(stage.astype(np.int64))[None, :, None] for stage in tokens]
        with self.torch.inference_mode():
            return self.device.get(self.codec.decode(stages, posthoc_bottleneck=True)[0])


def _attend_in_windows(model: Any) -> None:
    """Replace the model's attention by the sliding window it was trained with, which its package has only for GPUs.

    Without flash-attn the package attends to the whole clip, which it calls incorrect itself.
    """
    from stable_audio_tools.models import transformer  # type: ignore[import-not-found]

    transformer.flash_attn_func = windowed_attention
    for module in model.modules():
        if isinstance(module, transformer.Attention):
            module.use_fa_flash = True


def windowed_attention(q: Any, k: Any, v: Any, causal: bool, window_size: list[int]) -> Any:
    """Compute what ``flash_attn_func`` of the package flash-attn computes, on any device.

    ``q``, ``k``, ``v``: ``(batch, frames, heads, width)``; frame i attends to those from i - window_size[0] to
    i + window_size[1], -1 being no limit. The package passes half precision, as on a GPU; the result is float32, where
    flash-attn rounds it to half precision.
    """
    if causal:
        raise ValueError("expected attention to both sides, got causal")
    heads = (part.transpose(1, 2).float() for part in (q, k, v))
    return guest_tools.windowed_attention(*heads, window_size).transpose(1, 2)
