"""Arithmetic of batches and chunks: nothing is lost, nothing goes together that may not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codec_superb.base_codec.families.batching import LONGEST_TO_SHORTEST, Chunking, groups, spans


@given(st.lists(st.integers(1, 500), max_size=20), st.integers(1, 1000), st.none() | st.integers(1, 50))
def test_every_clip_is_in_one_group_that_it_may_share(lengths: list[int], budget: int, mixable: int | None) -> None:
    """Each clip is in exactly one group; lengths differ only where that is allowed; the budget holds."""
    made = groups(lengths, budget, mixable)
    assert sorted(index for group in made for index in group) == list(range(len(lengths)))
    for group in made:
        its = [lengths[index] for index in group]
        assert len(group) == 1 or max(its) * len(group) <= budget
        if min(its) != max(its):
            assert mixable is not None
            assert min(its) >= mixable
            assert max(its) <= min(its) * LONGEST_TO_SHORTEST


@given(st.integers(1, 2000), st.integers(1, 30), st.integers(1, 20), st.integers(0, 9), st.integers(0, 9))
def test_kept_parts_of_spans_follow_one_another(frames: int, limit: int, chunk: int, before: int, after: int) -> None:
    """The kept parts cover all frames once, inside what is coded, with context wherever the clip has it."""
    chunking = Chunking(limit, chunk, before, after)
    end = 0
    for span in spans(frames, 2.0, chunking):
        assert span.keep_from == end
        assert 0 <= span.start <= span.keep_from < span.keep_to <= span.end <= frames
        if frames > 2 * limit:
            assert span.start == max(0, span.keep_from - 2 * before)
            assert span.end == min(frames, span.keep_to + 2 * after)
            assert span.keep_to - span.keep_from <= 2 * chunk
        end = span.keep_to
    assert end == frames
