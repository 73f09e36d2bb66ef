"""DualCodec at 12.5 Hz, whose package builds its full size alone, and a Wav2Vec2-BERT of narrow layers."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import torch

CODEC = "dualcodec_12hz_4cb"
FILE = "w2vbert2_mean_var_stats_emilia.pt"
CODEBOOKS = 4


def package():  # noqa: ANN201
    """Import the package, which asks for a program that fetches files; here all files are given."""
    sys.modules["cached_path"] = ModuleType("cached_path")
    sys.modules["cached_path"].cached_path = str
    import dualcodec

    return dualcodec


def model():  # noqa: ANN201
    """Return the model of the package's own configuration."""
    import yaml

    place = Path(package().__file__).parent / "conf/model/dualcodec_12hz_16384_4096_8vq.yaml"
    config = yaml.safe_load(place.read_text())["model"]
    return package().DualCodec(**{key: config[key] for key in config if key[0] != "_"} | {"sample_rate": 24000}).eval()


def listener(folder):  # noqa: ANN001, ANN201
    """Write a Wav2Vec2-BERT as its publisher lays it out, but in float16 to save disk; return both parts."""
    from transformers import SeamlessM4TFeatureExtractor, Wav2Vec2BertConfig, Wav2Vec2BertModel

    # One layer more than are asked for, so that a guest that takes the last one is found out.
    config = Wav2Vec2BertConfig(num_hidden_layers=18, intermediate_size=64)
    Wav2Vec2BertModel(config).half().save_pretrained(folder)
    extractor = SeamlessM4TFeatureExtractor(padding_value=1)
    extractor.save_pretrained(folder)
    return Wav2Vec2BertModel.from_pretrained(folder, dtype=torch.float32).eval(), extractor


def draw(quantizer, latents):  # noqa: ANN001, ANN201
    """Fill the codebooks around what they get, one after another, so that tokens depend on the sound."""
    for layer in quantizer.quantizers:
        projected = layer.in_proj(latents)[0].T
        chosen = projected[torch.randint(len(projected), (layer.codebook_size,))]
        layer.codebook.weight.data.copy_(chosen + 0.3 * projected.std(dim=0) * torch.randn_like(chosen))
        latents = latents - layer(latents)[0]


def make(folder):  # noqa: ANN001, ANN201
    """Write the model, the statistics of what Wav2Vec2-BERT hears, and Wav2Vec2-BERT itself."""
    from safetensors.torch import save_file

    codec, (heard, extractor) = model(), listener(folder)
    with torch.no_grad():
        # Wav2Vec2-BERT hears a burst in the whole clip; a quiet voice for it keeps the sound in its place.
        codec.convnext_decoder[-1].weight_g *= 0.02
        codec.convnext_decoder[-1].bias *= 0.02
        sound = 0.1 * torch.randn(1, 1, 25 * 1920)
        inputs = extractor((0.1 * torch.randn(32080)).numpy(), sampling_rate=16000, return_tensors="pt")
        states = heard(**inputs, output_hidden_states=True).hidden_states[17]
        statistics = {"mean": states.mean(dim=(0, 1)), "var": states.var(dim=(0, 1))}
        normal = (states - statistics["mean"]) / statistics["var"].sqrt()
        content = codec.convnext_encoder(torch.nn.functional.avg_pool1d(normal.transpose(1, 2), 4, 4))
        draw(codec.semantic_vq, content)
        draw(codec.dac.quantizer, codec.dac.encoder(sound) - codec.convnext_decoder(codec.semantic_vq(content)[0]))
    torch.save(statistics, folder / FILE)
    save_file(codec.state_dict(), folder / "dualcodec_12hz_16384_4096.safetensors")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return tokens and sound of the package's own ``Inference``, in float32.

    It computes in half the precision, and gives less sound than it got; both are settled here as the guest does.
    """
    from safetensors.torch import load_model

    codec = model()
    load_model(codec, folder / "dualcodec_12hz_16384_4096.safetensors")
    torch.autocast = lambda **_: nullcontext()
    both = package().Inference(codec, dualcodec_path=folder, w2v_path=folder, device="cpu", autocast=False)
    both.semantic_cfg.semantic_model.float()
    frames = math.ceil((audio.shape[1] + 4) / 1920)
    padded = torch.nn.functional.pad(audio[None], (0, frames * 1920 + 120 - audio.shape[1]))
    semantic, acoustic = both.encode(padded, n_quantizers=CODEBOOKS)
    return torch.cat([semantic[0], acoustic[0]]), both.decode(semantic, acoustic)[0]
