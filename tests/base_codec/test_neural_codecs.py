"""Every neural family on tiny models with random weights: tokens, bits, lengths, batches, chunks, processes, devices.

What they sound like is not tested: nobody trained them. Noise is coded, whose tokens differ from frame to frame.
"""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.codecs.checkpoints import ALIKE, FAMILIES, checkpoint, opened

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.batching import Chunking
from codec_superb.base_codec.families.transformers_codec import TransformersCodec
from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.options import CodecOptions

SAME_WHEN_CUT = {"xcodec": 0.5, "xcodec_wavlm_mls": 0.5, "higgs_audio_v2": 0.5, "xcodec2": 0.2, "neucodec": 0.2}
"""Share of tokens that stay where a clip is cut; these normalise over all that is coded at one go."""
ALIKE_WHEN_CUT = {"xcodec2": 0.9, "neucodec": 0.9}
"""Correlation of the sound with that of one go; in these the decoder too attends to and normalises over all of it."""
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TESTS = Path(__file__).parents[1]

of_each_family = pytest.mark.parametrize(("name", "family"), FAMILIES)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Compute on one thread, as the workers do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def noise(seconds: float, rate: int, channels: int = 1, seed: int = 0) -> NDArray[np.float32]:
    """Return noise that swells and fades, so that frames differ."""
    samples = max(1, round(seconds * rate))
    swell = 0.1 + 0.1 * np.sin(2 * np.pi * 3 * np.arange(samples) / rate)
    return (swell * np.random.default_rng(seed).standard_normal((channels, samples))).astype(np.float32)


@of_each_family
def test_tokens_have_the_shape_and_the_bits_of_the_card(name: str, family: str) -> None:
    """Codebooks x frames integers below the codebook size; bits are log2 of that each, plus what goes beside."""
    codec = opened(name, family)
    card = codec.card
    encoded = codec.encode(noise(1.3, card.sampling_rate), card.sampling_rate)
    tokens = encoded.payload
    assert isinstance(tokens, np.ndarray)
    assert np.issubdtype(tokens.dtype, np.integer)
    assert card.codebooks is not None
    assert card.codebook_size is not None
    assert card.frame_rate is not None
    assert tokens.shape[0] == card.codebooks
    assert abs(tokens.shape[1] - 1.3 * card.frame_rate) <= max(2, 0.03 * card.frame_rate)
    assert tokens.min() >= 0
    assert tokens.max() < card.codebook_size
    assert len(np.unique(tokens)) > 10
    assert encoded.bits == tokens.size * math.log2(card.codebook_size) + 8 * len(encoded.side)
    assert encoded.tokens == tokens.size


@pytest.mark.sample(3)
@of_each_family
def test_length_and_channels_come_back(name: str, family: str) -> None:
    """One sample, ten milliseconds and an odd length come back as long, at the codec's rate and at another, twice."""
    codec = opened(name, family)
    for rate in (codec.card.sampling_rate, 22050):
        for samples in (1, rate // 100, rate // 2 + 7):
            for channels in (1, 2):
                clip = noise(samples / rate, rate, channels)
                decoded = codec.decode(codec.encode(clip, rate))
                assert decoded.shape == (channels if channels in codec.card.channels else 1, samples)
                assert np.isfinite(decoded).all()


@pytest.mark.sample(2)
@of_each_family
def test_a_batch_gives_what_one_by_one_gives(name: str, family: str) -> None:
    """Clips of many lengths together have the same tokens, and the same audio within 1e-4, as each alone."""
    codec = opened(name, family)
    rate = codec.card.sampling_rate
    clips = [noise(seconds, rate, seed=i) for i, seconds in enumerate((1, 0.02, 1, 1.3, 0.31, 1.21, 0.301, 1e-5))]
    alone = [codec.encode(clip, rate) for clip in clips]
    together = codec.encode_batch(clips, rate)
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.payload, other.payload)
        assert (one.bits, one.samples, one.side) == (other.bits, other.samples, other.side)
    for clip, one, other in zip(clips, map(codec.decode, alone), codec.decode_batch(together), strict=True):
        assert one.shape == clip.shape
        np.testing.assert_allclose(other, one, atol=1e-4)


