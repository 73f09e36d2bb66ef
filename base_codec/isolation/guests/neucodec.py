"""Guest for distilled NeuCodec, with its makers' package ``neucodec``: it hears 16 kHz and speaks 24 kHz."""

from __future__ import annotations

import importlib.util
import sys
from math import ceil
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import guest_tools

CHECKPOINT = "pytorch_model.bin"
LISTENER = ("config.json", "preprocessor_config.json", "pytorch_model.bin")
LISTENER_FOLDER = "distilhubert"
"""Where the files of DistilHuBERT lie in a folder given by the user, whose top has a file of the same name."""
HEARD = 16000


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens: the codec, and DistilHuBERT from its own repository."""
    codec = guest_tools.Files((CHECKPOINT,))
    if "weights" in card["settings"]:  # the user's folder holds both
        return [codec, guest_tools.Files(tuple(f"{LISTENER_FOLDER}/{name}" for name in LISTENER))]
    return [codec, guest_tools.Files(LISTENER, origin=card["settings"]["listener"])]


class Guest:
    """One FSQ codebook at 50 Hz, of an acoustic encoder and DistilHuBERT; computed in float32."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        codec, heard = weights(card)
        file = guest_tools.weights_folder(card, *codec) / CHECKPOINT
        folder = guest_tools.weights_folder(card, *heard)
        listener, extractor = _open_listener(folder / LISTENER_FOLDER if "weights" in card["settings"] else folder)
        _stand_in_for_torchtune()
        from neucodec import model as package  # type: ignore[import-not-found]  # in the private environment alone

        # The class would fetch both by their names on the hub.
        package.HubertModel = SimpleNamespace(from_pretrained=lambda *_, **__: listener)
        package.AutoFeatureExtractor = SimpleNamespace(from_pretrained=lambda *_, **__: extractor)
        self.torch, self.device, self.rate = torch, guest_tools.Device(device), int(card["sampling_rate"])
        model = package.DistillNeuCodec(24000, 480)
        missing, _ = model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True), strict=False)
        # As in the package, DistilHuBERT keeps its own parameters where the checkpoint has none for it.
        own = {name for name, _ in model.named_parameters() if not name.startswith("semantic_model.")}
        if own & set(missing):
            raise ValueError(f"expected the publisher's {CHECKPOINT}, got one without {min(own & set(missing))}")
        self.model = model.eval().to(device)
        guest_tools.expect(
            card, sampling_rate=model.sample_rate, codebooks=model.generator.quantizer.num_quantizers,
            codebook_size=model.generator.quantizer.codebook_size, frame_rate=model.sample_rate / model.hop_length,
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; silence fills the last frame.

        The package adds a whole frame of silence to a clip that fills its frames, whose token is left out here.
        """
        import soxr

        frames = ceil(audio.shape[1] / self.model.hop_length)
        heard = soxr.resample(audio[0], self.rate, HEARD, quality="VHQ")
        with self.torch.inference_mode():
            return self.device.get(self.model.encode_code(self.device.put(heard)[None, None])[0, :, :frames])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.model.decode_code(self.device.put(tokens)[None])[0])


def _open_listener(folder: Path) -> tuple[Any, Any]:
    """Open DistilHuBERT; raise ValueError where the file lacks a parameter, which would stay random."""
    from transformers import AutoFeatureExtractor, HubertModel

    opened: Any = HubertModel.from_pretrained(folder, output_loading_info=True)
    kind: Any = AutoFeatureExtractor
    model, report = opened
    lacking = set(report["missing_keys"]) - {"masked_spec_embed"}  # that one is for training
    if lacking:
        raise ValueError(f"expected the publisher's DistilHuBERT, got one without {min(lacking)}")
    return model, kind.from_pretrained(folder)


def _stand_in_for_torchtune() -> None:
    """Give the package the one class that it takes from torchtune, from its own file.

    torchtune imports programs for training and data sets, and does not import with the torchao of today.
    """
    package = importlib.util.find_spec("torchtune")
    if package is None or package.submodule_search_locations is None:
        raise ImportError("torchtune is not in this environment")
    file = Path(package.submodule_search_locations[0]) / "modules" / "position_embeddings.py"
    found = importlib.util.spec_from_file_location("torchtune.modules", file)
    if found is None or found.loader is None:
        raise ImportError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    sys.modules.setdefault("torchtune", ModuleType("torchtune"))
    sys.modules["torchtune.modules"] = module
