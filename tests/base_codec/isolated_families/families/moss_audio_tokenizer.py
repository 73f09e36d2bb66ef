"""A narrow MOSS-Audio-Tokenizer: patches, rates and codebooks as published, few layers and channels."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch

CODEC = "moss_audio_tokenizer_8cb"
FILE = "model-00002-of-00002.safetensors"
CODEBOOKS = 8
SCALED = ("input_dimension", "output_dimension", "d_model", "dim_feedforward", "input_dim", "output_dim", "rvq_dim")
PATCH = 240
"""Samples of the first patch: a width that stays."""


def code():  # noqa: ANN201
    """Return the folder of the package's files, and its module of the model."""
    folder = Path(find_spec("modeling_moss_audio_tokenizer").origin).parent
    sys.modules.setdefault("moss_audio_tokenizer", ModuleType("moss_audio_tokenizer")).__path__ = [str(folder)]
    from moss_audio_tokenizer import modeling_moss_audio_tokenizer

    return folder, modeling_moss_audio_tokenizer


def narrow(part):  # noqa: ANN001, ANN201
    """Return a part of the configuration with an eighth of the channels, four heads and one layer."""
    changes = {key: part[key] // 8 for key in SCALED if part.get(key, PATCH) != PATCH}
    return {**part, **changes, **({"num_heads": 4, "num_layers": 1} if "num_layers" in part else {})}


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json, the index and two files of parameters."""
    place, module = code()
    published = json.loads((place / "config.json").read_text())
    config = module.MossAudioTokenizerConfig(
        **{
            **published,
            "code_dim": published["code_dim"] // 8,
            "encoder_kwargs": [narrow(part) for part in published["encoder_kwargs"]],
            "decoder_kwargs": [narrow(part) for part in published["decoder_kwargs"]],
            "quantizer_kwargs": narrow(published["quantizer_kwargs"]),
        }
    )
    model = module.MossAudioTokenizerModel(config).eval()
    for name, weight in model.named_parameters():
        if name.endswith("put_proj.weight"):  # as loud after as before, where the package's first weights fade away
            torch.nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
    size = sum(tensor.nbytes for tensor in model.state_dict().values())
    model.save_pretrained(folder, max_shard_size=round(0.6 * size))


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, of whole frames."""
    model = code()[1].MossAudioTokenizerModel.from_pretrained(folder).eval()
    padded = torch.nn.functional.pad(audio, (0, -audio.shape[1] % model.downsample_rate))
    tokens = model.encode(padded[None], num_quantizers=CODEBOOKS).audio_codes
    return tokens[:, 0], model.decode(tokens).audio[0]
