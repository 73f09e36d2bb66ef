"""Trials built from speaker labels: complete, balanced, within the limit, and the same whatever the order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.asv.trials import LIMIT, build_trials, check, sha256_of_trials
from codec_superb.applications.interface import Item
from codec_superb.data_manifests.trials import Trial


def _items(speakers: Sequence[str | None]) -> list[Item]:
    return [Item(f"clip{number:05}", "speech", speaker=speaker) for number, speaker in enumerate(speakers)]


_SPEAKERS = st.lists(st.sampled_from(["anna", "bob", "carol", "dan", None]), max_size=14)


class TestBuildTrials:
    """The list."""

    def test_three_clips_by_hand(self) -> None:
        """Two clips of one speaker and one of another: one trial of each kind, by clip id."""
        trials = build_trials(_items(["b", "a", "a"]))
        assert trials[-1] == Trial(same=True, enrolment="clip00001", test="clip00002")
        assert [trial.same for trial in trials] == [False, True]
        assert trials[0].enrolment == "clip00000"

    @given(_SPEAKERS)
    def test_every_pair_of_one_speaker_and_as_many_of_two(self, speakers: list[str | None]) -> None:
        """All pairs of one speaker are there, and as many of two speakers as exist up to that; labels are right."""
        items = _items(speakers)
        trials = build_trials(items)
        speaker_of = {item.clip: item.speaker for item in items if item.speaker}
        same = {pair for pair in combinations(sorted(speaker_of), 2) if speaker_of[pair[0]] == speaker_of[pair[1]]}
        others = len(speaker_of) * (len(speaker_of) - 1) // 2 - len(same)
        assert {trial[1:] for trial in trials if trial.same} == same
        assert sum(not trial.same for trial in trials) == min(len(same), others)
        assert all((speaker_of[left] == speaker_of[right]) == kind for kind, left, right in trials)
        assert len({trial[1:] for trial in trials}) == len(trials)
        assert [trial[1:] for trial in trials] == sorted(trial[1:] for trial in trials)
        assert all(trial.enrolment < trial.test for trial in trials)

    @given(_SPEAKERS, st.randoms(use_true_random=False), st.integers(2, 12))
    def test_order_changes_nothing(self, speakers: list[str | None], random: object, limit: int) -> None:
        """Shuffled items give the same list."""
        items = _items(speakers)
        shuffled = list(items)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert build_trials(shuffled, limit=limit) == build_trials(items, limit=limit)

    @given(_SPEAKERS, st.integers(2, 12))
    def test_the_limit_holds(self, speakers: list[str | None], limit: int) -> None:
        """Never more trials than the limit, and never more than half of them of one speaker."""
        trials = build_trials(_items(speakers), limit=limit)
        assert len(trials) <= limit
        assert sum(trial.same for trial in trials) <= limit // 2
        assert set(trials) <= set(build_trials(_items(speakers))) | {t for t in trials if not t.same}

    def test_a_large_set_is_drawn_quickly_and_evenly(self) -> None:
        """Of 800 million pairs 50,000 are drawn, half of each kind, over all speakers alike."""
        items = _items([f"speaker{number % 400:03}" for number in range(40_000)])
        trials = build_trials(items)
        speaker_of = {item.clip: item.speaker for item in items}
        assert len(trials) == LIMIT
        assert sum(trial.same for trial in trials) == LIMIT // 2
        counts = [0] * 400
        for trial in trials:
            if trial.same:
                counts[int(str(speaker_of[trial.enrolment])[-3:])] += 1
        assert 25 < min(counts) <= max(counts) < 110  # 62.5 expected, standard deviation 7.9

    def test_the_draw_is_pinned(self) -> None:
        """A seeded draw is the same on every machine and version of Python; another seed is another draw."""
        items = _items([f"s{number % 7}" for number in range(60)])
        assert (
            sha256_of_trials(build_trials(items, limit=100))
            == "b0d26f335c26e8851007f8d64967ecdacbe699c86a01d1dbb568bb9d9b1fcd91"
        )
        assert build_trials(items, seed=1, limit=100) != build_trials(items, limit=100)

    def test_most_pairs_are_drawn_without_repeats(self) -> None:
        """A limit just below the number of pairs leaves out just those beyond it."""
        items = _items(["a"] * 10 + ["b"] * 10)
        trials = build_trials(items, limit=178)
        assert sum(trial.same for trial in trials) == 89  # of 90
        assert len({trial[1:] for trial in trials}) == 178


class TestHash:
    """The hash of a list."""

    def test_is_that_of_the_file(self) -> None:
        """One trial hashes as the line that a file of it has."""
        import hashlib

        expected = hashlib.sha256(b"1\ta\tb\n0\ta\tc\n").hexdigest()
        assert sha256_of_trials([(True, "a", "b"), (False, "a", "c")]) == expected


class TestCheck:
    """Whether anything can be verified, before a model is loaded."""

    @pytest.mark.parametrize(
        ("speakers", "reason"),
        [
            ([], "there is none"),
            ([None, None], "there is none"),
            (["a", "a"], "there is one"),
            (["a", "b", "c"], "3 speakers have one clip each"),
            (["a", "a", "b"], ""),
        ],
    )
    def test_labels(self, speakers: list[str | None], reason: str) -> None:
        """Two speakers, one of them with two clips, are needed; otherwise the reason says what there is."""
        answer = check(_items(speakers))
        assert (reason in answer) if reason else answer == ""

    def test_published_trials(self) -> None:
        """Both kinds of published trials must lie among the clips; speaker labels are not needed then."""
        items = _items([None, None, None])
        same, other = (True, "clip00000", "clip00001"), (False, "clip00000", "clip00002")
        assert check(items, [same, other]) == ""
        assert "only trials of one speaker" in check(items, [same, (False, "clip00000", "elsewhere")])
        assert "only trials of two speakers" in check(items, [other])
        assert "have none" in check(items[:1], [same, other])

    @given(_SPEAKERS)
    def test_says_yes_just_where_trials_of_both_kinds_exist(self, speakers: list[str | None]) -> None:
        """No reason means a list with both kinds, and the other way round."""
        items = _items(speakers)
        assert (check(items) == "") == ({trial.same for trial in build_trials(items)} == {True, False})
