"""Codecs in private environments, really built: the packages' own models with random weights, through the worker."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import ensure
from codec_superb.base_codec.isolation.lock import open_lock

pytestmark = pytest.mark.isolated

SCRIPT = Path(__file__).with_name("checkpoints.py")
FAMILIES = {
    "snac": "snac_24k",
    "encodec": "encodec_original_24k_6k",
    "speechtokenizer": "speechtokenizer_4k",
    "dac": "dac_original_44k_3.45k",
    "vocos": "vocos_24k_6k",
}
"""A codec of each family, whose model the tests make small."""
FILES = {
    "snac": "pytorch_model.bin",
    "encodec": "encodec_24khz-d7cc33bc.th",
    "speechtokenizer": "SpeechTokenizer.pt",
    "dac": "weights_44khz_8kbps_0.0.1.pth",
    "vocos": "pytorch_model.bin",
}
"""The file that the family's error must name when it is missing."""


class Made(NamedTuple):
    """A family with a checkpoint of random weights."""

    family: str
    python: Path
    folder: Path
    card: Card
    codec: IsolatedCodec


def random_card(name: str, folder: Path) -> Card:
    """Return the card of ``name`` with the weights of ``folder``, marked as random."""
    card = registry.card(name)
    return card.model_copy(
        update={"settings": {**card.settings, "weights": str(folder)}, "weights": Weights(source="random")}
    )


