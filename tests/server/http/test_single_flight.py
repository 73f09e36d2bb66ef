"""Finished answers in memory: one computation for all who ask, and room for the last ones only."""

from __future__ import annotations

import threading
import tracemalloc

import pytest

from codec_superb.server.http.single_flight import SingleFlightCache


def test_an_answer_is_made_once() -> None:
    """The second time it is there."""
    kept, made = SingleFlightCache(2), []
    for _ in range(2):
        assert kept.get("a", lambda: made.append(1) or "answer") == "answer"  # type: ignore[func-returns-value]
    assert len(made) == 1
    assert "a" in kept


def test_the_one_asked_for_longest_ago_goes() -> None:
    """Asking keeps an answer young."""
    kept = SingleFlightCache(2)
    for key in ("a", "b", "a", "c"):
        kept.get(key, lambda: 1)
    assert [key in kept for key in "abc"] == [True, False, True]


def test_answers_may_be_counted_by_their_size() -> None:
    """The oldest make room for a long one, and one that is longer than all room is given and not kept."""
    kept = SingleFlightCache(4, len)
    assert [kept.get(key, lambda key=key: key) for key in ("a", "bb", "ccc", "ddddd")] == ["a", "bb", "ccc", "ddddd"]  # type: ignore[misc]
    assert [key in kept for key in ("a", "bb", "ccc", "ddddd")] == [False, False, True, False]


def test_a_failure_is_kept_by_nobody() -> None:
    """The next one who asks tries again."""
    kept = SingleFlightCache(2)

    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.get("a", fail)
    assert "a" not in kept
    assert kept.get("a", lambda: 1) == 1


def test_who_asks_meanwhile_waits_for_the_same_computation() -> None:
    """Four threads, one computation, four answers."""
    kept, begun, go_on, made = SingleFlightCache(2), threading.Event(), threading.Event(), []

    def slow() -> int:
        begun.set()
        assert go_on.wait(60)
        made.append(1)
        return 7

    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(kept.get("a", slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert (answers, len(made)) == ([7] * 4, 1)


def test_nothing_stays_of_an_answer_that_has_gone() -> None:
    """However often answers were asked for, what is held is bounded by the answers that are kept."""
    kept = SingleFlightCache(1)
    tracemalloc.start()
    for number in range(20_000):
        for _ in range(2):
            kept.get(f"a{number}", lambda: 1)
        if number == 1000:
            before = tracemalloc.get_traced_memory()[0]
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # threads of other tests allocate beside it (140 kB seen); one lock that stayed of each answer would be 2 MB
    assert grown < 500_000
