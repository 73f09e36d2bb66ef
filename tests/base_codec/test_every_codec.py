"""Every named codec on real speech: length, lag, level, bits, the same bits twice, and its card."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from support.codecs.every_codec import PARAMETRIC, envelope_lag, level_differences, waveform_lag
from support.codecs.opening import opened
from support.speech import real_speech

from codec_superb.base_codec import registry

pytestmark = pytest.mark.network

NAMES = [name for name in registry.names() if registry.card(name).kind != "neural"]
"""Codecs that need no weights; for the others see test_neural_codecs.py and isolation/."""
RATES = (8000, 16000, 22050, 44100, 48000)
LOUDER_OR_SOFTER_DB = {False: 6, True: 10}
"""Largest change of level of half a second, of waveform coders and of parametric ones; a lost packet is far more."""


def family(name: str, **_: object) -> str:
    """Return the family of a codec, of which ``make test`` takes some members."""
    return registry.card(name).family


@pytest.mark.sample(1, among=family)
@pytest.mark.sample(1, over="rate")
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", NAMES)
def test_three_seconds_keep_length_place_and_level(name: str, rate: int) -> None:
    """Three seconds of mono and stereo speech come back as long, within a sample of where they were, and as loud."""
    codec = opened(name)
    is_parametric = codec.card.family in PARAMETRIC
    for channels in (1, 2):
        speech = real_speech(rate, 3, channels)
        resynthesis = codec.decode(codec.encode(speech, rate))
        expected = speech if channels in codec.card.channels else speech.mean(axis=0, keepdims=True)
        assert resynthesis.shape == expected.shape
        assert resynthesis.dtype == np.float32
        assert np.abs(level_differences(expected, resynthesis, rate)).max() < LOUDER_OR_SOFTER_DB[is_parametric]
        if is_parametric:
            # A parametric coder invents the phases; it sends an envelope every 10 ms: half of that is the tolerance.
            lag_ms, correlation = envelope_lag(expected, resynthesis, rate)
            assert abs(lag_ms) <= 5, f"{channels} channels: envelope lag of {lag_ms} ms"
            assert correlation > 0.7
        else:
            lag, correlation = waveform_lag(expected, resynthesis, rate)
            assert abs(lag) <= 1, f"{channels} channels: lag of {lag} samples"
            assert correlation > 0.75


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
def test_very_short_clips_keep_their_length(name: str) -> None:
    """One sample and ten milliseconds come back as one sample and ten milliseconds, at every rate, mono and stereo."""
    codec = opened(name)
    for rate in RATES:
        for channels in (1, 2):
            for samples in (1, rate // 100):
                clip = real_speech(rate, 2, channels)[:, -samples:]
                encoded = codec.encode(clip, rate)
                resynthesis = codec.decode(encoded)
                assert resynthesis.shape == (channels if channels in codec.card.channels else 1, samples)
                assert np.isfinite(resynthesis).all()
                assert encoded.bits > 0


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", NAMES)
def test_measured_bitrate_is_what_the_card_says(name: str) -> None:
    """Thirty seconds give a bitrate within the card's tolerance, or within 15 % of the figure its note states."""
    codec = opened(name)
    card = codec.card
    encoded = codec.encode(real_speech(16000, 30), 16000)
    kbps = encoded.bits / 30 / 1000
    if card.nominal_tolerance is not None:
        assert card.nominal_kbps is not None
        assert kbps == pytest.approx(card.nominal_kbps, rel=card.nominal_tolerance)
    else:
        stated = re.search(r"([\d.]+) kbps on 30 s of [\w -]*speech", card.bitrate_note or "")
        assert stated is not None, card.bitrate_note
        assert kbps == pytest.approx(float(stated[1]), rel=0.15)


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", NAMES)
def test_the_payload_is_the_bits_and_nothing_else(name: str) -> None:
    """Packet lengths add up to the payload, whose size is the bits up to the padding of the last octet of a packet."""
    encoded = opened(name).encode(real_speech(16000, 1), 16000)
    assert isinstance(encoded.payload, bytes)
    assert sum(encoded.frames) == len(encoded.payload)
    # AMR-NB carries an octet of storage header and pads, Codec 2 pads: less than two octets for each packet.
    assert 0 <= 8 * len(encoded.payload) - encoded.bits < 16 * len(encoded.frames)


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_clip_gives_the_same_bits_and_sound(name: str) -> None:
    """Encoding and decoding twice, with another clip in between, changes no bit and no sample."""
    codec = opened(name)
    speech = real_speech(44100, 0.7, 2)
    first = codec.encode(speech, 44100)
    sound = codec.decode(first)
    codec.decode(codec.encode(real_speech(8000, 0.5), 8000))
    fresh = registry.open_codec(name)
    second = fresh.encode(speech, 44100)
    assert first == second
    assert np.array_equal(sound, fresh.decode(second))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_thirty_seconds_lose_nothing(name: str) -> None:
    """Half a minute comes back whole: every half second as loud as it was, no drift."""
    codec = opened(name)
    speech = real_speech(16000, 30)
    resynthesis = codec.decode(codec.encode(speech, 16000))
    assert resynthesis.shape == speech.shape
    is_parametric = codec.card.family in PARAMETRIC
    # CELP below 7 kbps makes one half second of hiss up to 8.1 dB softer; one that is lost would be 40 dB softer.
    coarse = is_parametric or (codec.card.nominal_kbps or math.inf) < 7
    assert np.abs(level_differences(speech, resynthesis, 16000)).max() < LOUDER_OR_SOFTER_DB[coarse]
    if is_parametric:
        assert abs(envelope_lag(speech, resynthesis, 16000)[0]) <= 3
    else:
        end = slice(-3 * 16000, None)
        lag, _ = waveform_lag(speech[:, end], resynthesis[:, end], 16000)
        assert abs(lag) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_complete(name: str) -> None:
    """A card names its standard, year, implementation, licence, paper and homepage, and its delay fits its latency."""
    card = registry.card(name)
    for text in (card.title, card.standard, card.licence, card.paper, card.version):
        assert len(text) > 2
        assert "{" not in text
    assert "(not installed)" not in card.version
    assert 1970 <= card.year <= 2026
    assert card.homepage.startswith("https://")
    assert card.requirements or card.system
    assert card.latency_ms is not None
    assert card.latency_ms >= 1000 * card.delay_samples / card.sampling_rate
    assert set(card.channels) <= {1, 2}
    assert card.token_kbps is None
    assert (card.kind == "lossless") == (card.nominal_kbps is None) == card.input_rate


