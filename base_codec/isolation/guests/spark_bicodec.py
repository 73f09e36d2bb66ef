"""Guest for BiCodec of Spark-TTS, with its authors' code in the package ``spark-tts-lib``."""

from __future__ import annotations

import io
from typing import Any

import guest_tools
import numpy as np

WAV2VEC2 = "wav2vec2-large-xlsr-53"
FILES = (
    "BiCodec/model.safetensors", "BiCodec/config.yaml", f"{WAV2VEC2}/pytorch_model.bin", f"{WAV2VEC2}/config.json",
    f"{WAV2VEC2}/preprocessor_config.json", "config.yaml",
)  # fmt: skip
"""Paths in the folder of weights."""
HOP, WINDOW = 320, 400
"""Hop and receptive field of wav2vec 2.0's features in samples: 20 ms and 25 ms at 16 kHz."""
GLOBAL_TOKENS, GLOBAL_BITS = 32, 12
NEEDLESS = ("mel_transformer.", "masked_spec_embed")
"""Parameters that may be missing: the computed window and mel filters, and the mask embedding of training."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """One semantic token per 20 ms, and 32 global tokens per clip for the voice as side information."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from spark_tts_lib.models.audio_tokenizer import (  # type: ignore[import-not-found]  # in the private environment alone
            BiCodecTokenizer,
        )

        self.torch, self.device = torch, guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        self.tokenizer = BiCodecTokenizer(folder, torch.device(device))
        refuse_gaps(self.tokenizer.model, folder)
        self.tokenizer.feature_extractor.eval()
        config, model = self.tokenizer.config, self.tokenizer.model
        guest_tools.expect(
            card,
            sampling_rate=config["sample_rate"],
            codebooks=1,
            codebook_size=model.quantizer.codebook_size,
            frame_rate=config["sample_rate"] / config["latent_hop_length"],
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio and the tokens of its voice in 48 bytes.

        The clip is zero-padded so that the last frame has a whole window; the package drops an incomplete one.
        """
        import soundfile

        frames = -(-audio.shape[1] // HOP)
        padded = np.pad(audio[0], (0, frames * HOP + WINDOW - HOP - audio.shape[1]))
        file = io.BytesIO()
        soundfile.write(file, padded, self.tokenizer.config["sample_rate"], format="WAV", subtype="FLOAT")
        file.seek(0)
        with self.torch.inference_mode():
            voice, tokens = self.tokenizer.tokenize(file)
        return self.device.get(tokens), packed(self.device.get(voice).reshape(-1))

    def decode(self, tokens: Any, _channels: int, side: bytes) -> Any:
        """Return audio ``(1, samples)``."""
        voice = self.device.put(unpacked(side))[None]
        with self.torch.inference_mode():
            return self.tokenizer.detokenize(voice, self.device.put(tokens))[None]


def refuse_gaps(bicodec: Any, folder: Any) -> None:
    """Raise ValueError where a file lacks parameters, which the package would leave randomly initialised."""
    import transformers
    from safetensors.torch import load_file

    wav2vec2: Any = transformers.Wav2Vec2Model  # output_loading_info makes from_pretrained return a pair
    missing, unknown = bicodec.load_state_dict(load_file(folder / FILES[0]), strict=False)
    _, found = wav2vec2.from_pretrained(folder / WAV2VEC2, output_loading_info=True)
    for file, names in ((FILES[0], missing), (FILES[2], found["missing_keys"])):
        gaps = [name for name in sorted(names) if not any(part in name for part in NEEDLESS)]
        if gaps:
            raise ValueError(f"expected the publisher's {file}, got one without {', '.join(gaps[:3])}")
    if unknown:
        raise ValueError(f"expected the publisher's {FILES[0]}, got one with {', '.join(unknown[:3])} as well")


def packed(tokens: Any) -> bytes:
    """Pack 32 tokens of 12 bits, most significant bit first, into 48 bytes."""
    if tokens.shape != (GLOBAL_TOKENS,) or tokens.min() < 0 or tokens.max() >= 1 << GLOBAL_BITS:
        raise ValueError(f"expected {GLOBAL_TOKENS} tokens of {GLOBAL_BITS} bits for the voice, got {tokens}")
    bits = tokens[:, None] >> np.arange(GLOBAL_BITS)[::-1] & 1
    return np.packbits(bits.astype(np.uint8)).tobytes()


def unpacked(side: bytes) -> Any:
    """Return the tokens of :func:`packed`, int32 ``(32,)``."""
    if 8 * len(side) != GLOBAL_TOKENS * GLOBAL_BITS:
        raise ValueError(f"expected {GLOBAL_TOKENS * GLOBAL_BITS // 8} bytes beside the tokens, got {len(side)}")
    bits = np.unpackbits(np.frombuffer(side, dtype=np.uint8)).reshape(GLOBAL_TOKENS, GLOBAL_BITS)
    return bits @ (1 << np.arange(GLOBAL_BITS)[::-1]).astype(np.int32)