@pytest.mark.sample(3)
@of_each_family
def test_a_later_change_of_sound_changes_nothing_far_before(name: str, family: str) -> None:
    """Two clips that part at a sample have resyntheses that part there, no sooner than the look-ahead allows.

    A codec whose samples wait for the whole clip has no such bound.
    """
    codec = opened(name, family)
    card = codec.card
    rate = card.sampling_rate
    first, second = noise(2.5, rate, seed=1), noise(2.5, rate, seed=1)
    start = round(1.5 * rate)
    second[:, start:] = noise(1, rate, seed=2)
    a, b = (codec.decode(codec.encode(clip, rate))[0] for clip in (first, second))
    differs = np.flatnonzero(np.abs(a - b) > 1e-6)
    frame = rate / (card.frame_rate or 1)
    assert differs.size
    assert abs(a[start:] - b[start:]).max() > 1e-4
    if card.latency_ms is not None:
        assert differs[0] >= start - (frame if card.causal else 1e-3 * card.latency_ms * rate)


def digest(codec: Codec) -> str:
    """Hash the tokens and the resynthesis of a fixed clip."""
    clip = (0.1 * np.random.default_rng(5).standard_normal((1, 9000))).astype(np.float32)
    encoded = codec.encode(clip, 22050)
    sound = codec.decode(encoded)
    return hashlib.sha256(np.asarray(encoded.payload).tobytes() + encoded.side + sound.tobytes()).hexdigest()


