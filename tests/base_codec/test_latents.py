"""Latents of codecs: a row a frame of tokens, which the tokens follow from and which follow from the tokens.

Held to the models of transformers put together by hand, on tiny ones with random weights, and to Lyra's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.codecs.checkpoints import FAMILIES, opened
from support.codecs.published import needs_published, published_weights
from support.speech import real_speech

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.transformers_codec import TransformersCodec
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec

WITH_LATENTS = [row for row in FAMILIES if row[1] != "encodec_48k"]
of_each_family = pytest.mark.parametrize(("name", "family"), WITH_LATENTS)


def noise(seconds: float, rate: int) -> NDArray[np.float32]:
    """Return noise, mono."""
    return (0.1 * np.random.default_rng(0).standard_normal((1, round(seconds * rate)))).astype(np.float32)


def tokens_of(codec: Any, audio: NDArray[np.float32]) -> NDArray[np.integer[Any]]:
    """Return a clip's tokens."""
    payload = codec.encode(audio, codec.card.sampling_rate).payload
    assert not isinstance(payload, bytes)
    return payload


def decoded_by_hand(codec: TransformersCodec, latents: NDArray[np.float32]) -> NDArray[np.float32]:
    """Decode latents ``(frames, dimensions)`` with the parts of the model, as its own ``decode`` joins them."""
    model, rows = codec.model, torch.from_numpy(latents.T.copy())[None]
    with torch.inference_mode():
        match model.config.model_type:
            case "encodec" | "dac":
                sound = model.decoder(rows)
            case "mimi":
                steps = model.decoder.upsample(rows).transpose(1, 2)
                hidden = model.decoder.decoder_transformer(steps).last_hidden_state
                sound = model.decoder.decoder_seanet(hidden.transpose(1, 2))
            case "xcodec" | "higgs_audio_v2_tokenizer":
                sound = model.acoustic_decoder(model.fc2(rows.transpose(1, 2)).transpose(1, 2))
            case _:
                sound = model.acoustic_decoder(rows.transpose(1, 2))
    found: NDArray[np.float32] = sound[0].numpy()
    return found


@pytest.mark.sample(4)
@of_each_family
def test_the_quantised_latents_are_what_is_decoded(name: str, family: str) -> None:
    """The model's decoder, given them by hand, makes the sound that the tokens make."""
    codec = opened(name, family)
    assert isinstance(codec, TransformersCodec)
    audio = noise(0.7, codec.card.sampling_rate)
    latents = codec.latents(audio, codec.card.sampling_rate)
    tokens = tokens_of(codec, audio)
    assert latents.quantised.dtype == latents.continuous.dtype == np.float32
    assert latents.quantised.shape == latents.continuous.shape
    assert len(latents.quantised) == tokens.shape[1]
    with torch.inference_mode():
        theirs = codec._to_audio(torch.from_numpy(tokens).long()[None])[0].numpy()
    np.testing.assert_allclose(decoded_by_hand(codec, latents.quantised), theirs, atol=1e-4)


@pytest.mark.sample(4)
@of_each_family
def test_the_tokens_follow_from_the_continuous_latents(name: str, family: str) -> None:
    """The model's quantizer, given them by hand, gives the clip's tokens; the quantised are another thing."""
    codec = opened(name, family)
    assert isinstance(codec, TransformersCodec)
    audio = noise(0.7, codec.card.sampling_rate)
    latents = codec.latents(audio, codec.card.sampling_rate)
    rows = torch.from_numpy(latents.continuous)[None]
    quantizer, count = codec.model.quantizer, codec.card.codebooks
    with torch.inference_mode():
        match codec.model.config.model_type:
            case "dac":
                codes = quantizer(rows.transpose(1, 2), count)[1][0]
            case "mimi":
                codes = quantizer.encode(rows.transpose(1, 2), count)[:, 0]
            case "xcodec2" | "neucodec":
                codes = quantizer(rows)[1][0].T
            case _:
                codes = quantizer.encode(rows.transpose(1, 2), codec._bandwidth)[:, 0]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(codes.numpy(), tokens_of(codec, audio))
    assert np.abs(latents.continuous - latents.quantised).max() > 1e-3


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "family", "seconds"), [("dac_16k", "dac_16k", 21), ("mimi_8cb", "mimi", 31)])
def test_long_clips_have_a_row_a_frame_too(name: str, family: str, seconds: int) -> None:
    """In chunks with context, and as a stream: as many rows as frames, each from the chunk that its tokens are from."""
    codec = opened(name, family)
    audio = noise(seconds, codec.card.sampling_rate)
    latents = codec.latents(audio, codec.card.sampling_rate)
    tokens = tokens_of(codec, audio)
    assert len(latents.continuous) == len(latents.quantised) == tokens.shape[1]
    assert isinstance(codec, TransformersCodec)
    with torch.inference_mode():
        theirs = codec._dequantised(torch.from_numpy(tokens).long()[None])[0]
    np.testing.assert_allclose(latents.quantised, theirs.T.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "said"), [("g711_mulaw", "gives bytes and no latents"), ("snac_24k", "private environment hands out")]
)
def test_a_codec_without_latents_says_so(name: str, said: str) -> None:
    """One sentence names what it gives instead."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.isolation.codec import IsolatedCodec

    card = registry.card(name)
    codec = IsolatedCodec(card) if card.isolation else open_codec(name)
    with pytest.raises(RefusedSetting, match=said):
        codec.latents(noise(0.2, card.sampling_rate), card.sampling_rate)


def test_chunks_that_overlap_have_none() -> None:
    """EnCodec at 48 kHz has no one row a frame of the clip."""
    with pytest.raises(RefusedSetting, match="chunks that overlap"):
        opened("encodec_48k_3bps", "encodec_48k").latents(noise(0.2, 48_000), 48_000)


@needs_published("lyra_3.2k")
@pytest.mark.network
def test_lyras_latents_are_its_encoders_and_its_quantizers() -> None:
    """On speech: 64 numbers every 20 ms; more stages leave less between the features and what the tokens stand for."""
    options = CodecOptions(weights=str(published_weights("lyra_3.2k")))
    speech = real_speech(16_000, 2.0)
    found = [open_codec(name, options=options).latents(speech, 16_000) for name in ("lyra_3.2k", "lyra_9.2k")]
    for latents in found:
        assert latents.continuous.shape == latents.quantised.shape == (100, 64)
    np.testing.assert_array_equal(found[0].continuous, found[1].continuous)
    missed = [float(np.square(its.continuous - its.quantised).mean()) for its in found]
    assert missed[1] < 0.5 * missed[0] < 0.5 * float(np.square(found[0].continuous).mean())
