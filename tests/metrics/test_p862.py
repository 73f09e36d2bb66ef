"""PESQ against the package that wraps the standard's programme, and against what is known about it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pesq as package
import pytest
from numpy.typing import NDArray
from support.p862 import RATE, damaged, speech
from support.profile import amount

from codec_superb.metrics.errors import InvalidAudio, Undefined
from codec_superb.metrics.p862 import NoUtterances, SilentResynthesis, TooShort, pesq, pesq_batch

MODES = [("wb", 16000), ("nb", 16000), ("nb", 8000)]
IDENTITY = {"wb": 4.643888473510742, "nb": 4.548638343811035}


def at_rate(signal: NDArray[Any], rate: int) -> NDArray[Any]:
    """Every second sample stands in for resampling: PESQ does not mind."""
    return signal[:: RATE // rate]


@pytest.mark.parametrize(("mode", "rate"), MODES)
class TestAgreement:
    """Score by score, the package is met to the last bit."""

    @pytest.mark.sample(1)
    def test_scores_equal_those_of_the_package(self, mode: Any, rate: int) -> None:
        """On pairs of many damages (forty in long form) the scores are the package's, to the last bit."""
        for seed in range(amount(12, 40)):
            reference = speech(1.0 + 0.08 * seed, seed)
            pair = at_rate(reference, rate), at_rate(damaged(reference, seed), rate)
            assert pesq(*pair, rate, mode) == package.pesq(rate, *pair, mode), seed

    def test_long_utterances_equal_those_of_the_package(self, mode: Any, rate: int) -> None:
        """Speech without a pause spoils the package's window, and so it does ours."""
        voice = np.concatenate([speech(1.5, seed)[3000:] for seed in range(8)])
        voice = voice + 0.02 * np.random.default_rng(0).standard_normal(len(voice)).astype(np.float32)
        late = np.concatenate([voice[:60000], np.zeros(700, np.float32), voice[60000:]])[: len(voice)]
        pair = at_rate(voice.astype(np.float32), rate), at_rate(late.astype(np.float32), rate)
        assert pesq(*pair, rate, mode) == package.pesq(rate, *pair, mode)

    @pytest.mark.parametrize("lengths", [(32000, 40000), (40000, 32000)])
    def test_unequal_lengths_are_scored_like_the_package(self, mode: Any, rate: int, lengths: tuple[int, int]) -> None:
        """Either signal may be longer."""
        reference = speech(3.0, 7)
        pair = (at_rate(signal[:length], rate) for signal, length in zip((reference, reference), lengths, strict=True))
        first, second = pair
        assert pesq(first, second, rate, mode) == package.pesq(rate, first, second, mode)

    def test_a_signal_with_itself_gives_the_greatest_score(self, mode: Any, rate: int) -> None:
        """The known identity values come out exactly."""
        signal = at_rate(speech(2.0, 3), rate)
        assert pesq(signal, signal, rate, mode) == IDENTITY[mode]

    def test_scaling_both_signals_changes_nothing(self, mode: Any, rate: int) -> None:
        """Powers of two scale without rounding, so the score is the same to the last bit."""
        reference = at_rate(speech(2.0, 4), rate)
        coded = at_rate(damaged(speech(2.0, 4), 4), rate)
        expected = pesq(reference, coded, rate, mode)
        for factor in (2.0**-12, 0.5, 1024.0):
            assert pesq(reference * np.float32(factor), coded * np.float32(factor), rate, mode) == expected

    @pytest.mark.sample(5)
    @pytest.mark.parametrize("kind", [np.int16, np.int32, np.float32, np.float64])
    def test_every_kind_of_number_is_taken_like_the_package_takes_it(self, mode: Any, rate: int, kind: type) -> None:
        """Integers and floats of any scale are divided by the greatest sample first."""
        reference = at_rate(speech(1.5, 5), rate) * 20000
        coded = at_rate(damaged(speech(1.5, 5), 6), rate) * 9000
        pair = reference.astype(kind), coded.astype(kind)
        assert pesq(*pair, rate, mode) == package.pesq(rate, *pair, mode)

    def test_the_same_pairs_have_no_score(self, mode: Any, rate: int) -> None:
        """What the package refuses is refused, for the same reason; the arguments may be silent or short."""
        voice = at_rate(speech(1.0, 8), rate)
        quiet, click = np.zeros_like(voice), np.zeros_like(voice)
        click[len(click) // 2 : len(click) // 2 + rate // 50] = 0.5
        for first, second, theirs, ours in (
            (quiet, voice, package.NoUtterancesError, NoUtterances),
            (voice[: rate // 4 - 1], voice, package.BufferTooShortError, TooShort),
            (voice, voice[:1], package.BufferTooShortError, TooShort),
            (quiet[:100], quiet[:100], package.BufferTooShortError, TooShort),
            (voice, quiet, ValueError, SilentResynthesis),
        ):
            with np.errstate(all="ignore"), pytest.raises(theirs):
                package.pesq(rate, first, second, mode)
            with pytest.raises(ours):
                pesq(first, second, rate, mode)
        burst = np.random.default_rng(1).standard_normal(rate // 4)
        assert pesq(burst, burst, rate, mode) == IDENTITY[mode] == package.pesq(rate, burst, burst, mode)


class TestContract:
    """What is taken, and how the rest is refused."""

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (lambda signal: np.where(np.arange(len(signal)) == 9, np.nan, signal), "NaN"),
            (lambda signal: np.where(np.arange(len(signal)) == 9, -np.inf, signal), "infinity"),
            (lambda signal: signal[None], r"\(samples,\)"),
            (lambda signal: signal.astype(complex), "complex128"),
            (lambda signal: signal > 0, "bool"),
        ],
    )
    def test_bad_arrays_are_refused_by_name(self, change: Callable[[Any], Any], told: str) -> None:
        """The message says which signal and what was wrong with it; nothing is scored."""
        good = speech(1.0, 1)
        with pytest.raises(InvalidAudio, match=f"reference: .*{told}"):
            pesq(change(good), good, RATE)
        with pytest.raises(InvalidAudio, match=f"resynthesis: .*{told}"):
            pesq(good, change(good), RATE)

    @pytest.mark.parametrize(("rate", "mode"), [(8000, "wb"), (44100, "nb"), (16000, "swb")])
    def test_bad_settings_are_refused(self, rate: int, mode: Any) -> None:
        """Wide-band needs 16 kHz, narrow-band 8 or 16 kHz, and there is no third mode."""
        with pytest.raises(InvalidAudio, match="expected"):
            pesq(speech(1.0, 1), speech(1.0, 1), rate, mode)

    def test_arrays_are_read_as_they_lie_and_not_changed(self) -> None:
        """A view with gaps, or backwards, or read-only gives the score of its copy, and stays as it was."""
        reference, coded = speech(2.0, 2), damaged(speech(2.0, 2), 3)
        wide = np.repeat(reference, 3).reshape(-1, 3)
        backwards = coded[::-1].copy()[::-1]
        before = backwards.copy()
        wide.setflags(write=False)
        assert pesq(wide[:, 1], backwards, RATE) == pesq(reference, coded, RATE)
        np.testing.assert_array_equal(backwards, before)

    def test_reasons_are_undefined_scores(self) -> None:
        """A pair without a score is undefined, which the pipeline counts apart from failures."""
        assert all(issubclass(reason, Undefined) for reason in (NoUtterances, TooShort, SilentResynthesis))


class TestThreads:
    """Any number of threads gives the same scores."""

    def test_eight_threads_give_the_scores_of_one(self) -> None:
        """Nothing is shared between threads but tables."""
        pairs = [(speech(1.0 + 0.3 * i, i), damaged(speech(1.0 + 0.3 * i, i), i)) for i in range(6)]
        expected = [pesq(*pair, RATE) for pair in pairs]
        seen: list[list[float]] = []

        def score_all() -> None:
            seen.append([pesq(*pair, RATE) for pair in pairs])

        workers = [threading.Thread(target=score_all) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert seen == [expected] * 8

    def test_a_batch_keeps_its_order_and_holds_errors_in_place(self) -> None:
        """A pair without a score does not disturb its neighbours, whatever the number of threads."""
        voice = speech(1.0, 1)
        pairs = [(voice, damaged(voice, 1)), (voice[:10], voice), (voice, voice)]
        for threads in (1, 3):
            first, second, third = pesq_batch(pairs, RATE, threads=threads)
            assert first == pesq(*pairs[0], RATE)
            assert isinstance(second, TooShort)
            assert third == IDENTITY["wb"]


class TestCorrigendum2:
    """The corrected wide-band filter, derived anew."""

    def test_the_filter_is_a_butterworth_high_pass_12_db_lower(self) -> None:
        """The published section is the bilinear transform of a 100 Hz high-pass at 9 dB; corrected, at -3 dB."""
        from codec_superb.metrics.p862.tables import listening_filter

        warped = np.tan(np.pi * 100 / RATE)
        scale = 1 / (1 + np.sqrt(2) * warped + warped**2)
        poles = [2 * (warped**2 - 1) * scale, (1 - np.sqrt(2) * warped + warped**2) * scale]
        for corrected, gain in ((False, 9.0), (True, -3.0)):
            section = listening_filter(corrected=corrected)[0].astype(float)
            np.testing.assert_allclose(section[3:], poles, rtol=2e-7)
            np.testing.assert_allclose(section[:3] / section[0], [1, -2, 1], rtol=1e-6)
            assert 20 * np.log10(section[0] / scale) == pytest.approx(gain, abs=2e-3)

    def test_the_correction_is_the_receivers_gain_at_1_khz(self) -> None:
        """Narrow-band listening takes its filter relative to 1 kHz; the wide-band filter was not, by as many dB."""
        from codec_superb.metrics.p862.tables import CORRECTION_DB, RECEIVER

        level = np.interp(1000, RECEIVER.hertz, RECEIVER.decibel)
        assert level == RECEIVER.at_1_khz == -CORRECTION_DB

    def test_corrected_scores_are_higher_and_narrow_band_is_untouched(self) -> None:
        """A model that hears 12 dB less hears less damage; the identity value stays."""
        reference, coded = speech(2.0, 6), damaged(speech(2.0, 6), 2)
        assert pesq(reference, coded, RATE, corrigendum2=True) > pesq(reference, coded, RATE) + 0.05
        assert pesq(reference, reference, RATE, corrigendum2=True) == IDENTITY["wb"]
        assert pesq(reference, coded, RATE, "nb", corrigendum2=True) == pesq(reference, coded, RATE, "nb")
