"""Which clips are drawn: by the seed alone, spread over categories, and enough of them to catch a cheat."""

from __future__ import annotations

from itertools import product
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import draw_rows
from support.profile import amount, examples

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.verification.draw import (
    allocation,
    checked_nonce,
    clips_needed,
    draw,
    escape,
    log_escape,
    seed_of,
)

FILE, NONCE = "ab" * 32, "01" * 32


def test_the_seed_is_the_hash_of_both() -> None:
    """SHA-256 of the 64 bytes, as `printf | xxd -r -p | sha256sum` prints it; either decides on the draw."""
    assert seed_of("00" * 32, "00" * 32) == "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"
    assert len({seed_of(FILE, NONCE), seed_of(NONCE, FILE), seed_of(FILE, "02" * 32)}) == 3
    for wrong in ("", "AB" * 32, "0" * 63, "0x" + "0" * 62, "0" * 65, "é" * 64):
        with pytest.raises(PipelineError, match="64 hexadecimal digits"):
            checked_nonce(wrong)


def test_a_draw_is_spread_and_does_not_depend_on_order() -> None:
    """Each dataset has as many clips as asked for, of its categories in proportion; all and 0 are all."""
    rows = [*draw_rows(1, 60), *draw_rows(2, 30, dataset="more", categories=("speech",))]
    drawn = draw(rows, seed_of(FILE, NONCE), 12)
    assert {name: len(clips) for name, clips in drawn.items()} == {"mini": 12, "more": 12}
    of = {row.clip: row.category for row in rows}
    counts = [sum(of[clip] == category for clip in drawn["mini"]) for category in ("speech", "audio", "music")]
    assert counts == [4, 4, 4]
    assert draw(reversed(rows), seed_of(FILE, NONCE), 12) == drawn
    assert draw(rows, seed_of(FILE, "02" * 32), 12) != drawn
    assert set(drawn["mini"]) < set(draw(rows, seed_of(FILE, NONCE), 24)["mini"])
    assert all(len(draw(rows, FILE, number)["mini"]) == 60 for number in (0, 60, 1000))


@pytest.mark.parametrize(
    ("clips", "needed"), [(1, 1), (20, 20), (75, 51), (200, 73), (1000, 86), (2620, 89), (10000, 90)]
)
def test_how_many_catch_one_in_twenty(clips: int, needed: int) -> None:
    """The figures of docs/verification.md: the least number that misses at most once in a hundred, by the formula."""
    forged = max(1, -(-clips // 20))
    assert clips_needed([clips]) == needed
    assert escape(clips, needed, forged) <= 0.01
    assert needed == 1 or escape(clips, needed - 1, forged) > 0.01


@examples(60)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 18), st.integers(1, 6))
def test_the_worst_spread_is_found(sizes: list[int], number: int, forged: int) -> None:
    """No way to spread forged clips over the categories escapes more easily: all of them are tried."""
    forged = min(forged, sum(sizes))
    taken = allocation(sizes, number)
    assert sum(taken) == min(number, sum(sizes))
    assert all(its <= size for its, size in zip(taken, sizes, strict=True))
    escapes = [
        float(np.prod([comb(size - k, n) / comb(size, n) for size, n, k in zip(sizes, taken, spread, strict=True)]))
        for spread in product(*(range(min(size, forged) + 1) for size in sizes))
        if sum(spread) == forged
    ]
    assert exp(log_escape(sizes, taken, forged)) == pytest.approx(max(escapes), abs=1e-12)


def test_draws_catch_as_often_as_the_formula_says() -> None:
    """Of so many nonces over 75 clips of three categories with 4 forged ones as few miss as the formula says."""
    nonces = amount(600, 2000)
    rows = draw_rows(1, 75)
    forged = {rows[place].clip for place in (0, 1, 2, 30)}  # the worst spread: over all categories
    drawn = (draw(rows, seed_of(FILE, f"{number:064x}"), None)["mini"] for number in range(nonces))
    missed = sum(not forged & set(clips) for clips in drawn)
    expected = nonces * exp(log_escape([25, 25, 25], allocation([25, 25, 25], 51), 4))
    assert expected <= 0.01 * nonces
    assert abs(missed - expected) < 4 * expected**0.5
