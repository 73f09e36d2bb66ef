"""The part of the tests that `make test` runs is the part that is asked for."""

from __future__ import annotations

import pytest
from support import profile
from support.profile import EVERYTHING, some


@pytest.mark.sample(1, over="rate")
@pytest.mark.parametrize("rate", [8000, 16000, 48000])
@pytest.mark.parametrize("name", ["a", "b"])
def test_is_drawn(name: str, rate: int) -> None:
    """Stand for tests with two parameters."""
    assert name
    assert rate


@pytest.mark.skipif(EVERYTHING, reason="everything runs")
def test_one_rate_of_each_name_was_drawn(request: pytest.FixtureRequest) -> None:
    """Of the cases that differ in the rate alone one was kept, for each name."""
    drawn = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path and item.name.startswith("test_is_drawn[")
    ]
    assert sorted(drawn) == ["a", "b"]


def test_some_names_do_not_depend_on_their_order_and_grow() -> None:
    """A part is the same however the names are listed, in their order, and within every larger part."""
    names = ["board", "codec", "compare", "chart", "listen", "login"]
    drawn = some(names, 3)
    assert len(drawn) == (len(names) if EVERYTHING else 3)
    assert drawn == [name for name in names if name in drawn]
    assert set(some(reversed(names), 3)) == set(drawn)
    assert set(drawn) <= set(some(names, 4))


@pytest.mark.sample(1, among="relatives of this module")
@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_is_drawn_too(number: int) -> None:
    """Stand for a test whose cases are drawn before it is drawn itself."""
    assert number


@pytest.mark.sample(1, among="relatives of this module")
def test_is_its_relative() -> None:
    """Stand for another test of the same family."""


def parity(number: int) -> int:
    """Tell of which kind a case is."""
    return number % 2


@pytest.mark.sample(1, among=parity)
@pytest.mark.parametrize("number", range(6))
def test_is_of_a_kind(number: int) -> None:
    """Stand for a test with cases of two kinds."""
    assert number < 6


@pytest.mark.skipif(EVERYTHING, reason="everything runs")
def test_one_of_each_kind_was_drawn(request: pytest.FixtureRequest) -> None:
    """Of the cases of each kind one was kept."""
    drawn = [
        item.callspec.params["number"]
        for item in request.session.items
        if item.path == request.path and item.name.startswith("test_is_of_a_kind[")
    ]
    assert sorted(map(parity, drawn)) == [0, 1]


@pytest.mark.skipif(EVERYTHING, reason="everything runs")
def test_one_of_the_relatives_was_drawn(request: pytest.FixtureRequest) -> None:
    """Of tests with the same word one was kept, though the cases of one of them had been drawn from before."""
    relatives = [
        item
        for item in request.session.items
        if any(mark.kwargs.get("among") == "relatives of this module" for mark in item.iter_markers("sample"))
    ]
    assert len(relatives) == 1


@pytest.mark.skipif(EVERYTHING, reason="everything runs")
def test_another_seed_draws_another_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word in the variable draws as many, others, and the same ones again; the summary names it."""
    names = [f"test{number}" for number in range(40)]
    parts = []
    for seed in ("", "a", "b", "a"):
        monkeypatch.setattr(profile, "SEED", seed)
        assert f"seed {seed!r}" in profile.described()
        parts.append(tuple(some(names, 8)))
    assert {len(part) for part in parts} == {8}
    assert len({*parts}) == 3
