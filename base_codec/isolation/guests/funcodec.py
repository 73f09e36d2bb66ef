"""Guest for FunCodec, with its authors' package ``funcodec``: on waveforms, or on magnitude and phase (FreqCodec)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import guest_tools
import numpy as np

FILES = ("config.yaml", "model.pth")


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """All codebooks of a model, and the loudness by which a clip is normalised, as side information."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.device = torch, guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        self.model = without_losses(folder / FILES[0])
        state = torch.load(folder / FILES[1], map_location="cpu", weights_only=True)
        refuse_untrained(state)
        load_matching(self.model, state)
        self.model.eval().to(device)
        self.spectrum = getattr(self.model, "enc_trans_func", None)
        hop = int(self.model.encoder.hop_length) * (self.spectrum.hop_length if self.spectrum else 1)
        quantizer = self.model.quantizer
        guest_tools.expect(
            card,
            sampling_rate=self.model.sample_rate,
            codebooks=quantizer.rq.n_q,
            codebook_size=quantizer.codebook_size,
            frame_rate=self.model.sample_rate / hop,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, and its loudness as a float32 of four bytes."""
        samples = audio.shape[1]
        filled = np.pad(audio, ((0, 0), (0, self._length(samples) - samples)))
        with self.torch.inference_mode():
            found = self.model.inference_encoding(self.device.put(filled))
        (codes,), ((_, scale),) = found["code_indices"], found["code_embeddings"]
        tokens = self.device.get(codes[:, 0])
        return tokens if scale is None else (tokens, self.device.get(scale).astype("<f4").tobytes())

    def _length(self, samples: int) -> int:
        """Return the length in samples to which a clip is zero-padded.

        The package's inverse STFT returns whole hops only, and its centred STFT pads half a window by reflection at
        both ends, which needs a longer clip than that.
        """
        if self.spectrum is None:
            return samples
        hop = int(self.spectrum.hop_length)
        return max(-(-samples // hop), int(self.spectrum.n_fft) // 2 // hop + 1) * hop

    def decode(self, tokens: Any, _channels: int, side: bytes = b"") -> Any:
        """Return audio ``(1, samples)``."""
        codes = self.device.put(tokens.T.astype(np.int64))
        with self.torch.inference_mode():
            audio = self.device.get(self.model.inference_decoding(codes[None])["recon_speech"][0])
        return audio * np.frombuffer(side, "<f4") if side else audio


def refuse_untrained(state: Any) -> None:
    """Raise ValueError for uninitialised codebooks: the package would initialise them from the first clip."""
    for name, value in state.items():
        if name.endswith("inited") and not bool(value.all()):
            raise ValueError(f"expected trained codebooks in {FILES[1]}, got {name} 0")


def load_matching(model: Any, state: dict[str, Any]) -> None:
    """Load what has its name and size in the model, as the package's own loader does, and report the rest.

    Raises ValueError for a parameter or codebook that the file does not give: the package leaves it as it was drawn.
    """
    own = model.state_dict()
    fitting = {name: value for name, value in state.items() if name in own and own[name].shape == value.shape}
    needed = {name for name, _ in model.named_parameters()} | {name for name in own if name.endswith("embed")}
    if lacking := sorted(needed - fitting.keys()):
        raise ValueError(f"expected all parameters of the codec in {FILES[1]}, got none that fits {', '.join(lacking)}")
    model.load_state_dict({**own, **fitting})
    guest_tools.skip(skipped(sorted(state.keys() - fitting.keys()), own))


def skipped(names: list[str], own: Any) -> list[str]:
    """Return what was left out: parts that the model lacks with their number of tensors, and names of another size."""
    parts = Counter(name.partition(".")[0] for name in names if name not in own)
    return [f"{part} ({count})" for part, count in parts.items()] + [name for name in names if name in own]


def without_losses(config: Any) -> Any:
    """Return the model of a configuration without its training losses, which the package builds only on a GPU.

    Raises ValueError for a model that codes a clip in overlapping segments.
    """
    from argparse import Namespace

    import yaml
    from funcodec.tasks.gan_speech_codec import (  # type: ignore[import-not-found]  # in the private environment alone
        GANSpeechCodecTask,
    )

    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    conf = {**settings["model_conf"], "multi_spectral_window_powers_of_two": []}
    if conf.get("segment_dur", 1.0) is not None:
        raise ValueError(
            f"expected segment_dur null in {config.name}, a clip coded whole; got {conf.get('segment_dur')}"
        )
    if "phase_invariant_training" in conf:
        conf["phase_invariant_training"] = False
    return GANSpeechCodecTask.build_model(
        Namespace(**{**settings, "model_conf": conf, "discriminator_conf": {"disc_conf_list": []}, "stat_flops": False})
    )
