"""Pure parts of the ranking: known answers from outside, and what must hold of any numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from operator import eq, lt
from threading import Event, Semaphore

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.profile import examples
from support.timing import wait_for

from codec_superb.server.errors import Unavailable
from codec_superb.server.ranking.aggregation import borda, exact_shares, places, rank_ranges, weighted
from codec_superb.server.ranking.bands import BANDS, band_of, holm
from codec_superb.server.ranking.bradley_terry import abilities, win_counts
from codec_superb.server.ranking.caches import WAITING, RankingCaches
from codec_superb.server.ranking.weights import points, turn

BASEBALL = np.array([
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
], float)  # fmt: skip
"""American League East of 1987 (Agresti, Categorical Data Analysis, table 10.10): Milwaukee, Detroit, Toronto, New
York, Boston, Cleveland, Baltimore; winners in rows."""
PUBLISHED = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)
"""Abilities over Baltimore's, as Agresti and the R package BradleyTerry2 give them."""
SCORES = arrays(float, (12, 4), elements=st.integers(0, 6).map(float))


class TestBradleyTerry:
    """Abilities from wins."""

    def test_the_published_abilities_of_baseball_teams_come_back(self) -> None:
        """To the four decimals that are printed."""
        found = abilities(BASEBALL, prior=0.0)
        assert found - found[-1] == pytest.approx(PUBLISHED, abs=6e-5)

    @examples(40)
    @given(SCORES)
    def test_wins_are_counted_as_one_would_by_hand(self, scores: np.ndarray) -> None:
        """A clip is a win, or half of one for either; a codec without a value meets nobody; draws count anew."""
        scores[0, 0] = np.nan
        weights = np.array([np.ones(12), np.arange(12) % 3])
        expected = np.zeros((2, 4, 4))
        for clip, row in enumerate(scores):
            for one in range(4):
                for other in range(4):
                    if one != other:
                        expected[:, one, other] += weights[:, clip] * (
                            (row[one] > row[other]) + (row[one] == row[other]) / 2
                        )
        assert win_counts(scores, weights) == pytest.approx(expected)

    @examples(30)
    @given(SCORES, st.permutations(range(4)))
    def test_names_do_not_matter_and_the_dominated_are_never_above(self, scores: np.ndarray, order: list[int]) -> None:
        """Other names, the same abilities; who is nowhere better and somewhere worse has a lower one."""
        scores[:, 3] = np.minimum(scores[:, 3], scores[:, 2])
        wins = win_counts(scores, np.ones((1, 12)))[0]
        found = abilities(wins)
        assert abilities(wins[np.ix_(order, order)]) == pytest.approx(found[order], abs=1e-6)
        assert found[3] <= found[2] + 1e-9
        if (scores[:, 3] < scores[:, 2]).any():
            assert found[3] < found[2]


class TestAggregation:
    """Mean ranks and points."""

    def test_tennessee_elects_nashville(self) -> None:
        """The textbook's election: 42, 26, 15 and 17 voters give 126, 194, 173 and 107 points of Borda."""
        # utilities of Memphis, Nashville, Chattanooga, Knoxville for the voters of each city
        ballots = [(4, 3, 2, 1)] * 42 + [(1, 4, 3, 2)] * 26 + [(1, 2, 4, 3)] * 15 + [(1, 2, 3, 4)] * 17
        shares = borda(places(np.array(ballots, float)))
        assert 3 * shares.sum(axis=0) == pytest.approx([126, 194, 173, 107])

    @examples(40)
    @given(SCORES)
    def test_points_and_mean_ranks_give_one_order(self, scores: np.ndarray) -> None:
        """Whatever the weights: points are 1 for a mean rank of 1, and 0 for the last; the dominated is never above."""
        scores[:, 1] = np.maximum(scores[:, 1], scores[:, 0])
        ranks = [places(row) for row in scores]
        aspects = ["a"] * 5 + ["b"] * 7
        mean = weighted(ranks, aspects, {"a": 0.3, "b": 2.0})
        by_points = weighted([borda(row) for row in ranks], aspects, {"a": 0.3, "b": 2.0})
        assert borda(mean) == pytest.approx(by_points)
        assert by_points[1] >= by_points[0] - 1e-12

    @examples(40)
    @given(SCORES, st.lists(st.integers(1, 4), min_size=20, max_size=20))
    def test_votes_are_shares_of_what_is_beaten(self, scores: np.ndarray, senders: list[int]) -> None:
        """In fractions as in floats, with ties; of a codec alone 1, and with equal votes the ranks of every day."""
        senders = senders[: scores.shape[1]]
        votes = [Fraction(1, senders.count(sender)) for sender in senders]
        exact = [float(share) for share in exact_shares(scores[0], votes)]
        assert borda(places(scores, np.array(votes, float)))[0] == pytest.approx(exact)
        by_hand = []
        for one in scores[0]:
            below, equal = (
                [vote for vote, other in zip(votes, scores[0], strict=True) if fits(other, one)] for fits in (lt, eq)
            )
            own = sum(equal) / len(equal)
            by_hand.append((sum(below) + (sum(equal) - own) / 2) / (sum(votes) - own))
        assert exact == pytest.approx([float(share) for share in by_hand])
        assert places(scores, np.ones(scores.shape[1])) == pytest.approx(places(scores))
        assert exact_shares(np.array([0.5]), [Fraction(1)]) == [1]

    def test_ranges_hold_the_rank_and_what_the_draws_say(self) -> None:
        """Two that change places in a quarter of the draws share a range; the third is certain."""
        draws = np.tile([0.9, 0.8, 0.1], (100, 1))
        draws[:25, :2] = 0.8, 0.9
        rank, best, worst = rank_ranges(np.array([0.9, 0.8, 0.1]), draws)
        assert (rank.tolist(), best.tolist(), worst.tolist()) == ([1, 2, 3], [1, 1, 3], [2, 2, 3])


