"""X-Codec 2 and NeuCodec against transformers' own feature extractors, and what only they do: spectra, two rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.codecs.checkpoints import checkpoint, opened, xcodec2

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.xcodec2 import XCodec2
from codec_superb.base_codec.interface import Encoded
from codec_superb.base_codec.options import CodecOptions

RATE = 16000
both = pytest.mark.parametrize("name", ["xcodec2", "neucodec"])


def sweep(samples: int) -> NDArray[np.float32]:
    """Return a rising tone in noise, ``(1, samples)`` at 16 kHz."""
    seconds = np.arange(samples) / RATE
    tone = 0.2 * np.sin(2 * np.pi * (200 + 900 * seconds) * seconds)
    return (tone + 0.02 * np.random.default_rng(3).standard_normal(samples)).astype(np.float32)[None]


def family_of(name: str) -> XCodec2:
    """Open the tiny model of ``name``."""
    codec = opened(name, name)
    assert isinstance(codec, XCodec2)
    return codec


def published(name: str, clip: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Return tokens and sound of the published chain: transformers' extractor, which uses torchaudio, and the model."""
    import transformers

    extractor = {"xcodec2": "Xcodec2FeatureExtractor", "neucodec": "NeuCodecFeatureExtractor"}[name]
    inputs = getattr(transformers, extractor)()(clip[0], sampling_rate=RATE, return_tensors="pt")
    with torch.inference_mode():
        out = family_of(name).model(**inputs)
    return out.audio_codes[0].numpy(), out.audio_values[0].numpy()


def tokens_of(encoded: Encoded) -> NDArray[Any]:
    """Return the payload as an array."""
    return np.asarray(encoded.payload)


def test_xcodec2_gives_what_the_published_chain_gives() -> None:
    """A clip that ends inside a frame has the tokens and the sound of transformers' own extractor and model."""
    clip = sweep(RATE + 77)
    codec = family_of("xcodec2")
    encoded = codec.encode(clip, RATE)
    tokens, sound = published("xcodec2", clip)
    assert np.array_equal(tokens_of(encoded), tokens)
    np.testing.assert_allclose(codec.decode(encoded), sound[:, : clip.shape[1]], atol=1e-4)


def test_neucodec_gives_what_the_published_chain_gives_and_the_end_of_the_clip_too() -> None:
    """The tokens are those of the clip filled up to whole frames; the published chain drops what is left over."""
    clip = sweep(RATE + 77)
    codec = family_of("neucodec")
    encoded = codec.encode(clip, RATE)
    filled = np.pad(clip, ((0, 0), (0, 320 - 77)))
    tokens, sound = published("neucodec", filled)
    assert np.array_equal(tokens_of(encoded), tokens)
    assert tokens_of(encoded).shape[1] == published("neucodec", clip)[0].shape[1] + 1
    at_24k = codec._decode_batch([codec._received(encoded)])[0]
    np.testing.assert_allclose(at_24k, sound, atol=1e-4)


def test_neucodec_hears_16_khz_and_answers_at_24() -> None:
    """A second at any rate has 50 tokens of 16 bits, and is decoded to 24,000 samples before it is resampled."""
    codec = family_of("neucodec")
    for rate in (8000, 16000, 24000, 44100):
        encoded = codec.encode(sweep(rate), rate)
        assert tokens_of(encoded).shape == (1, 50)
        assert encoded.bits == 800
        assert codec._decode_batch([codec._received(encoded)])[0].shape == (1, 24000)
        assert codec.decode(encoded).shape == (1, rate)


@both
def test_silence_and_one_sample_have_finite_spectra(name: str) -> None:
    """Spectra without variance, and those of the shortest clip, are numbers, two of 80 bands for each frame."""
    codec = family_of(name)
    for samples in (1, 320, 16000):
        encoded = codec.encode(np.zeros((1, samples), dtype=np.float32), RATE)
        assert tokens_of(encoded).shape == (1, -(-samples // 320))
        assert np.isfinite(codec.decode(encoded)).all()
    assert codec._spectra(np.zeros(640, dtype=np.float32)).shape == (1, 160)


@pytest.mark.sample(1)
@both
def test_half_precision_hears_the_same_spectra(name: str) -> None:
    """In bfloat16 the spectra are still computed from float32 audio; shapes stay and the sound is near."""
    usual = family_of(name)
    half = registry.open_codec(name, options=CodecOptions(str(checkpoint(name)), dtype="bfloat16"))
    clip = sweep(RATE)
    encoded = usual.encode(clip, RATE)
    assert tokens_of(half.encode(clip, RATE)).shape == (1, 50)
    expected, got = usual.decode(encoded), half.decode(encoded)
    assert 0 < np.abs(got - expected).max() < 0.1 * np.abs(expected).max() + 0.01


@both
def test_untrained_weights_are_called_random(name: str) -> None:
    """The card of a run with the tests' weights says random, which pack refuses."""
    card, _ = registry.configure(name, CodecOptions(str(checkpoint(name))))
    assert card.weights is not None
    assert card.weights.source == "random"


def test_a_checkpoint_that_hears_another_rate_is_refused(tmp_path: Path) -> None:
    """NeuCodec's encoder takes 16 kHz: a checkpoint for another rate is refused and the rate named."""
    model = xcodec2("NeuCodec", input_sampling_rate=8000, downsampling_ratios=[2, 2, 4, 2, 5])
    model.save_pretrained(tmp_path)
    with pytest.raises(RefusedSetting, match="takes audio at 8000 Hz, not 16000"):
        registry.open_codec("neucodec", options=CodecOptions(weights=str(tmp_path)))


def test_one_is_not_taken_for_the_other() -> None:
    """The two models have the same parts and other rates: each refuses the other's checkpoint by its type."""
    with pytest.raises(RefusedSetting, match=r"expected the model type neucodec in .*, got xcodec2"):
        registry.open_codec("neucodec", options=CodecOptions(str(checkpoint("xcodec2"))))
