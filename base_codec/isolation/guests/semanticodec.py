"""Guest for SemantiCodec, with the code of its authors' repository ``SemantiCodec-inference``."""

from __future__ import annotations

from contextlib import chdir
from math import ceil
from typing import Any

import guest_tools
import numpy as np

BLOCK = 2560
"""Samples in a patch of its spectrum (0.16 s), the unit in which a clip is coded."""
SEGMENT, SPECTRUM = 163840, 1024
"""Samples that go through the encoder at one go (10.24 s), and frames of their spectrum."""
ROUND = 1
"""Samples that the package's rounding may lose at the end of a clip."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    rate, entries = card["settings"]["token_rate"], card["settings"]["semantic_entries"]
    model, width = f"semanticodec_tokenrate_{rate}", 512 * rate // 100
    # The codebook of 4,096 entries is in the file whose name says 2,048, and so on.
    codebook = f"codebook_idx/combine_{width}_audioset_dominate/codebook_{entries // 2}_0.npy"
    return [guest_tools.Files((f"{model}/encoder.ckpt", f"{model}/decoder.ckpt", codebook))]


class Guest:
    """A semantic codebook of AudioMAE and an acoustic one, and a latent diffusion model as decoder."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from semanticodec import main  # type: ignore[import-not-found]  # in the private environment alone
        from semanticodec.modules.decoder.latent_diffusion.models import ddim  # type: ignore[import-not-found]

        self.torch, self.device, settings = torch, guest_tools.Device(device), card["settings"]
        draw_on_the_cpu(ddim)
        with chdir(guest_tools.weights_folder(card, *weights(card)[0])):  # where the package looks before it fetches
            self.codec = main.SemantiCodec(
                settings["token_rate"], settings["semantic_entries"], ddim_sample_step=settings["steps"]
            )
        self.codec.eval().to(device)
        self.codec.device = self.codec.decoder.device = torch.device(device)
        encoder, self.spectrum = self.codec.encoder, main.extract_kaldi_fbank_feature
        self.frames = round(8 / self.codec.stack_factor_K)
        guest_tools.expect(
            card, sampling_rate=main.SAMPLE_RATE, frame_rate=self.frames * main.SAMPLE_RATE / BLOCK,
            codebook_sizes=[len(encoder.centroid_npy), encoder.codebook_size],
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(2, frames)`` of mono audio, of whole patches; silence fills the last.

        As in the package, silence fills the clip to whole segments, a whole one where there is none to fill.
        """
        padded = self.device.put(np.pad(audio, ((0, 0), (0, SEGMENT - audio.shape[1] % SEGMENT))))
        frames = SPECTRUM * (padded.shape[1] // SEGMENT)
        with self.torch.inference_mode():
            features = self.spectrum(padded, 16000, target_length=frames)["ta_kaldi_fbank"][None]
            tokens = self.codec.encoder(features)
        return self.device.get(tokens[0, : self.frames * ceil(audio.shape[1] / BLOCK)].T)

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``; the noise of the diffusion is the same for every clip."""
        self.torch.manual_seed(0)
        with self.torch.inference_mode():
            sound = np.asarray(self.codec.decode(self.device.put(tokens).long().T[None])[0], dtype=np.float32)
        whole = BLOCK * tokens.shape[1] // self.frames
        if sound.shape[1] < whole - ROUND:
            raise ValueError(f"expected {whole} samples for {tokens.shape[1]} frames, got {sound.shape[1]}")
        return np.pad(sound, ((0, 0), (0, whole - sound.shape[1])))


def draw_on_the_cpu(ddim: Any) -> None:
    """Let the package draw the noise of its diffusion on the CPU, at the start and in each step."""
    import torch

    sample = ddim.DDIMSampler.sample

    def from_noise(sampler: Any, steps: int, clips: int, shape: tuple[int, ...], *rest: Any, **options: Any) -> Any:
        options["x_T"] = torch.randn((clips, *shape)).to(sampler.device)
        return sample(sampler, steps, clips, shape, *rest, **options)

    ddim.DDIMSampler.sample = from_noise
    ddim.noise_like = lambda shape, device, _repeat=False: torch.randn(shape).to(device)
