"""The Pareto front, on answers known by hand."""

import pytest

from codec_superb.web.figures import pareto_front


def test_keeps_what_nothing_beats() -> None:
    """A codec with more bits and no better value than another is not on the front."""
    assert pareto_front([6, 12, 16, 24], [0.5, 0.7, 0.6, 0.8]) == [0, 1, 3]


def test_goes_by_bitrate_whatever_the_order_of_rows() -> None:
    """Indices come by ascending bitrate, not in the order of the input."""
    assert pareto_front([24, 6, 12], [0.9, 0.5, 0.7]) == [1, 2, 0]


def test_a_distance_is_better_when_smaller() -> None:
    """With lower-is-better values the front follows the smallest ones."""
    assert pareto_front([1, 2, 3], [2.0, 2.5, 1.0], higher_is_better=False) == [0, 2]


def test_equal_codecs_are_both_kept() -> None:
    """Neither of two identical points beats the other."""
    assert pareto_front([4, 4, 8], [0.6, 0.6, 0.6]) == [0, 1]


def test_at_one_bitrate_only_the_best_counts() -> None:
    """At equal bitrate the worse value is beaten."""
    assert pareto_front([4, 4], [0.5, 0.6]) == [1]


def test_of_nothing_is_nothing() -> None:
    """No codec, no front."""
    assert pareto_front([], []) == []


def test_refuses_lists_of_different_length() -> None:
    """A value without a bitrate is a mistake of the caller."""
    with pytest.raises(ValueError, match="shorter"):
        pareto_front([1, 2], [0.5])
