"""The parts of PESQ: transforms and filters that round like a plain programme, powers, and rare paths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from codec_superb.metrics.p862 import filters, realign
from codec_superb.metrics.p862.alignment import coarse, delays, frames
from codec_superb.metrics.p862.alignment.utterances import Utterances
from codec_superb.metrics.p862.arithmetic import exact_fft as stepwise
from codec_superb.metrics.p862.arithmetic import powers
from codec_superb.metrics.p862.tables import RECEIVER, listening_filter, rate_tables

F32 = np.float32


Signal = NDArray[np.float32]
SECTIONS = [rate_tables(8000).alignment, rate_tables(16000).alignment, listening_filter(corrected=False)]


def plain_transform(re: Signal, im: Signal) -> tuple[Signal, Signal]:
    """Stage by stage, every product and sum of float32 numbers rounded by itself; bins in reversed-bit order."""
    re, im = re.copy(), im.copy()
    table = stepwise.twiddle_factors(len(re))
    half = len(re) // 2
    while half:
        for block in range(len(re) // (2 * half)):
            first, second = (
                slice(block * 2 * half + part * half, block * 2 * half + (part + 1) * half) for part in (0, 1)
            )
            c, s = table.cosines[block], table.sines[block]
            r1, i1, r2, i2 = re[first].copy(), im[first].copy(), re[second].copy(), im[second].copy()
            re[first], im[first] = (r1 + c * r2) + s * i2, (i1 - s * r2) + c * i2
            re[second], im[second] = (r1 - c * r2) - s * i2, (i1 + s * r2) - c * i2
        half //= 2
    return re, im


class TestTransforms:
    """Transforms are right, and round as they have to."""

    @pytest.mark.parametrize("length", [64, 128, 512, 1024, 8192, 1 << 14])
    def test_every_rounding_is_that_of_a_plain_transform(self, length: int) -> None:
        """Vectors, joined stages and blocks for the caches change no bit."""
        re, im = np.random.default_rng(length).standard_normal((2, length)).astype(F32)
        expected = plain_transform(re, im)
        table = stepwise.twiddle_factors(length)
        stepwise.transform(re, im, table.cosines, table.sines)
        np.testing.assert_array_equal([re, im], expected)

    @pytest.mark.parametrize("length", [64, 256, 2048, 1 << 16])
    def test_bins_are_those_of_a_fourier_transform(self, length: int) -> None:
        """In natural order after reordering, to the precision of float32; of a real signal too."""
        signal = np.random.default_rng(1).standard_normal(length).astype(F32)
        re, im = signal.copy(), np.full(length, np.nan, F32)
        table = stepwise.twiddle_factors(length)
        stepwise.transform_real(re, im, table.cosines, table.sines)
        bins = np.empty((2, length), F32)
        stepwise.reorder(re, bins[0], length)
        stepwise.reorder(im, bins[1], length)
        expected = np.fft.fft(signal.astype(float))
        np.testing.assert_allclose(bins[0] + 1j * bins[1], expected, atol=3e-6 * np.abs(expected).max())

    @pytest.mark.parametrize("length", [256, 512, 1024])
    def test_sixteen_lanes_equal_sixteen_transforms(self, length: int) -> None:
        """Signals side by side get the bits that each gets alone."""
        signals = np.random.default_rng(2).standard_normal((16, length)).astype(F32)
        re, im = signals.T.ravel().copy(), np.full(16 * length, np.nan, F32)
        table = stepwise.twiddle_factors(length)
        stepwise.transform_real_lanes(re, im, table.cosines, table.sines)
        for lane, signal in enumerate(signals):
            expected = plain_transform(signal, np.zeros(length, F32))
            np.testing.assert_array_equal([re[lane::16], im[lane::16]], expected)

    def test_correlation_finds_a_shift(self) -> None:
        """The peak stands at the delay of the second signal."""
        first = np.random.default_rng(3).standard_normal(300).astype(F32)
        second = np.concatenate([np.zeros(17, F32), first])
        found = stepwise.correlation(first, second, -1.0, stepwise.twiddle_factors(1024), np.empty((6, 1024), F32))
        assert int(np.argmax(found)) == 17
        assert found[17] / 1024 == pytest.approx(float(first @ first), rel=1e-5)


class TestFilters:
    """Filters are those published, and round as they have to."""

    @pytest.mark.parametrize("sections", SECTIONS)
    def test_cascades_round_like_one_section_after_the_other(self, sections: Signal) -> None:
        """Sixteen sections at once change no bit, of either signal, not even in the decay behind it."""
        signals = np.random.default_rng(4).standard_normal((2, 900)).astype(F32)
        signals[:, 400:] = 0
        expected = signals.copy()
        for row in expected:
            for b0, b1, b2, a1, a2 in sections:
                z1, z2 = F32(0), F32(0)
                for i, sample in enumerate(row):
                    z0 = (sample - a1 * z1) - a2 * z2
                    row[i] = (b0 * z0 + b1 * z1) + b2 * z2
                    z1, z2 = z0, z1
        lanes = np.zeros((5, 16), F32)
        lanes[0] = 1
        lanes[:, 16 - len(sections) :] = sections.T
        filters.recursive(signals[0], signals[1], lanes.ravel())
        np.testing.assert_array_equal(signals, expected)

    def test_the_receiver_has_its_published_gain(self) -> None:
        """A tone comes out by as many dB softer as the curve says, relative to 1 kHz."""
        time = np.arange(16000) / 16000
        for hertz in (150, 200, 500, 1000, 3400):
            tone = np.sin(2 * np.pi * hertz * time).astype(F32)
            heard = tone.copy()
            filters.receiver_filter(heard, 16000)
            gain = 10 * np.log10(np.mean(heard[4000:12000] ** 2) / np.mean(tone[4000:12000] ** 2))
            assert gain == pytest.approx(np.interp(hertz, RECEIVER.hertz, RECEIVER.decibel) - 12, abs=0.1)

    def test_levels_meet_in_the_speech_band(self) -> None:
        """The factor brings a 1 kHz tone to the nominal power; a tone out of the band has no level."""
        time = np.arange(32000) / 16000
        tone = np.sin(2 * np.pi * 1000 * time).astype(F32)
        assert filters.level_factor(tone, 16000, len(tone)) == pytest.approx(np.sqrt(2e7), rel=1e-3)
        assert filters.level_factor(np.zeros(32000, F32), 16000, 32000) == np.inf


class TestFrames:
    """Votes and delays are found with cheaper arithmetic, and are those of the plain transform."""

    @pytest.mark.parametrize(
        ("length", "hop", "count"), [(1024, 256, 16), (1024, -256, 9), (512, -128, 16), (512, 128, 1)]
    )
    def test_the_quick_transform_finds_the_lags_of_the_plain_one(self, length: int, hop: int, count: int) -> None:
        """Forwards and backwards, in full and partly filled batches: the same lags, and limits but for rounding."""
        # The last frame ends at sample 9264, and compiled code reads there whether the array goes on or not.
        first, second = np.random.default_rng(7).standard_normal((2, 9300)).astype(F32)
        first[37:] += second[:-37]
        at = frames.workspace(length)
        found = []
        for plain in (True, False):
            at.plain[0] = plain
            frames.correlate_frames(first, second, 4400, 4391, hop, count, at.window, at)
            found.append(([at.lags[i, : at.found[i]].tolist() for i in range(count)], at.limits[:count].copy()))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
        assert all(found[0][0])

    def test_a_lag_at_the_limit_is_left_to_the_plain_transform(self) -> None:
        """An impulse answered by two of which one is 1 % weaker: rounding says whether it has a vote."""
        first, second = np.zeros((2, 6000), F32)
        at = frames.workspace(1024)
        flat = np.ones(1024, F32)
        first[1000], second[1100], second[1180] = 1, 1, F32(0.99)
        at.plain[0] = False
        assert not frames._quickly(first, second, 700, 700, 256, 1, flat, at)
        second[1180] = F32(0.98)
        assert frames._quickly(first, second, 700, 700, 256, 1, flat, at)
        assert at.lags[0, : at.found[0]].tolist() == [100]

    def test_equal_lags_raise_a_doubt(self) -> None:
        """Where two lags have the same votes, the delay is to be found again; a clear winner raises none."""
        at = frames.workspace(512)
        votes = np.zeros(512, F32)
        votes[[3, 500]] = F32(2)
        for rival, doubt in ((F32(2), True), (F32(1.9), False)):
            votes[500] = rival
            at.doubts[0] = False
            assert delays.winner(votes, at) == (3, F32(2))
            assert bool(at.doubts[0]) is doubt

    @pytest.mark.parametrize("estimate", [0, 200, -900])
    def test_grown_correlations_give_the_delays_of_transforms(self, estimate: int) -> None:
        """Of every part before and behind every cut, for short utterances and for long ones, which spill."""
        random = np.random.default_rng(8)
        window, room = 32, np.empty(256, F32)
        for length in (300, 1200):
            first = (random.standard_normal(length) > 0.6).astype(F32) * random.uniform(1, 9, length).astype(F32)
            second = np.roll(first, 11)
            cuts = 60 + (length - 120) // 12 * np.arange(12)
            table, spill, expected_spill = stepwise.twiddle_factors(4096), room.copy(), room.copy()
            found = coarse.coarse_delays_of_parts(
                first, second, (20, length - 20), cuts, estimate, window, table, spill
            )
            starts = np.stack([np.full(12, 20), cuts], axis=1).ravel()
            stops = np.stack([cuts, np.full(12, length - 20)], axis=1).ravel()
            expected = delays.coarse_delays(first, second, starts, stops, estimate, window, table, expected_spill)
            np.testing.assert_array_equal(found, expected.reshape(12, 2).T)
            np.testing.assert_array_equal(spill, expected_spill)


class TestPowers:
    """Powers worked out eight at a time."""

    def test_growth_is_that_of_the_mathematical_function(self) -> None:
        """Over all powers that can occur the float32 outcome is the correctly rounded one or its neighbour."""
        rate = rate_tables(16000)
        random = np.random.default_rng(5)
        for _ in range(200):
            values = (rate.hearing * 10 ** random.uniform(-1, 11, len(rate.bins))).astype(F32)
            out = np.empty_like(values)
            powers.power_growth(values, rate.hearing, rate.exponent, rate.loudness, out)
            exact = rate.loudness * ((0.5 + 0.5 * values.astype(float) / rate.hearing) ** rate.exponent - 1)
            np.testing.assert_allclose(out, np.where(values > rate.hearing, exact, 0), rtol=1.3e-7)

    def test_ratios_are_raised(self) -> None:
        """Ratios below and above one alike."""
        above, below = np.random.default_rng(6).uniform(0, 1e9, (2, 500)).astype(F32) ** np.array([[1.0], [0.3]], F32)
        out = np.empty_like(above)
        powers.ratio_powers(above, below, F32(50), 1.2, out)
        np.testing.assert_allclose(out, ((above + F32(50)) / (below + F32(50))).astype(float) ** 1.2, rtol=1.3e-7)


class TestRealignment:
    """The second chance of badly aligned stretches."""

    def test_stretches_are_smeared_and_need_five_frames(self) -> None:
        """Bad frames two apart join; a lone one is left alone; the first and the last frames never count."""
        disturbance = np.zeros(40, F32)
        disturbance[[5, 7, 8, 10, 11]] = 31
        disturbance[[20, 39]] = 31
        assert realign.bad_stretches(disturbance) == [(5, 12)]

    @pytest.mark.parametrize(("last", "stretches"), [(6, []), (7, [(3, 8)])])
    def test_a_bad_first_frame_makes_no_stretch_longer(self, last: int, stretches: list[tuple[int, int]]) -> None:
        """Frame 0 is bad, 1 and 2 are good: the stretch begins at frame 3, and has its five frames or has not."""
        disturbance = np.zeros(40, F32)
        disturbance[[0, *range(3, last + 1)]] = 31
        assert realign.bad_stretches(disturbance) == stretches

    def test_each_utterance_is_moved_by_its_delay(self) -> None:
        """Samples before the second utterance come from one delay, the others from the next; ends repeat."""
        rate = rate_tables(8000)
        signal = np.arange(2 * rate.lead + 6400, dtype=F32)
        cut = 100
        found = Utterances(np.array([75, cut]), np.array([cut, 140]), np.array([3, -2]))
        moved = realign.aligned(signal, found, rate)
        first, end = rate.lead, len(signal) - rate.lead
        places = np.arange(first, end)
        delays = np.where(places >= cut * rate.window, -2, 3)
        np.testing.assert_array_equal(moved[first:end], signal[np.clip(places + delays, first, end - 1)])
