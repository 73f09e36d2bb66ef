"""Distilled NeuCodec, whose package builds one size alone, with a DistilHuBERT of its own size."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

CODEC = "neucodec_distilled"
FILE = "distilhubert/preprocessor_config.json"


def package():  # noqa: ANN201
    """Import the package with the file of torchtune that it needs, since torchtune itself does not import."""
    import importlib.util
    from types import ModuleType

    place = Path(importlib.util.find_spec("torchtune").submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("torchtune.modules", place / "modules/position_embeddings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules |= {"torchtune": ModuleType("torchtune"), "torchtune.modules": module}
    from neucodec import model

    return model


def blank(folder):  # noqa: ANN001, ANN201
    """Return the package's model on the DistilHuBERT of the folder, which the package names by its place at the hub."""
    model = package()

    class Here:
        """Opens the folder in place of the hub."""

        def __init__(self, kind):  # noqa: ANN001, ANN204
            self.kind = kind

        def from_pretrained(self, _name, **options):  # noqa: ANN001, ANN003, ANN202
            return self.kind.from_pretrained(folder / "distilhubert", **options)

    model.HubertModel, model.AutoFeatureExtractor = Here(model.HubertModel), Here(model.AutoFeatureExtractor)
    return model.DistillNeuCodec(24000, 480).eval()


def make(folder):  # noqa: ANN001, ANN201
    """Write DistilHuBERT as its publisher lays it out, and the checkpoint without it; all of the lattice is used."""
    from transformers import HubertConfig, HubertModel, Wav2Vec2FeatureExtractor

    place = folder / "distilhubert"
    listener = HubertModel(HubertConfig(num_hidden_layers=2, feat_proj_layer_norm=False))
    listener.config.save_pretrained(place)
    torch.save(listener.state_dict(), place / "pytorch_model.bin")
    Wav2Vec2FeatureExtractor(return_attention_mask=False).save_pretrained(place)
    model = blank(folder)
    lattice = model.generator.quantizer.project_in
    seen = []
    hook = lattice.register_forward_hook(lambda _module, _got, out: seen.append(out[0]))
    with torch.inference_mode():
        model.encode_code(0.1 * torch.randn(1, 1, 48000))
        hook.remove()
        spread = seen[0].std(dim=0)
        lattice.weight.div_(spread[:, None])
        lattice.bias.sub_(seen[0].mean(dim=0)).div_(spread)
    own = {name: value for name, value in model.state_dict().items() if not name.startswith("semantic_model.")}
    torch.save(own, folder / "pytorch_model.bin")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens, without that of the frame it adds, and sound, of audio at 24 kHz."""
    import soxr

    model = blank(folder)
    model.load_state_dict(torch.load(folder / "pytorch_model.bin"), strict=False)
    heard = torch.from_numpy(soxr.resample(audio[0].numpy(), 24000, 16000, quality="VHQ"))
    tokens = model.encode_code(heard[None, None])[:, :, : -(-audio.shape[1] // 480)]
    return tokens[0], model.decode_code(tokens)[0]
