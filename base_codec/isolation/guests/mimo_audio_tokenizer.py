"""Guest for the tokenizer of MiMo-Audio, with the code of its authors' repository ``MiMo-Audio``."""

from __future__ import annotations

import itertools
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any

import guest_tools
import numpy as np

FILES = ("config.json", "model.safetensors")
HEARD, SPOKEN = 6000, 1500
"""Frames of the spectrum, and tokens, that the authors' own program passes at one go: a minute of sound."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """Residual codebooks of 1,024 and 128 entries at 25 Hz between transformers; computed in float32."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from torchaudio.transforms import MelSpectrogram

        self.torch, self.device, self.used = torch, guest_tools.Device(device), card["codebooks"]
        provide_attention()
        from mimo_audio_tokenizer import MiMoAudioTokenizer  # type: ignore[import-not-found]  # in the private environment alone

        folder = guest_tools.weights_folder(card, *weights(card)[0])
        model, report = MiMoAudioTokenizer.from_pretrained(folder, torch_dtype=torch.float32, output_loading_info=True)
        guest_tools.refuse_gaps(FILES[1], report["missing_keys"])
        self.model, config = model.eval().to(device), model.config
        self.spectrum = MelSpectrogram(
            sample_rate=config.sampling_rate, n_fft=config.nfft, hop_length=config.hop_length, n_mels=config.n_mels,
            win_length=config.window_size, f_min=config.fmin, f_max=config.fmax, power=1.0, center=True,
        ).to(device)  # fmt: skip
        self.hop = int(self.model.downsample_rate)
        guest_tools.expect(
            card, sampling_rate=config.sampling_rate, frame_rate=config.sampling_rate / self.hop,
            codebook_sizes=[*config.codebook_size[: self.used]],
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio.

        Where the clip ends with a frame, the package codes one more for the window centred on its end; it is left out.
        Silence fills a clip that is shorter than a frame: the package refuses one shorter than half a window.
        """
        sound = self.device.put(np.pad(audio, ((0, 0), (0, max(0, self.hop - audio.shape[1])))))
        with self.torch.inference_mode():
            frames: Any = self.torch.log(self.spectrum(sound).clip(min=1e-7))[0].T
            frames = frames[: -1 if sound.shape[1] % self.hop == 0 else None]
            whole, rest = divmod(len(frames), HEARD)
            lengths = [HEARD] * whole + [rest] * (rest > 0)
            inputs = self.torch.tensor(lengths, device=self.device.name)[:, None]
            pieces = [
                self.model.encoder.encode(piece, input_lens=length, return_codes_only=True, n_q=self.used)[0]
                for piece, length in zip(frames.split(lengths), inputs, strict=True)
            ]
        return self.device.get(self.torch.cat(pieces, dim=1))

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        codes = self.device.put(tokens).long()
        with self.torch.inference_mode():
            pieces = [self.model.decode(piece)[0] for piece in codes.split(SPOKEN, dim=1)]
        return self.device.get(self.torch.cat(pieces, dim=1))


def provide_attention() -> None:
    """Let the package import ``flash_attn``, which runs on GPUs only: the function that it calls, for any device."""
    module = module_from_spec(ModuleSpec("flash_attn", None))
    module.flash_attn_varlen_func = attention  # type: ignore[attr-defined]
    sys.modules.setdefault("flash_attn", module)


def attention(
    q: Any, k: Any, v: Any, starts: Any, _k_starts: Any, *_longest: Any, causal: bool, window_size: Any
) -> Any:
    """Compute what ``flash_attn_varlen_func`` of the package flash-attn computes where queries are keys, on any device.

    ``q``, ``k``, ``v``: ``(frames, heads, width)`` of sequences end to end, the n-th from ``starts[n]`` to
    ``starts[n + 1]``. Frame i of one attends to its frames i - window_size[0] to i + window_size[1], -1 being no limit,
    and if causal to none behind i.
    """
    import torch

    sequences = [
        guest_tools.windowed_attention(
            *(part[first:end].transpose(0, 1) for part in (q, k, v)), window_size, causal=causal
        )
        for first, end in itertools.pairwise(starts.cpu().numpy().tolist())
    ]
    return torch.cat(sequences, dim=1).transpose(0, 1)