def test_there_are_codecs_from_700_bit_per_second_to_lossless() -> None:
    """The catalogue has the families and the bitrates that the benchmark promises."""
    cards = [registry.card(name) for name in NAMES]
    families = {card.family for card in cards}
    assert len(NAMES) >= 40
    promised = "opus mp3 aac ac3 eac3 mp2 wma amrnb g711 g722 g726 g723_1 sbc aptx nellymoser ima_adpcm codec2 lc3 "
    promised += "gsm amrwb speex_nb speex_wb g729 ilbc vorbis musepack"
    assert {*promised.split(), "flac", "wavpack"} <= families
    assert min(card.nominal_kbps for card in cards if card.nominal_kbps) == 0.7
    assert {f"opus_{kbps}k" for kbps in (6, 8, 12, 16, 24, 32, 48, 64, 96, 128)} <= set(NAMES)
    assert len([card for card in cards if card.family == "amrnb"]) == 8
    assert len([card for card in cards if card.family == "codec2"]) == 7


def test_stereo_stays_stereo_where_the_codec_has_it() -> None:
    """A clip with one silent channel comes back with that channel at least 30 dB below the other."""
    for name in ("mp3_128k", "aac_128k", "opus_96k", "sbc_192k", "aptx_384k", "lc3_128k", "wma_128k", "ac3_192k"):
        left_only = real_speech(48000, 2, 2) * np.array([[1], [0]], dtype=np.float32)
        codec = opened(name)
        power = (codec.decode(codec.encode(left_only, 48000)) ** 2).mean(axis=1)
        assert power[0] > 1000 * power[1], name