class TestBands:
    """Bitrates and corrected p-values."""

    def test_the_lower_end_belongs_to_a_band(self) -> None:
        """Every bitrate is in one band, an unknown one in none."""
        assert [band.key for band in BANDS] == ["0-1", "1-2", "2-4", "4-8", "8-16", "16-32", "32-"]
        for kbps, key in ((0.7, "0-1"), (1.0, "1-2"), (15.999, "8-16"), (16.0, "16-32"), (1411.2, "32-")):
            band = band_of(kbps)
            assert band is not None
            assert band.key == key
        assert band_of(float("nan")) is None

    def test_holm_is_that_of_the_textbook(self) -> None:
        """0.005, 0.01, 0.03, 0.04 become 0.02, 0.03, 0.06, 0.06; with more hypotheses they are larger."""
        assert holm([0.01, 0.04, 0.03, 0.005], 4) == pytest.approx([0.03, 0.06, 0.06, 0.02])
        assert holm([0.01], 5) == pytest.approx([0.05])
        assert holm([0.4, 0.6], 10) == [1.0, 1.0]


SHARES = st.lists(
    st.fixed_dictionaries(dict.fromkeys("abc", st.fractions(0, 1, max_denominator=8))), min_size=2, max_size=5
)
WEIGHTS = st.fixed_dictionaries(dict.fromkeys("abc", st.fractions("1/8", 4, max_denominator=8)))


class TestTurn:
    """What changes the winner."""

    def test_a_change_that_can_be_computed_by_hand(self) -> None:
        """1 against 0.5 in a, 0 against 0.75 in b: b must weigh 2/3 of a, and a may fall to 3/2 of b."""
        shares = [{"a": Fraction(1), "b": Fraction(0)}, {"a": Fraction(1, 2), "b": Fraction(3, 4)}]
        found = turn(shares, {"a": Fraction(2), "b": Fraction(1)})
        assert found is not None
        assert (found.aspect, found.weight, found.codec) == ("b", Fraction(4, 3), 1)
        assert found.rounded(Fraction(1)) == 1.334
        assert turn(shares[:1] * 2, {"a": Fraction(1), "b": Fraction(1)}) is None  # first together

    @examples(150)
    @given(SHARES, WEIGHTS)
    def test_no_smaller_change_of_one_weight_makes_another_codec_the_first(
        self, shares: list[dict[str, Fraction]], weights: dict[str, Fraction]
    ) -> None:
        """Just beyond the turn the named one is ahead of the first; at every smaller step the first one stays."""
        reached = points(shares, weights)
        assume(reached.count(max(reached)) == 1)
        first = reached.index(max(reached))
        found = turn(shares, weights)
        change = None if found is None else abs(found.weight - weights[found.aspect])
        for name, now in weights.items():
            for share in (Fraction(1, 3), Fraction(999, 1000)):
                step = share * (Fraction(50) if change is None else change)
                for moved in (now + step, now - step):
                    if moved > 0:
                        then = points(shares, weights | {name: moved})
                        assert then[first] == max(then)
                        assert then.count(max(then)) == 1
        if found is not None:
            beyond = found.weight + (found.weight - weights[found.aspect]) / 1000
            if beyond > 0:
                then = points(shares, weights | {found.aspect: beyond})
                assert then[found.codec] > then[first]


def test_only_so_many_wait_for_a_long_computation() -> None:
    """Whoever comes when four wait already is asked to come again, also where one makes what all of them want."""
    kept = RankingCaches()

    entered, go_on = Semaphore(0), Event()

    def long() -> int:
        entered.release()
        assert go_on.wait(60)
        return 1

    with ThreadPoolExecutor(WAITING) as pool:
        found = [pool.submit(kept.once, kept.bands, "wanted", long) for _ in range(WAITING)]
        assert entered.acquire(timeout=60)
        assert not entered.acquire(blocking=False)  # one at a time
        wait_for(kept.turns.full, "the places were not taken")
        for key in ("wanted", "another"):
            with pytest.raises(Unavailable, match="ask again"):
                kept.once(kept.bands, key, lambda: 2)
        go_on.set()
        assert [each.result() for each in found] == [1] * WAITING
    assert [kept.once(kept.bands, key, lambda: 2) for key in ("wanted", "another")] == [1, 2]
