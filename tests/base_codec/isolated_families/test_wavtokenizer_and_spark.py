"""What WavTokenizer and Spark BiCodec have of their own: frame rates, a voice, and weights that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from support.codecs.families import make_model, random_codec

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.errors import GuestFailed

pytestmark = pytest.mark.isolated

CKPT, YAML = (
    "WavTokenizer_small_320_24k_4096.ckpt",
    "wavtokenizer_smalldata_frame75_3s_nq1_code4096_dim512_kmeans200_attn.yaml",
)


def made(family: str, lock: str, folder: Path) -> Path:
    """Write the small model of a family with random weights."""
    make_model(family, lock, folder)
    return folder


@pytest.fixture(scope="module")
def wavtokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a WavTokenizer."""
    return made("wavtokenizer", "wavtokenizer", tmp_path_factory.mktemp("wavtokenizer"))


@pytest.fixture(scope="module")
def bicodec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a BiCodec."""
    return made("spark_bicodec", "spark-bicodec", tmp_path_factory.mktemp("bicodec"))


def opened(name: str, folder: Path) -> IsolatedCodec:
    """Open a codec on the weights of a folder."""
    return random_codec(name, folder).load()


def edited(source: Path, target: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Copy a checkpoint whose parameters were changed."""
    checkpoint = torch.load(source, weights_only=True)
    edit(checkpoint.get("state_dict", checkpoint))
    torch.save(checkpoint, target)


def without(ending: str) -> Callable[[dict[str, Any]], None]:
    """Leave out the one parameter whose name ends so."""

    def edit(state: dict[str, Any]) -> None:
        (name,) = [name for name in state if name.endswith(ending)]
        del state[name]

    return edit


def untrained(state: dict[str, Any]) -> None:
    """Mark the codebook as one that the first clip is to make."""
    next(value for name, value in state.items() if name.endswith("_codebook.inited")).zero_()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (without("head.out.bias"), 'Missing key.*"head.out.bias"'),
        (untrained, f"expected a trained codebook in {CKPT}"),
    ],
)
def test_half_a_wavtokenizer_is_refused(wavtokenizer: Path, tmp_path: Path, edit: Any, message: str) -> None:
    """A parameter that would stay random, and a codebook that would be made of the first clip, are errors."""
    (tmp_path / YAML).symlink_to(wavtokenizer / YAML)
    edited(wavtokenizer / CKPT, tmp_path / CKPT, edit)
    with pytest.raises(CodecUnusable, match=message):
        opened("wavtokenizer_24k_small_320_4096", tmp_path)


def test_a_configuration_may_not_name_other_code(wavtokenizer: Path, tmp_path: Path) -> None:
    """The package's loader imports what the configuration names; only the publisher's classes are let through."""
    config = yaml.safe_load((wavtokenizer / YAML).read_text())
    config["model"]["init_args"]["backbone"] = {"class_path": "subprocess.Popen", "init_args": {"args": ["id"]}}
    (tmp_path / YAML).write_text(yaml.safe_dump(config))
    (tmp_path / CKPT).symlink_to(wavtokenizer / CKPT)
    with pytest.raises(CodecUnusable, match=r"expected decoder.models.VocosBackbone as backbone, got subprocess.Popen"):
        opened("wavtokenizer_24k_small_320_4096", tmp_path)


def test_the_model_of_40_tokens_a_second(wavtokenizer: Path, tmp_path: Path) -> None:
    """It has frames of 600 samples, and weights of the other frame rate under its names are refused."""
    codec = opened("wavtokenizer_24k_small_600_4096", wavtokenizer)
    noise = (0.1 * np.random.default_rng(0).standard_normal((1, 50001))).astype(np.float32)
    encoded = codec.encode(noise, 24000)
    assert isinstance(encoded.payload, np.ndarray)
    assert (encoded.payload.shape, encoded.bits) == ((1, 84), 84 * 12)
    assert codec.decode(encoded).shape == noise.shape
    codec.close()
    for name in (CKPT, YAML):
        (tmp_path / name.replace("320", "600").replace("frame75", "frame40")).symlink_to(wavtokenizer / name)
    with pytest.raises(CodecUnusable, match=r"expected weights of a model with frame_rate 40.0 .*, got 75.0"):
        opened("wavtokenizer_24k_small_600_4096", tmp_path)


def test_a_model_whose_configuration_lies_elsewhere(wavtokenizer: Path, tmp_path: Path) -> None:
    """The large models' hub repositories have no configuration: a folder holds both, and either is named alone."""
    name = "wavtokenizer_24k_large_speech_75token"
    settings = registry.card(name).settings
    (tmp_path / settings["checkpoint"]).symlink_to(wavtokenizer / CKPT)
    with pytest.raises(CodecUnusable, match=f"no file {settings['config']} in the folder of weights"):
        opened(name, tmp_path)
    (tmp_path / settings["config"]).symlink_to(wavtokenizer / YAML)
    codec = opened(name, tmp_path)
    assert codec.encode(np.ones((1, 640), dtype=np.float32), 24000).bits == 24
    codec.close()


def test_half_a_bicodec_is_refused(bicodec: Path, tmp_path: Path) -> None:
    """A parameter that the package would leave at random, of either model, is named with its file."""
    for place in ("BiCodec", "wav2vec2-large-xlsr-53"):
        (tmp_path / place).mkdir()
    for file in bicodec.rglob("*.*"):
        if file.name not in {"model.safetensors", "pytorch_model.bin"}:
            (tmp_path / file.relative_to(bicodec)).symlink_to(file)
    model, wav2vec2 = "BiCodec/model.safetensors", "wav2vec2-large-xlsr-53/pytorch_model.bin"
    state = load_file(bicodec / model)
    save_file({name: value for name, value in state.items() if name != "prenet.linear.bias"}, tmp_path / model)
    (tmp_path / wav2vec2).symlink_to(bicodec / wav2vec2)
    with pytest.raises(CodecUnusable, match=f"expected the publisher's {model}, got one without prenet.linear.bias"):
        opened("spark_bicodec", tmp_path)
    (tmp_path / wav2vec2).unlink()
    save_file(state, tmp_path / model)
    edited(bicodec / wav2vec2, tmp_path / wav2vec2, without("encoder.layers.16.attention.q_proj.bias"))
    with pytest.raises(CodecUnusable, match=f"publisher's {wav2vec2}, got one without .*layers.16.attention"):
        opened("spark_bicodec", tmp_path)


def test_the_voice_is_sent_beside_the_tokens(bicodec: Path) -> None:
    """32 tokens of 12 bits a clip, whatever its length; another voice is another sound, and half of one an error."""
    codec = opened("spark_bicodec", bicodec)
    noise = (0.1 * np.random.default_rng(0).standard_normal((1, 48000))).astype(np.float32)
    encoded, short = codec.encode(noise, 16000), codec.encode(noise[:, :4800], 16000)
    assert len(encoded.side) == len(short.side) == 48
    assert (encoded.bits, short.bits) == (150 * 13 + 384, 15 * 13 + 384)
    other = codec.decode(replace(encoded, side=bytes(48)))
    assert np.abs(other - codec.decode(encoded)).max() > 1e-4
    with pytest.raises(GuestFailed, match="expected 48 bytes beside the tokens, got 24"):
        codec.decode(replace(encoded, side=encoded.side[:24]))
    with pytest.raises(GuestFailed, match="missing 1 required positional argument: 'side'"):
        codec.decode(replace(encoded, side=b""))
    codec.close()
