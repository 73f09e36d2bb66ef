"""The original package in its environment and transformers in this one: the same weights give the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.families import make_model, random_codec, renamed

from codec_superb.base_codec import registry
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.torchaudio_import import mend_torchaudio

pytestmark = pytest.mark.isolated

NAMES = (
    (r"^(encoder|decoder)\.model\.", r"\1.layers."),
    (r"\.(conv|convtr)\.\1\.", ".conv."),
    (r"\.weight_g$", ".parametrizations.weight.original0"),
    (r"\.weight_v$", ".parametrizations.weight.original1"),
    (r"^quantizer\.vq\.", "quantizer."),
    (r"\._codebook\.", ".codebook."),
)
"""How transformers renames what EnCodec's package calls its parameters."""
WEIGHT_NORM = "parametrizations.weight.original"
DAC_UNIT = ("snake1", "conv1", "snake2", "conv2")


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("kbps", ["1.5", "6", "24"])
def test_encodec_and_transformers_give_the_same_tokens(tmp_path: Path, kbps: str) -> None:
    """EnCodec 24 kHz: every token equal, the sound within 1e-4."""
    import torch
    from transformers import EncodecConfig, EncodecModel

    make_model("encodec", "encodec", tmp_path)
    codec = random_codec(f"encodec_original_24k_{kbps}k", tmp_path).load()
    clip = (0.1 * np.random.default_rng(3).standard_normal((1, 24000))).astype(np.float32)
    encoded = codec.encode(clip, 24000)
    sound = codec.decode(encoded)
    codec.close()

    model: Any = EncodecModel(EncodecConfig())  # its hints promise tensors where it takes and gives others
    model.eval()
    model.load_state_dict(renamed(torch.load(tmp_path / "encodec_24khz-d7cc33bc.th"), NAMES), strict=True)
    with torch.inference_mode():
        tokens = model.encode(torch.from_numpy(clip)[None], bandwidth=float(kbps)).audio_codes
        other = model.decode(tokens, [None])[0]
    assert len(np.unique(encoded.payload)) > 30  # the model listens
    assert np.array_equal(tokens[0, 0].numpy(), encoded.payload)
    assert np.abs(other[0, 0, :24000].numpy() - sound[0]).max() < 1e-4


def dac_names(blocks: int) -> dict[str, str]:
    """Return the modules of DAC's package, which are numbered, and how transformers names each."""
    names = {
        "encoder.block.0": "encoder.conv1", f"encoder.block.{blocks + 1}": "encoder.snake1",
        f"encoder.block.{blocks + 2}": "encoder.conv2", "decoder.model.0": "decoder.conv1",
        f"decoder.model.{blocks + 1}": "decoder.snake1", f"decoder.model.{blocks + 2}": "decoder.conv2",
    }  # fmt: skip
    for number in range(blocks):
        down, up = f"encoder.block.{number + 1}.block", f"decoder.model.{number + 1}.block"
        names |= {f"{down}.3": f"encoder.block.{number}.snake1", f"{down}.4": f"encoder.block.{number}.conv1"}
        names |= {f"{up}.0": f"decoder.block.{number}.snake1", f"{up}.1": f"decoder.block.{number}.conv_t1"}
        for unit in range(3):
            for layer, name in enumerate(DAC_UNIT):
                names[f"{down}.{unit}.block.{layer}"] = f"encoder.block.{number}.res_unit{unit + 1}.{name}"
                names[f"{up}.{unit + 2}.block.{layer}"] = f"decoder.block.{number}.res_unit{unit + 1}.{name}"
    return names


def transformers_dac(state: dict[str, Any], folder: Path) -> None:
    """Give the package's parameters, every one of them, to transformers' DAC and save that as a checkpoint."""
    from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations
    from transformers import DacConfig, DacModel

    strides = [2, 4, 8, 8]
    model: Any = DacModel(
        DacConfig(sampling_rate=44100, encoder_hidden_size=8, decoder_hidden_size=64, downsampling_ratios=strides)
    )
    model.apply_weight_norm()
    names, parts = dac_names(len(strides)), {"weight_g": WEIGHT_NORM + "0", "weight_v": WEIGHT_NORM + "1"}
    split = {name: name.rpartition(".") for name in state}
    model.load_state_dict(
        {
            f"{names.get(module, module)}.{parts.get(part, part)}": state[name]
            for name, (module, _, part) in split.items()
        },
        strict=True,
    )
    for module in list(model.modules()):  # transformers publishes its checkpoints without
        if is_parametrized(module):
            remove_parametrizations(module, "weight")
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def dac_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small DAC by its own package, and of the same parameters a checkpoint of transformers below it."""
    import torch

    folder = tmp_path_factory.mktemp("dac")
    make_model("dac", "descript-audio-codec", folder)
    stored = torch.load(folder / "weights_44khz_8kbps_0.0.1.pth", weights_only=True)
    mend_torchaudio()
    transformers_dac(stored["state_dict"], folder / "transformers")
    return folder


@pytest.mark.parametrize(
    ("original", "ours"), [("0.86k", "dac_44k_1cb"), ("3.45k", "dac_44k_4cb"), ("7.75k", "dac_44k")]
)
def test_dac_and_transformers_give_the_same_tokens(dac_folder: Path, original: str, ours: str) -> None:
    """DAC 44.1 kHz with one, four and nine codebooks, each as a user opens it: all tokens, the sound within 1e-4."""
    package = random_codec(f"dac_original_44k_{original}", dac_folder).load()
    here = registry.open_codec(ours, options=CodecOptions(weights=str(dac_folder / "transformers")))
    clip = (0.1 * np.random.default_rng(3).standard_normal((1, 40000))).astype(np.float32)
    encoded, other = package.encode(clip, 44100), here.encode(clip, 44100)
    sound = package.decode(encoded)
    package.close()
    assert len(np.unique(encoded.payload)) > 30  # the model listens
    assert np.array_equal(encoded.payload, other.payload)
    assert encoded.bits == other.bits
    assert np.abs(sound).max() > 1e-3  # zeros would agree too
    np.testing.assert_allclose(here.decode(other), sound, atol=1e-4)
