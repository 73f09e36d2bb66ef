"""Folds: nobody is on both sides, everybody is held out once, whatever the order."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.applications.emotions import synthetic_items

from codec_superb.applications.er.folds import make_folds
from codec_superb.applications.interface import Item

NAMES = st.sampled_from([f"g{number}" for number in range(12)])


def items_of(groups: list[str], by: str) -> list[Item]:
    """Make clips with a session or a speaker each."""
    if by == "session":
        return [Item(f"c{i:03}", "speech", speaker="one", extra=(("session", name),)) for i, name in enumerate(groups)]
    return [Item(f"c{i:03}", "speech", speaker=name) for i, name in enumerate(groups)]


def test_the_five_sessions_of_iemocap_are_the_five_folds() -> None:
    """Each session is held out once, with both people in it."""
    items = synthetic_items()
    folds = make_folds(items)
    assert (folds.by, folds.count) == ("session", 5)
    sessions = defaultdict(set)
    for item in items:
        sessions[folds.of[item.clip]].add(dict(item.extra)["session"])
    assert sorted(sessions) == [0, 1, 2, 3, 4]
    assert all(len(names) == 1 for names in sessions.values())


@given(st.lists(NAMES, min_size=2, max_size=60), st.sampled_from(["session", "speaker"]), st.randoms())
def test_no_group_is_on_both_sides(groups: list[str], by: str, random: object) -> None:
    """Sessions and speakers stay whole, every fold holds some, the order of clips says nothing, and sizes are fair."""
    items = items_of(groups, by)
    folds = make_folds(items)
    assert folds.of.keys() == {item.clip for item in items}
    if len(set(groups)) > 1:
        assert (folds.by, folds.count) == (by, min(5, len(set(groups))))
        places = defaultdict(set)
        for item, name in zip(items, groups, strict=True):
            places[name].add(folds.of[item.clip])
        assert all(len(found) == 1 for found in places.values())
        largest = max(Counter(groups).values())
        sizes = Counter(folds.of.values())
        assert max(sizes.values()) - min(sizes.values()) <= largest
    assert set(folds.of.values()) == set(range(folds.count))
    random.shuffle(items)  # type: ignore[attr-defined]
    assert make_folds(items).of == folds.of


@given(st.integers(2, 40), st.integers(0, 3))
def test_clips_alone_are_dealt_out(count: int, seed: int) -> None:
    """Without sessions and speakers, folds differ by one clip at most, and the seed decides."""
    items = [Item(f"c{i}", "speech") for i in range(count)]
    folds = make_folds(items, seed)
    sizes = Counter(folds.of.values())
    assert (folds.by, len(sizes)) == ("clip", min(5, count))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert make_folds(items[::-1], seed).of == folds.of


def test_one_clip_without_a_session_makes_all_go_by_speaker() -> None:
    """A session that is not known for all could hide a leak."""
    items = [*items_of(["a", "b", "c"], "session"), Item("x", "speech", speaker="two")]
    assert make_folds(items).by == "speaker"


def test_one_clip_makes_no_folds() -> None:
    """There is nothing to train on."""
    with pytest.raises(ValueError, match="at least two clips, got 1"):
        make_folds([Item("a", "speech")])
