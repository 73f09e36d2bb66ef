"""The part of the tests that `make test` runs is the part that is asked for."""

from __future__ import annotations

import pytest
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
        item.callspec.params["name"] for item in request.session.items if item.path == request.path and "[" in item.name
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
