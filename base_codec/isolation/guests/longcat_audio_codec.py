"""Guest for LongCat-Audio-Codec, with the code of its authors' repository ``LongCat-Audio-Codec``."""

from __future__ import annotations

from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import guest_tools
import numpy as np

ENCODER = "LongCatAudioCodec_encoder"
STATISTICS = f"ckpts/{ENCODER}_cmvn.npy"
CONFIGURATIONS = ("configs", "semantic_tokenizer_general")
"""Folders of configurations, which the package looks for in the current folder, as it does for ``ckpts``."""
COMPUTED = "semantic_tokenizer.feature_extractor."
"""Prefix of what the package computes or reads from another file: mel filters and statistics."""
LONGEST = 30
"""Seconds that the package takes at one go, by its authors' instructions."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((f"ckpts/{ENCODER}.pt", STATISTICS, f"ckpts/{decoder_of(card)}.pt"))]


class Guest:
    """One semantic codebook and up to three acoustic ones at 16.7 Hz; 16 kHz go in, 16 or 24 kHz come out."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from networks.semantic_codec import model_loader  # type: ignore[import-not-found]  # in the private environment alone

        self.torch, self.device, self.acoustic = torch, guest_tools.Device(device), card["codebooks"] - 1
        (files,) = weights(card)
        folder = guest_tools.weights_folder(card, *files)
        with TemporaryDirectory() as place, chdir(place):
            _lay_out(folder)
            self.encoder = model_loader.load_encoder(f"configs/{ENCODER}.yaml", torch.device(device))
            self.decoder = model_loader.load_decoder(f"configs/{decoder_of(card)}.yaml", torch.device(device))
        stored = torch.load(folder / files.names[0], map_location="cpu", weights_only=True, mmap=True)
        guest_tools.refuse_gaps(files.names[0], self.encoder.state_dict().keys() - stored.keys(), (COMPUTED,))
        self.rates = (int(self.decoder.output_rate), int(self.encoder.input_sample_rate))
        self.hop = int(self.encoder.hop_length)
        self.longest = LONGEST * self.rates[1] // self.hop
        sizes = [self.encoder.semantic_tokenizer.kmeans.codebook_size]
        sizes += [level.codebook_size_a * level.codebook_size_b for level in self.encoder.acoustic_quantizer.quantizers]
        guest_tools.expect(
            card, sampling_rate=self.rates[0], codebook_sizes=sizes[: 1 + self.acoustic],
            frame_rate=self.rates[1] / self.hop,
        )  # fmt: skip
        if self.acoustic > self.decoder.n_codebooks:
            raise ValueError(f"expected a decoder of {self.acoustic + 1} codebooks, got {self.decoder.n_codebooks + 1}")

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio; the package pads the last frame with silence."""
        heard = audio
        if self.rates[0] != self.rates[1]:
            import soxr

            whole = -audio.shape[1] % round(self.hop * self.rates[0] / self.rates[1])
            heard = soxr.resample(np.pad(audio, ((0, 0), (0, whole))).T, *self.rates, quality="VHQ").T
        sound = self.device.put(heard)
        with self.torch.inference_mode():
            pieces = [self._tokens(piece) for piece in sound.split(self.longest * self.hop, dim=1)]
        return np.concatenate(pieces, axis=1)

    def _tokens(self, sound: Any) -> Any:
        semantic, acoustic = self.encoder(sound[None], self.rates[1], self.acoustic)
        return np.concatenate([self.device.get(semantic), self.device.get(acoustic[0])])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        codes = self.device.put(tokens).long()
        with self.torch.inference_mode():
            pieces = [self.decoder(piece[:1], piece[None, 1:])[0] for piece in codes.split(self.longest, dim=1)]
        return self.device.get(self.torch.cat(pieces, dim=1))


def decoder_of(card: dict[str, Any]) -> str:
    """Return the name of the decoder's files."""
    return f"LongCatAudioCodec_decoder_{card['settings']['decoder']}"


def _lay_out(folder: Path) -> None:
    """Link into the current folder what the package looks for there; configurations come from it or from ``folder``."""
    found = find_spec("semantic_tokenizer_general")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("expected LongCat-Audio-Codec in the private environment, found none; rebuild it")
    repository = Path(found.origin).parents[1]
    for name in CONFIGURATIONS:
        own = folder / name
        Path(name).symlink_to((own if own.is_dir() else repository / name).resolve())
    Path("ckpts").symlink_to((folder / "ckpts").resolve())
