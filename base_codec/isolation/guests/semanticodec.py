"""Guest for SemantiCodec, with the code of its authors' repository ``SemantiCodec-inference``."""

from __future__ import annotations

from contextlib import chdir
from math import ceil
from typing import Any

import guest_tools

BLOCK = 2560
"""Samples in a patch of its spectrum (0.16 s), the unit in which a clip is coded."""
SEGMENT, SPECTRUM = 163840, 1024
"""Samples that go through the encoder at one go (10.24 s), and frames of their spectrum."""
ROUND = 1
"""Samples that the package's rounding may lose at the end of a clip."""


class Guest:
    """A semantic codebook of AudioMAE and an acoustic one, and a latent diffusion model as decoder."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from semanticodec import main  # type: ignore[import-not-found]  # in the private environment alone

        self.torch, settings = torch, card["settings"]
        rate, entries = settings["token_rate"], settings["semantic_entries"]
        model = f"semanticodec_tokenrate_{rate}"
        codebook = main.get_config(rate, entries)[-1]
        folder = guest_tools.weights_folder(card, (f"{model}/encoder.ckpt", f"{model}/decoder.ckpt", codebook))
        with chdir(folder):  # where the package looks before it fetches
            self.codec = main.SemantiCodec(rate, entries, ddim_sample_step=settings["steps"])
        self.codec.device = torch.device(device)
        self.codec.eval().to(device)
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
        sound = self.torch.from_numpy(audio)
        padded = self.torch.nn.functional.pad(sound, (0, SEGMENT - audio.shape[1] % SEGMENT))
        frames = SPECTRUM * (padded.shape[1] // SEGMENT)
        with self.torch.inference_mode():
            features = self.spectrum(padded, 16000, target_length=frames)["ta_kaldi_fbank"][None]
            tokens = self.codec.encoder(features.to(self.codec.device))
        return tokens[0, : self.frames * ceil(audio.shape[1] / BLOCK)].T.numpy()

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``; the noise of the diffusion is the same for every clip."""
        self.torch.manual_seed(0)
        with self.torch.inference_mode():
            sound = self.codec.decode(self.torch.from_numpy(tokens).long().T[None])
        whole = BLOCK * tokens.shape[1] // self.frames
        sound = self.torch.as_tensor(sound[0], dtype=self.torch.float32)
        if sound.shape[1] < whole - ROUND:
            raise ValueError(f"expected {whole} samples for {tokens.shape[1]} frames, got {sound.shape[1]}")
        return self.torch.nn.functional.pad(sound, (0, whole - sound.shape[1])).numpy()
