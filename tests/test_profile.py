"""The part of the tests that `make test` runs is the part that is asked for."""

from __future__ import annotations

import pytest
from support.profile import EVERYTHING


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