@pytest.mark.sample(1, among="torch in other processes")
def test_another_process_gives_the_same() -> None:
    """A fresh process with the same checkpoints gives the same tokens and samples of every family, bit for bit."""
    program = (
        f"import sys; sys.path[:0] = [{str(TESTS)!r}, {str(Path(__file__).parent)!r}]\n"
        "import torch; torch.set_num_threads(1)\n"
        "from test_neural_codecs import digest\n"
        "from codec_superb.base_codec.registry import open_codec\n"
        "from codec_superb.base_codec.options import CodecOptions\n"
        f"for name, folder in {[(name, str(checkpoint(family))) for name, family in FAMILIES]!r}:\n"
        "    print(digest(open_codec(name, options=CodecOptions(weights=folder))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [digest(opened(name, family)) for name, family in FAMILIES]


@pytest.mark.sample(4)
@pytest.mark.parametrize("device", DEVICES)
@of_each_family
def test_devices_agree(name: str, family: str, device: str) -> None:
    """On each device that is here nearly all tokens are those of the CPU, and the same tokens sound the same."""
    codec, here = opened(name, family), opened(name, family, device)
    rate = codec.card.sampling_rate
    clip = noise(0.8, rate)
    expected, got = codec.encode(clip, rate), here.encode(clip, rate)
    assert np.mean(np.asarray(expected.payload) == np.asarray(got.payload)) > 0.98
    np.testing.assert_allclose(here.decode(expected), codec.decode(expected), atol=1e-3)


@of_each_family
def test_tokens_of_another_codec_are_refused(name: str, family: str) -> None:
    """Bytes, too few codebooks, entries out of range and no frames raise CodingFailed with what was expected."""
    codec = opened(name, family)
    encoded = codec.encode(noise(0.2, 16000), 16000)
    tokens = np.asarray(encoded.payload)
    wrong = (b"abc", np.vstack([tokens, tokens]), tokens + codec.card.codebook_size, tokens[:, :0], tokens - 99999)
    for payload in wrong:
        with pytest.raises(CodingFailed, match="expected integer tokens"):
            codec.decode(replace(encoded, payload=payload))


@pytest.mark.sample(2)
@of_each_family
def test_long_clips_are_cut_without_a_gap(name: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into chunks with enough context, a clip has the tokens (but for the stated share) and the sound of one go."""
    codec = opened(name, family)
    assert isinstance(codec, TransformersCodec)
    rate = codec.card.sampling_rate
    clip = noise(4, rate)
    monkeypatch.setattr(type(codec), "chunking", Chunking(limit=60, chunk=30, before=0, after=0))
    whole = codec.encode(clip, rate)
    expected = codec.decode(whole)
    after = 0 if codec.card.causal else 1
    monkeypatch.setattr(type(codec), "chunking", Chunking(limit=1, chunk=1, before=1.5, after=after))
    cut = codec.encode(clip, rate)
    assert np.shape(cut.payload) == np.shape(whole.payload)
    assert np.mean(np.asarray(cut.payload) == np.asarray(whole.payload)) > SAME_WHEN_CUT.get(family, 0.97)
    sound = codec.decode(whole)
    if family in ALIKE_WHEN_CUT:
        assert np.corrcoef(sound[0], expected[0])[0, 1] > ALIKE_WHEN_CUT[family]
    else:
        np.testing.assert_allclose(sound, expected, atol=1e-3)


@pytest.mark.slow
def test_memory_grows_with_the_sound_and_not_with_the_model() -> None:
    """A minute more costs 15 MiB at most, four times the sound itself: the clip, what is coded, what is decoded."""
    program = (
        "import resource, sys, numpy as np, torch; torch.set_num_threads(1)\n"
        "from codec_superb.base_codec.registry import open_codec\n"
        "from codec_superb.base_codec.options import CodecOptions\n"
        f"codec = open_codec('dac_16k_1cb', options=CodecOptions(weights={str(checkpoint('dac_16k'))!r}))\n"
        "def peak(minutes):\n"
        "    clip = np.random.default_rng(0).standard_normal((1, minutes * 60 * 16000), dtype=np.float32)\n"
        "    codec.decode(codec.encode(clip / 10, 16000))\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print(peak(1), peak(5))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split())
    assert (second - first) / 4 < 15


def test_half_precision_is_another_setting() -> None:
    """With bfloat16 the card says so, tokens have the same shape, and the sound is near that of float32."""
    name, family = FAMILIES[0]
    usual = opened(name, family)
    half = registry.open_codec(name, options=CodecOptions(str(checkpoint(family)), dtype="bfloat16"))
    assert half.card.settings == {"dtype": "bfloat16"}
    assert usual.card.settings == {}
    clip = noise(1, 24000)
    encoded = usual.encode(clip, 24000)
    assert np.shape(half.encode(clip, 24000).payload) == np.shape(encoded.payload)
    expected, got = usual.decode(encoded), half.decode(encoded)
    assert 0 < np.abs(got - expected).max() < 0.05 * np.abs(expected).max() + 0.01


def test_a_closed_codec_says_that_it_is_not_loaded() -> None:
    """After close() the model is gone and using the codec is refused."""
    name, family = FAMILIES[0]
    codec = registry.open_codec(name, options=CodecOptions(str(checkpoint(family))))
    codec.close()
    with pytest.raises(RefusedSetting, match="is not loaded"):
        codec.encode(noise(0.1, 24000), 24000)


def test_every_neural_card_computes_its_bitrate() -> None:
    """The nominal bitrate of every neural card is frame rate x codebooks x log2(codebook size), and it is complete."""
    cards = [card for card in map(registry.card, registry.names()) if card.extra == "neural"]
    assert {card.family for card in cards} == {family for _, family in FAMILIES} | set(ALIKE)
    shapes = {card.family: (card.sampling_rate, card.frame_rate, card.codebook_size, card.parameters) for card in cards}
    assert all(shapes[family] == shapes[other] for family, other in ALIKE.items())
    for card in cards:
        assert card.kind == "neural"
        assert card.token_kbps == pytest.approx(card.nominal_kbps)
        assert card.weights is not None
        assert card.parameters
        assert card.training_data
        assert card.requirements
        assert "{" not in card.title + card.version
        for text in (card.licence, card.paper, card.homepage):
            assert len(text) > 5
