"""Files of NanoCodec that its package would read without a word, and get wrong: the guest refuses them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from support.codecs.families import make_model, random_codec

from codec_superb.base_codec.errors import CodecUnusable

pytestmark = pytest.mark.isolated

FILE = "nemo-nano-codec-22khz-0.6kbps-12.5fps.nemo"
ALPHA = "audio_decoder.activations.0.activation.snake_act.alpha"


@pytest.fixture(scope="module", name="good")
def _good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file that is as it must be."""
    folder = tmp_path_factory.mktemp("nanocodec")
    make_model("nanocodec", "nanocodec", folder)
    return folder / FILE


def rewrite(good: Path, folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Copy a file with other settings or parameters."""
    with tarfile.open(good) as archive:
        settings, parameters = (archive.extractfile(name) for name in archive.getnames())
        assert settings is not None
        assert parameters is not None
        config, state = yaml.safe_load(settings), torch.load(io.BytesIO(parameters.read()))
    change(config, state)
    checkpoint = io.BytesIO()
    torch.save(state, checkpoint)
    with tarfile.open(folder / FILE, "w") as archive:
        for name, content in (("a.yaml", yaml.safe_dump(config).encode()), ("a.ckpt", checkpoint.getvalue())):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda config, _: config["audio_encoder"].pop("pad_mode"),
            "pad_mode: the package has replicate, got .*reflect",
        ),
        (lambda config, _: config["audio_decoder"].update(_target_="x.HiFiGANDecoder"), "has CausalHiFiGANDecoder"),
        (lambda _, state: state.pop(ALPHA), r"expected audio_decoder.activations.0.alpha .*NaN"),
        (
            lambda _, state: state.update({ALPHA: torch.ones(1, 3, 1)}),
            r"of shape \(1, 32, 1\) in the file, got \(1, 3, 1\)",
        ),
        (lambda _, state: state.update({"audio_encoder.more": torch.ones(1)}), "got also .*audio_encoder.more"),
    ],
    ids=["padding", "class", "missing", "shape", "unknown"],
)
def test_a_file_that_the_package_would_get_wrong_is_refused(
    good: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object], message: str
) -> None:
    """Settings it does not have, and parameters that are missing, of another shape or unknown, are errors at load."""
    rewrite(good, tmp_path, change)
    codec = random_codec("nanocodec_0.6k", tmp_path)
    with pytest.raises(CodecUnusable, match=message):
        codec.load()
