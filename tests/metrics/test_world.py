"""The compiled DIO and StoneMask find frame by frame what the package pyworld finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import pyworld
from support.metrics import coded, noise, singing, speech
from support.profile import amount

from codec_superb.metrics.world import bands
from codec_superb.metrics.world.tracker import coarse, track

RATES = [4_000, 8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]


def package(sound: np.ndarray, rate: int, floor: float = 50.0, ceiling: float = 1100.0) -> np.ndarray:
    """Return F0 per frame by pyworld."""
    found, times = pyworld.dio(sound, rate, f0_floor=floor, f0_ceil=ceiling)
    return np.asarray(pyworld.stonemask(sound, found, times, rate))


def assert_equal(sound: np.ndarray, rate: int) -> None:
    """Voicing is the package's in every frame, F0 to a millionth of a hertz."""
    expected, found = package(sound, rate), track(sound, rate, 50.0, 1100.0)
    np.testing.assert_array_equal(found > 0.0, expected > 0.0)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)


def poor_speech(rate: int, seconds: float) -> np.ndarray:
    """Return speech through a poor codec."""
    return coded(speech(rate, seconds), rate, noise=0.1, cutoff=0.4 * min(rate, 8_000))


def with_silence(rate: int, seconds: float) -> np.ndarray:
    """Return 16-bit speech with digital silence before, within and after it, and an offset."""
    sound = np.round(speech(rate, seconds) * 32767.0) / 32768.0 + 1e-3
    part = sound.size // 8
    for begin in (0, 3 * part, 7 * part):
        sound[begin : begin + part] = 0.0
    return sound


SOUNDS: dict[str, Callable[[int, float], np.ndarray]] = {
    "speech": speech, "singing": singing, "coded": poor_speech, "noise": noise
}  # fmt: skip


@pytest.mark.sample(4, over="rate")
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", SOUNDS)
def test_pitch_equals_the_package(name: str, rate: int) -> None:
    """At every rate, also where frames lie between two samples (11.025, 22.05 and 44.1 kHz)."""
    assert_equal(SOUNDS[name](rate, 1.3), rate)


@pytest.mark.sample(4)
@pytest.mark.parametrize("rate", RATES)
def test_digital_silence_has_the_voicing_of_the_package(rate: int) -> None:
    """Only a frame next to silence may differ, by less than 0.1 Hz: there the package hears its own rounding."""
    sound = with_silence(rate, 1.3)
    expected, found = package(sound, rate), track(sound, rate, 50.0, 1100.0)
    np.testing.assert_array_equal(found > 0.0, expected > 0.0)
    differences = np.abs(found - expected)
    assert differences.max() < 0.1
    # silence has four edges within the sound
    assert np.count_nonzero(differences > 1e-6) <= 4


def test_pitch_equals_the_package_on_many_clips() -> None:
    """Voices of other seeds, lengths, levels and damages, at a rate drawn for each."""
    for seed in range(amount(12, 150)):
        random = np.random.default_rng(seed)
        rate = int(random.choice(RATES[1:]))
        sound = speech(rate, float(random.uniform(0.3, 2.5)), seed=seed)
        if seed % 2:
            sound = coded(sound, rate, noise=float(random.choice([0.001, 0.03, 0.3])), seed=seed)
        assert_equal(10.0 ** random.uniform(-4.0, 0.0) * sound, rate)


def test_long_sound_is_filtered_in_stretches_that_fit() -> None:
    """Sound longer than eight stretches goes through several rounds, and nothing shows where they meet."""
    assert_equal(speech(8_000, 9.0), 8_000)


@pytest.mark.parametrize("samples", [960, 961, 1100, 1599, 1600, 1601, 4001])
def test_short_sound_equals_the_package(samples: int) -> None:
    """Clips of 60 ms and more have as many frames as the package gives, and the same ones are voiced."""
    assert_equal(singing(16_000, 1.0)[:samples], 16_000)


def test_other_ranges_equal_the_package() -> None:
    """Floor and ceiling are parameters, not constants of the metric."""
    sound = speech(16_000, 1.5)
    np.testing.assert_allclose(track(sound, 16_000, 71.0, 800.0), package(sound, 16_000, 71.0, 800.0), atol=1e-6)


def test_dio_alone_equals_the_package() -> None:
    """Before it is refined the pitch is the package's too, so that no error hides behind the refinement."""
    sound = speech(16_000, 2.0)
    expected = pyworld.dio(sound, 16_000, f0_floor=50.0, f0_ceil=1100.0)[0]
    np.testing.assert_allclose(coarse(sound, 16_000, 50.0, 1100.0), expected, rtol=0.0, atol=1e-6)


def test_silence_and_constants_have_no_pitch() -> None:
    """Nothing is voiced where nothing sounds."""
    for flat in (np.zeros(8_000), np.full(8_000, 0.5)):
        assert not track(flat, 16_000, 50.0, 1100.0).any()


def test_low_cut_leaves_digital_silence_silent() -> None:
    """Between sounds the filtered signal is zero exactly: rounding there would look like a tone."""
    sound = singing(8_000, 3.0)
    sound[4_000:20_000] = 0.0
    filtered = bands.low_cut(sound, 8_000, 1_000, 26_000)[1_000:]
    reach = 8_000 // 50 + 1
    assert not filtered[4_000 + reach : 20_000 - reach].any()
    assert filtered[4_000 + reach // 2]


def test_no_loop_may_round_otherwise_where_it_was_compiled() -> None:
    """A process that compiles inlines what one that loads kept code calls: contraction made other numbers of the two.

    Measured on opus_6k, 20 clips of mini: 11 F0 correlations differed, by up to 0.0005; of aac_64k one by 0.026.
    """
    for path in sorted(Path(bands.__file__).parent.glob("*.py")):
        assert "fastmath" not in path.read_text("utf-8"), path.name
