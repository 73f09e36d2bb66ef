"""S3Tokenizer in its private environment, really built: tokens of the package's own model with random weights."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.codecs.families import random_codec, refuse_half_a_download
from support.codecs.token_figures import check_disturbed, check_learnt
from support.profile import amount

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodecUnusable, CodingFailed, RefusedSetting
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock

pytestmark = pytest.mark.isolated

SCRIPT = Path(__file__).with_name("s3tokenizer_checkpoints.py")
CODECS = ["s3tokenizer_v1_50hz", "s3tokenizer_v2_25hz", "s3tokenizer_v3_25hz"][amount(-1, 0) :]
"""Each is made and loaded, half a gigabyte: in short the one that is read by names."""
Made = tuple[Path, Path, IsolatedCodec]


@pytest.fixture(scope="module", params=CODECS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Build the environment, write a checkpoint as the publisher's is read, and open the codec with it."""
    folder = tmp_path_factory.mktemp("s3tokenizer")
    python = ensure_built(open_lock("s3tokenizer")).python
    codec = random_codec(request.param, folder)
    model = codec.card.settings["model"]
    subprocess.run([python, "-I", SCRIPT, "make", model, folder], check=True, capture_output=True)
    codec.load()
    yield python, folder, codec
    codec.close()
    next(folder.glob("*.onnx")).unlink()  # half a gigabyte


def noise(seconds: float) -> Any:
    """Return noise at 16 kHz."""
    return (0.1 * np.random.default_rng(0).standard_normal((1, round(seconds * 16000)))).astype(np.float32)


@pytest.mark.parametrize("seconds", [0.05, 1.7])
def test_tokens_and_bits_are_those_of_the_card(made: Made, seconds: float) -> None:
    """One token a frame for the whole clip; bits are counted from them."""
    check_tokens(made, seconds)


@pytest.mark.parametrize("made", [name for name in CODECS if "_v1_" not in name], indirect=True)
def test_a_long_clip_is_encoded_whole(made: Made) -> None:
    """Beyond 30 s the package divides the clip and joins the tokens."""
    check_tokens(made, 31.0)


def check_tokens(made: Made, seconds: float) -> None:
    """Compare shape and bits with the card."""
    card = made[2].card
    encoded = made[2].encode(noise(seconds), 16000)
    assert isinstance(encoded.payload, np.ndarray)
    assert card.frame_rate is not None
    assert card.codebook_size is not None
    assert encoded.payload.shape[0] == 1
    assert abs(encoded.payload.shape[1] - seconds * card.frame_rate) <= 2
    assert encoded.bits == math.ceil(encoded.payload.size * math.log2(card.codebook_size) - 1e-9)


def test_the_worker_gives_what_the_package_gives_by_itself(made: Made, tmp_path: Path) -> None:
    """Tokens are those of the package called directly in its environment, and they depend on the sound."""
    python, folder, codec = made
    np.save(tmp_path / "clip.npy", noise(2.0))
    files = [tmp_path / "clip.npy", tmp_path / "out.npy"]
    command = [python, "-I", SCRIPT, "tokens", codec.card.settings["model"], folder, *files]
    subprocess.run(command, check=True, capture_output=True)
    payload = codec.encode(noise(2.0), 16000).payload
    assert isinstance(payload, np.ndarray)
    assert len(np.unique(payload)) > 5
    assert not np.array_equal(payload, codec.encode(noise(2.0)[:, ::-1].copy(), 16000).payload)
    assert np.array_equal(payload[0], np.load(files[1]))


def test_its_tokens_are_disturbed_and_learnt(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every disturbance but coding what was decoded is counted, and a model trains on the tokens."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    check_disturbed(made[2])
    check_learnt(made[2])


def test_there_is_no_way_back(made: Made) -> None:
    """Decoding is refused with the reason, and a clip shorter than the spectrum's window costs itself."""
    with pytest.raises(RefusedSetting, match=r"encode-only|only encodes"):
        made[2].decode(made[2].encode(noise(0.5), 16000))
    with pytest.raises(CodingFailed, match="expected 201 samples at 16 kHz or more, got 160"):
        made[2].encode(noise(0.01), 16000)


def test_a_missing_file_is_named(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the file in the folder, and offline without a folder, the error names it and its publisher."""
    card = made[2].card
    with pytest.raises(CodecUnusable, match=f"no file {card.settings['model']}.onnx in the folder of weights"):
        random_codec(card.name, tmp_path).load()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(CodecUnusable, match=r"no file .* of https://www.modelscope.cn/models/.* \(HF_HUB_OFFLINE"):
        IsolatedCodec(registry.card(card.name)).load()


def test_another_file_than_the_publishers_is_refused(made: Made, tmp_path: Path, monkeypatch: Any) -> None:
    """What lies in the cache under the publisher's name must have the hash that the package states."""
    card = registry.card(made[2].card.name)
    refuse_half_a_download(card, f"{card.settings['model']}.onnx", tmp_path, monkeypatch)


@pytest.mark.parametrize("made", ["s3tokenizer_v3_25hz"], indirect=True)
def test_parameters_that_the_package_would_leave_at_random_are_missed(made: Made, tmp_path: Path) -> None:
    """Version 3 is read by names, and the package says nothing of what it does not find."""
    subprocess.run([made[0], "-I", SCRIPT, "empty", made[2].card.settings["model"], tmp_path], check=True)
    with pytest.raises(CodecUnusable, match=r"expected the publisher's .*v3_25hz.onnx, got one without encoder.conv1"):
        random_codec(made[2].card.name, tmp_path).load()
