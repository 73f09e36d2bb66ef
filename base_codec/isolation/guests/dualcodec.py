"""Guest for DualCodec, with its authors' package ``dualcodec``: a semantic (Wav2Vec2-BERT) and an acoustic encoder."""

from __future__ import annotations

import sys
from math import ceil
from pathlib import Path
from types import ModuleType
from typing import Any

import guest_tools

STATISTICS = "w2vbert2_mean_var_stats_emilia.pt"
LISTENER = ("config.json", "model.safetensors", "preprocessor_config.json")
LAYERS = 17
"""Layers of Wav2Vec2-BERT: the output of the seventeenth is coded."""
LOST = 4
"""Samples by which the decoder's output is shorter than its frames."""
WINDOW = 120
"""Samples (5 ms) by which the last window of Wav2Vec2-BERT's spectrum reaches beyond its frame."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens: the codec, and Wav2Vec2-BERT from its own repository."""
    settings = card["settings"]
    codec = guest_tools.Files((f"{settings['model']}.safetensors", STATISTICS))
    return [codec, guest_tools.Files(LISTENER, origin=settings["listener"])]


class Guest:
    """One semantic codebook, then residual acoustic codebooks; computed in float32."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.device, self.used = torch, guest_tools.Device(device), card["codebooks"]
        # dualcodec imports cached_path to download files; the guest passes local files, so it is not installed.
        sys.modules.setdefault("cached_path", ModuleType("cached_path")).cached_path = str  # type: ignore[attr-defined]
        name = card["settings"]["model"]
        folder, listener = (guest_tools.weights_folder(card, *files) for files in weights(card))
        self._open_codec(card["settings"]["configuration"], folder / f"{name}.safetensors")
        self._open_listener(listener, folder)
        dac = self.model.dac
        self.hop = int(dac.hop_length)
        sizes = [self.model.semantic_vq.codebook_size] + [dac.codebook_size] * dac.n_codebooks
        guest_tools.expect(
            card, sampling_rate=dac.sample_rate, frame_rate=dac.sample_rate / self.hop,
            codebook_sizes=sizes[: self.used],
        )  # fmt: skip

    def _open_codec(self, configuration: str, file: Path) -> None:
        import dualcodec  # type: ignore[import-not-found]  # in the private environment alone
        import yaml
        from safetensors.torch import load_model

        text = (Path(dualcodec.__file__).parent / "conf" / "model" / f"{configuration}.yaml").read_text()
        config = yaml.safe_load(text)
        own = {key: value for key, value in config["model"].items() if key != "_target_"}
        self.model = dualcodec.DualCodec(**{**own, "sample_rate": config["SAMPLE_RATE"]}).eval()
        load_model(self.model, file)  # strict by default: a missing parameter raises
        self.model.to(self.device.name)

    def _open_listener(self, folder: Path, statistics: Path) -> None:
        from transformers import SeamlessM4TFeatureExtractor, Wav2Vec2BertModel

        opened: Any = Wav2Vec2BertModel.from_pretrained(folder, dtype=self.torch.float32, output_loading_info=True)
        model, report = opened
        # masked_spec_embed is used by the masking of training only.
        lacking = {*report["missing_keys"], *report["mismatched_keys"]} - {"masked_spec_embed"}
        if lacking:
            raise ValueError(f"{folder / LISTENER[1]} lacks parameters of Wav2Vec2-BERT: {', '.join(sorted(lacking))}")
        model.encoder.layers = model.encoder.layers[:LAYERS]  # the output of later layers is not used
        self.listener = model.eval().to(self.device.name)
        self.extractor = SeamlessM4TFeatureExtractor.from_pretrained(folder)
        stored = self.torch.load(statistics / STATISTICS, map_location="cpu", weights_only=True)
        self.mean, self.deviation = (part.to(self.device.name) for part in (stored["mean"], stored["var"].sqrt()))

    def _content(self, audio: Any) -> Any:
        """Return the normalised Wav2Vec2-BERT features ``(1, 1024, frames)`` of audio ``(1, samples)``."""
        from torchaudio.functional import resample

        heard = resample(audio, self.model.dac.sample_rate, self.extractor.sampling_rate)
        inputs = self.extractor(
            self.device.get(heard[0]), sampling_rate=self.extractor.sampling_rate, return_tensors="pt"
        )
        states = self.listener(**inputs.to(self.device.name), output_hidden_states=True).hidden_states[LAYERS]
        factor = self.model.semantic_downsample_factor
        normal = (states - self.mean) / self.deviation
        return self.torch.nn.functional.avg_pool1d(normal.transpose(1, 2), factor, factor)

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, the last frame padded with silence."""
        frames = ceil((audio.shape[1] + LOST) / self.hop)
        padding = frames * self.hop + WINDOW - audio.shape[1]
        with self.torch.inference_mode():
            padded = self.torch.nn.functional.pad(self.device.put(audio), (0, padding))
            codes = self.model.encode(padded[None], num_quantizers=self.used, semantic_repr=self._content(padded))
        return self.device.get(self.torch.cat([code[0] for code in codes if code is not None]))

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        codes = self.device.put(tokens)[None]
        with self.torch.inference_mode():
            sound = self.model.decode_from_codes(codes[:, :1], codes[:, 1:] if self.used > 1 else None)
        return self.device.get(sound[0])