@pytest.fixture(scope="module", params=FAMILIES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Build the environment, make the checkpoint in it, and open the codec with it."""
    family = request.param
    name, folder = FAMILIES[family], tmp_path_factory.mktemp(family)
    isolation = registry.card(name).isolation
    assert isolation is not None
    python = ensure(open_lock(isolation.lock)).python
    subprocess.run([python, "-I", SCRIPT, "make", family, folder], check=True)
    card = random_card(name, folder)
    codec = IsolatedCodec(card).load()
    yield Made(family, python, folder, card, codec)
    codec.close()


def noise(made: Made, seconds: float, channels: int = 1) -> Any:
    """Return noise at the codec's own rate."""
    samples = round(seconds * made.card.sampling_rate)
    return (0.1 * np.random.default_rng(0).standard_normal((channels, samples))).astype(np.float32)


@pytest.mark.parametrize("seconds", [0.01, 0.5, 3.21])
def test_tokens_bits_and_length_are_those_of_the_card(made: Made, seconds: float) -> None:
    """Tokens are ``(codebooks, frames)`` for the whole clip, bits are counted from them, lengths are kept."""
    clip, card = noise(made, seconds), made.card
    encoded = made.codec.encode(clip, card.sampling_rate)
    assert isinstance(encoded.payload, np.ndarray)
    assert card.frame_rate is not None
    assert card.codebook_size is not None
    frames = encoded.payload.shape[1]
    assert encoded.payload.shape[0] == card.codebooks
    assert math.ceil(seconds * card.frame_rate - 1e-6) <= frames <= math.ceil(seconds * card.frame_rate) + 1
    assert encoded.bits == encoded.payload.size * math.log2(card.codebook_size)
    assert made.codec.decode(encoded).shape == clip.shape


def test_the_worker_gives_what_the_package_gives_by_itself(made: Made, tmp_path: Path) -> None:
    """Tokens and sound are those of the package called directly in its environment."""
    clip = noise(made, 1.7)
    np.save(tmp_path / "clip.npy", clip)
    files = [str(tmp_path / "clip.npy"), str(tmp_path / "out.npz")]
    subprocess.run([made.python, "-I", SCRIPT, "tokens", made.family, made.folder, *files], check=True)
    direct = np.load(files[1])
    encoded = made.codec.encode(clip, made.card.sampling_rate)
    assert isinstance(encoded.payload, np.ndarray)
    assert len(np.unique(encoded.payload)) > 5  # the model listens; that of SNAC uses few entries
    assert np.array_equal(flat(made, encoded.payload), direct["tokens"])
    assert np.abs(made.codec.decode(encoded) - direct["sound"][:, : clip.shape[1]]).max() < 1e-6


def flat(made: Made, tokens: Any) -> Any:
    """Undo the layout of codebooks with several frame rates."""
    if made.family != "snac":
        return tokens
    return np.concatenate([tokens[:1].T.ravel(), tokens[1:3].T.ravel(), tokens[3:].T.ravel()])


def test_other_processes_and_other_clips_before_change_nothing(made: Made) -> None:
    """A second worker gives the same tokens and the same samples, and so does the first after another clip."""
    rate, clip = made.card.sampling_rate, noise(made, 1.0)
    first = made.codec.encode(clip, rate)
    sound = made.codec.decode(first)
    made.codec.decode(made.codec.encode(noise(made, 0.3)[:, ::-1].copy(), rate))
    fresh = IsolatedCodec(made.card).load()
    for codec in (made.codec, fresh):
        again = codec.encode(clip, rate)
        assert np.array_equal(first.payload, again.payload)
        assert np.array_equal(sound, codec.decode(again))
    fresh.close()


def test_sound_stays_in_its_place(made: Made) -> None:
    """What a burst changes in the resynthesis lies around the burst: random weights keep no waveform, but the place."""
    rate, clip = made.card.sampling_rate, noise(made, 4.0)
    assert made.card.frame_rate is not None
    frame = round(rate / made.card.frame_rate)
    changed = clip.copy()
    start = 2 * rate // frame * frame
    changed[:, start : start + frame] *= -3
    before, after = (made.codec.decode(made.codec.encode(audio, rate)) for audio in (clip, changed))
    difference = np.convolve((after - before)[0].astype(np.float64) ** 2, np.ones(frame), mode="same")
    assert difference.max() > 0
    # A recurrent layer remembers the burst for a while, so its peak is looked at, not its mean.
    assert abs(int(np.argmax(difference)) - (start + frame / 2)) < max(2.5 * frame, 0.1 * rate)


def test_stereo_and_other_rates_come_back_as_they_were(made: Made) -> None:
    """A stereo clip at 44.1 kHz is coded in mono and comes back at 44.1 kHz with its length."""
    clip = noise(made, 2.0, channels=2)[:, :20001]
    assert made.codec.decode(made.codec.encode(clip, 44100)).shape == (1, 20001)


def test_a_missing_file_is_named(made: Made, tmp_path: Path) -> None:
    """Weights that lack a file: the error names the file and the folder."""
    for file in made.folder.iterdir():
        if file.name != FILES[made.family]:
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(CodecUnusable, match=f"no file {FILES[made.family]} in the folder of weights"):
        IsolatedCodec(random_card(made.card.name, tmp_path)).load()


def test_without_weights_the_publisher_is_named(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Offline and without a folder, the error says which file of which publisher is missing."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    card = registry.card(made.card.name)
    assert card.weights is not None
    with pytest.raises(CodecUnusable, match=f"no file .* of {card.weights.source} .*`weights`"):
        IsolatedCodec(card).load()


def test_weights_of_another_model_are_refused(made: Made) -> None:
    """A checkpoint whose model is not the card's is an error at load, not other tokens."""
    card = made.card.model_copy(update={"codebook_size": 2048})
    with pytest.raises(CodecUnusable, match="expected weights of a model with codebook_size 2048"):
        IsolatedCodec(card).load()


@pytest.mark.parametrize("name", [name for name in registry.names() if registry.card(name).isolation])
def test_the_card_is_complete(name: str) -> None:
    """An isolated codec's card names its package as the lock has it, its parameters, data, weights and paper."""
    card = registry.card(name)
    assert card.isolation is not None
    pins = open_lock(card.isolation.lock).pins
    package, version = card.version.split()
    assert pins[package] == version
    assert card.requirements == (f"{package}=={version}",)
    assert card.parameters
    assert card.training_data
    assert card.weights is not None
    assert card.weights.source != "random"
    assert card.token_kbps == pytest.approx(card.nominal_kbps)
    assert 2015 < card.year <= 2026
    assert card.homepage.startswith("https://")
    assert len(card.paper) > 20
