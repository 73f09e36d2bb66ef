"""A narrow XY-Tokenizer: rates, codebooks and layers of the published configuration, all of them small."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import torch
from families.drawing import draw_residual

CODEC = "xy_tokenizer"
FILE = "xy_tokenizer.ckpt"
CONFIGURATION = "xy_tokenizer_config.yaml"
WIDTH, HEADS = 24, 2
CPU = torch.device("cpu")


def package():  # noqa: ANN201
    """Return the package's class; it imports librosa and calls nothing of it."""
    sys.modules.setdefault("librosa", module_from_spec(ModuleSpec("librosa", None)))
    from xy_tokenizer.model import XY_Tokenizer

    return XY_Tokenizer


def narrow():  # noqa: ANN201
    """Return the package's configuration with few channels and layers."""
    import yaml

    folder = Path(next(iter(find_spec("xy_tokenizer").submodule_search_locations))).with_name("config")
    config = yaml.safe_load((folder / CONFIGURATION).read_text())
    for part in config["generator_params"].values():
        if isinstance(part, dict):
            part.update({key: WIDTH * value // 768 for key, value in part.items() if key.endswith(("dim", "d_model"))})
            part.update({key: HEADS for key in part if key.endswith("attention_heads")})
            part.update({key: 1 for key in part if key.endswith("coder_layers")})
    config["generator_params"]["vocos_kwargs"].update(dim=32, intermediate_dim=64, num_layers=2)
    return config


def make(folder):  # noqa: ANN001, ANN201
    """Write configuration and checkpoint."""
    import yaml

    config = narrow()
    (folder / CONFIGURATION).write_text(yaml.safe_dump(config))
    model = package()(config["generator_params"]).eval()
    heard = []
    handle = model.quantizer.register_forward_pre_hook(lambda _, inputs: heard.append(inputs[0]))
    for layer in model.quantizer.quantizers:
        layer.inited.fill_(True)
    with torch.inference_mode():
        for name, weight in model.named_parameters():
            if name.endswith("self_attn.out_proj.weight"):  # random attention is even: what is far would count as much
                weight.mul_(0.1)
    model.encode([0.1 * torch.randn(8 * 16000)], device=CPU)
    handle.remove()
    with torch.inference_mode():
        latents = model.quantizer.input_proj(heard[0][..., :100])[0].T
    draw_residual([layer.codebook for layer in model.quantizer.quantizers], latents)
    torch.save({"generator": model.state_dict()}, folder / FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, of whole frames."""
    model = package().load_from_checkpoint(folder / CONFIGURATION, folder / FILE).eval()
    padded = torch.nn.functional.pad(audio[0], (0, -audio.shape[1] % 1280))
    codes = model.encode([padded], device=CPU)["codes_list"]
    return codes[0], model.decode(codes, device=CPU)["syn_wav_list"][0][None]
