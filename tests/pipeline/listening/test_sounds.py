"""Conditions of a listening test: anchors as the standard asks, files that differ in nothing but their sound."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.listening.anchors import LOW, MID, low_pass, modulated_noise
from codec_superb.pipeline.listening.sounds import ClipSounds, conditions_of, decode, encode

RATE = 48_000


def response(cutoff: float, hertz: float, rate: int) -> float:
    """Measure the gain of an anchor's filter in dB by an impulse."""
    impulse = np.zeros(rate, dtype=np.float32)
    impulse[rate // 2] = 1
    spectrum = np.abs(np.fft.rfft(low_pass(impulse, rate, cutoff)))  # a bin is a hertz
    return float(20 * np.log10(max(spectrum[round(hertz)], 1e-9)))


@pytest.mark.parametrize("cutoff", [LOW, MID])
@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_anchors_follow_the_standard(cutoff: float, rate: int) -> None:
    """BS.1534-3: a ripple of 0.1 dB up to the cut-off, 25 dB down half a kilohertz above it, 50 dB a whole one."""
    assert max(abs(response(cutoff, hertz, rate)) for hertz in np.linspace(50, cutoff, 80)) <= 0.1
    assert response(cutoff, cutoff + 500, rate) <= -25
    if cutoff + 1000 < rate / 2:
        assert max(response(cutoff, hertz, rate) for hertz in np.linspace(cutoff + 1000, rate / 2 - 1, 80)) <= -50


def test_anchors_have_no_delay() -> None:
    """Switching between reference and anchor must not jump: the impulse stays where it is."""
    impulse = np.zeros(RATE, dtype=np.float32)
    impulse[20_000] = 1
    found = low_pass(impulse, RATE, LOW)
    assert (found.size, int(np.argmax(found))) == (RATE, 20_000)


def test_an_anchor_of_narrow_sound_is_refused() -> None:
    """8 kHz sound has nothing above 4 kHz; the sentence says what to do."""
    with pytest.raises(PipelineError, match="anchors: false"):
        low_pass(np.zeros(8000, dtype=np.float32), 8000, LOW)


def test_modulated_noise_has_the_ratio_of_p810() -> None:
    """At Q dB the noise lies Q dB below the sound; silence stays silent."""
    sound = (0.05 * np.sin(np.arange(RATE) / 9)).astype(np.float32)
    noise = modulated_noise(sound, 1, q=10) - sound
    assert 20 * np.log10(sound.std() / noise.std()) == pytest.approx(10, abs=0.3)
    assert not modulated_noise(np.zeros(100, dtype=np.float32), 1).any()


def clip(**changes: object) -> ClipSounds:
    """Make a clip of noise whose codecs return less of it, and less loud."""
    random = np.random.default_rng(3)
    reference = (0.2 * random.standard_normal(RATE)).astype(np.float32)
    codecs = {"quiet": (0.5 * reference)[: RATE - 700], "loud": np.clip(7 * reference, -1.3, 1.3)}
    return ClipSounds(
        **{"clip": "a/b", "rate": RATE, "reference": reference, "codecs": codecs, "credit": "", **changes}
    )  # type: ignore[arg-type]


def test_conditions_have_one_length_and_files_one_size() -> None:
    """The shortest decides; sizes are equal to the byte, and every file decodes to what was put in."""
    made = conditions_of(clip(), anchors=True, gold=True)
    assert set(made) == {"reference", "anchor-3.5k", "anchor-7k", "gold-noise", "quiet", "loud"}
    assert {its.size for its in made.values()} == {RATE - 700}
    files = encode(made, RATE)
    assert len({len(content) for content in files.values()}) == 1
    for name, content in files.items():
        heard, rate = soundfile.read(io.BytesIO(content))
        assert rate == RATE
        assert np.abs(heard - np.clip(made[name], -1, 1)).max() <= 1 / 32_768
        assert decode(content, name)[0].size == heard.size


def test_levels_are_left_alone_or_equal_and_never_clipped() -> None:
    """One factor for all sounds keeps their relation where one goes beyond full scale."""
    made = conditions_of(clip(), anchors=False, gold=False)
    middle = slice(1000, 40_000)
    assert max(np.abs(its).max() for its in made.values()) <= 1
    ratio = made["quiet"][middle].std() / made["reference"][middle].std()
    assert ratio == pytest.approx(0.5, rel=1e-4)
    equal = conditions_of(clip(), anchors=False, gold=False, levels="rms")
    assert equal["quiet"][middle].std() / equal["reference"][middle].std() == pytest.approx(1, rel=0.01)


def test_what_is_no_sound_is_said() -> None:
    """Too short, silent, or no sound file."""
    with pytest.raises(PipelineError, match=r"at least 0\.2 s"):
        conditions_of(clip(reference=np.zeros(100, dtype=np.float32)), anchors=False, gold=False)
    silent = {"silent": np.zeros(RATE, dtype=np.float32)}
    with pytest.raises(PipelineError, match="silence"):
        conditions_of(clip(codecs=silent), anchors=False, gold=False, levels="rms")
    with pytest.raises(PipelineError, match="expected a sound file"):
        decode(b"no sound", "x.wav")
