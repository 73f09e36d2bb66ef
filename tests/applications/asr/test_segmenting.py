"""Long sounds are divided where they are quiet, and nothing of them is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.asr.segmenting import quietest, segments

RATE = 1000


def _loud(seconds: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.0, round(seconds * RATE)).astype(np.float32)


class TestKnownAnswers:
    """Where it divides, found by hand."""

    def test_half_a_minute_stays_whole(self) -> None:
        """A sound of exactly the longest length is one part."""
        sound = _loud(30)
        (part,) = segments(sound, RATE)
        assert part is not sound
        assert np.array_equal(part, sound)

    def test_a_pause_is_where_it_divides(self) -> None:
        """With one pause between 20 and 30 s the cut lies in its middle."""
        sound = _loud(45)
        sound[24_000:24_600] = 0
        first, second = segments(sound, RATE)
        assert 24_000 < first.size < 24_600
        assert first.size + second.size == 45_000

    def test_a_pause_outside_the_range_is_not_used(self) -> None:
        """Silence at 10 s does not make a part of 10 s."""
        sound = _loud(40)
        sound[10_000:10_600] = 0
        first, _ = segments(sound, RATE)
        assert 20_000 <= first.size <= 30_000

    def test_silence_divides_as_late_as_it_can(self) -> None:
        """Among equally quiet places the last is taken, which makes the fewest parts."""
        parts = segments(np.zeros(65 * RATE, np.float32), RATE)
        assert [part.size for part in parts] == [29_900, 29_900, 5_200]

    def test_one_sample_more_divides(self) -> None:
        """A sound a sample longer than the longest part has two parts."""
        assert len(segments(_loud(30.001), RATE)) == 2

    def test_an_empty_sound_has_no_part(self) -> None:
        """Nothing divides into nothing."""
        assert segments(np.zeros(0, np.float32), RATE) == ()

    def test_a_short_stretch_is_divided_in_its_middle(self) -> None:
        """Where 0.2 s do not fit, the middle is taken."""
        assert quietest(_loud(0.1), RATE) == 50


@examples(60)
@given(
    length=st.integers(1, 2000),
    rate=st.sampled_from([1, 8, 10, 13]),
    seed=st.integers(0, 1000),
    shortest=st.sampled_from([1.0, 2.5, 20.0]),
)
def test_joined_parts_are_the_sound(length: int, rate: int, seed: int, shortest: float) -> None:
    """At any length and rate the parts follow one another, none too long, none but the last too short."""
    sound = np.random.default_rng(seed).standard_normal(length).astype(np.float32)
    parts = segments(sound, rate, shortest_s=shortest, longest_s=1.5 * shortest)
    assert np.array_equal(np.concatenate(parts), sound)
    assert all(0 < part.size <= 1.5 * shortest * rate for part in parts)
    assert all(part.size >= int(shortest * rate) for part in parts[:-1])
    assert [part.size for part in parts] == [
        part.size for part in segments(sound, rate, shortest_s=shortest, longest_s=1.5 * shortest)
    ]
