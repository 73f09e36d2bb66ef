"""Guest for S3Tokenizer, the speech tokenizer of CosyVoice, with the package ``s3tokenizer``; it has no decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import guest_tools

FEWEST_SAMPLES = 201
"""Shortest clip: the STFT pads half a window of 400 samples by reflection at both ends."""


def weights(card: dict[str, Any]) -> list[guest_tools.Download]:
    """Return what the guest opens."""
    return [guest_tools.Download(f"{card['settings']['model']}.onnx")]


class Guest:
    """One codebook, or FSQ with eight ternary digits (versions 2 and 3); trained by speech recognition."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import s3tokenizer  # type: ignore[import-not-found]  # in the private environment alone
        import torch

        self.torch, self.device, self.package = torch, guest_tools.Device(device), s3tokenizer
        name = card["settings"]["model"]
        file = guest_tools.weights_file(card, *weights(card)[0])
        guest_tools.expect_hash(card, file)
        version = name.removeprefix("speech_tokenizer_")[:2]
        kinds = {"v1": s3tokenizer.S3Tokenizer, "v2": s3tokenizer.S3TokenizerV2, "v3": s3tokenizer.S3TokenizerV3}
        self.model = kinds[version](name)
        if version == "v3":
            _open_version_3(self.model, file)
        else:
            self.model.init_from_onnx(str(file))  # raises where a parameter is missing
        self.model.eval().to(device)
        hop = 160 * self.model.encoder.stride * 2
        guest_tools.expect(
            card, sampling_rate=16000, codebooks=1, codebook_size=self.model.config.n_codebook_size,
            frame_rate=16000 / hop,
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; the package divides clips longer than 30 s."""
        if audio.shape[1] < FEWEST_SAMPLES:
            raise ValueError(f"expected {FEWEST_SAMPLES} samples at 16 kHz or more, got {audio.shape[1]}")
        with self.torch.inference_mode():
            mel = self.package.log_mel_spectrogram(self.device.put(audio[0]))
            codes, lengths = self.model.quantize(mel[None], self.torch.tensor([mel.shape[1]], device=self.device.name))
        return self.device.get(codes[:, : int(lengths[0])])


def _open_version_3(model: Any, file: Path) -> None:
    """Read the file as the package does, which leaves parameters that it does not find in it at random.

    Raises ValueError where one is missing; biases of norms alone may be, since the package creates those as zeros.
    """
    from s3tokenizer.utils import onnx2torch_v3  # type: ignore[import-not-found]

    missing, _ = model.load_state_dict(onnx2torch_v3(str(file), None, False), strict=False)
    random = [name for name in missing if not name.endswith("_ln.bias")]
    if random:
        raise ValueError(f"expected the publisher's {file.name}, got one without {', '.join(random[:3])}")
