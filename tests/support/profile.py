"""How much of the long tests runs: a fixed part, or everything where ``CODEC_SUPERB_TESTS`` is ``all``.

``make test`` runs the part, ``make test-all`` everything; docs/testing.md says what that means.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterable, Iterator

import hypothesis
import pytest

EVERYTHING = os.environ.get("CODEC_SUPERB_TESTS") == "all"


def amount(part: int, everything: int) -> int:
    """Return how often something is tried: ``part`` times in short, ``everything`` where all is asked for."""
    return everything if EVERYTHING else part


def some(names: Iterable[str], part: int) -> list[str]:
    """Return ``part`` of the names in short, those that their hashes choose, and all where all is asked for."""
    found = list(names)
    kept = found if EVERYTHING else sorted(found, key=_rank)[:part]
    return [name for name in found if name in kept]


def examples(everything: int, **options: object) -> hypothesis.settings:
    """Return Hypothesis settings with ``everything`` examples, or a quarter of them, at least five, in short."""
    return hypothesis.settings(max_examples=amount(min(everything, max(5, everything // 4)), everything), **options)


def load_hypothesis_profile() -> None:
    """Choose the default number of examples; there is no deadline, because machines that test may be busy.

    In short the examples are the same every time: a run that is repeated after a change tells what the change did.
    """
    hypothesis.settings.register_profile("part", deadline=None, max_examples=25, derandomize=True)
    hypothesis.settings.register_profile("all", deadline=None, max_examples=100)
    hypothesis.settings.load_profile("all" if EVERYTHING else "part")


def choose_cases(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Divide collected tests into those to run, in their order, and those that ``sample`` leaves to ``make test-all``.

    ``@pytest.mark.sample(n)`` keeps ``n`` cases of a parametrised test; ``sample(n, over="rate")`` keeps ``n`` of the
    cases that differ in the parameter ``rate`` alone. The hashes of their names decide which.
    """
    left_out: set[pytest.Item] = set()
    groups: dict[Hashable, list[pytest.Item]] = {}
    for item in () if EVERYTHING else items:
        for key in _groups(item):
            groups.setdefault(key, []).append(item)
    for (count, *_), cases in groups.items():
        ranked = sorted(cases, key=lambda item: _rank(item.nodeid))
        left_out.update(ranked[count:])
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]


def _rank(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _groups(item: pytest.Item) -> Iterator[tuple[Hashable, ...]]:
    """Name the groups that a test is drawn from: number to keep, test, and the parameters that the group shares."""
    # by value: pytest 9.2 numbers all combinations of stacked parameters through in `callspec.indices`
    parameters: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("sample"):
        over = mark.kwargs.get("over")
        shared = (
            () if over is None else sorted((name, repr(value)) for name, value in parameters.items() if name != over)
        )
        yield mark.args[0], item.nodeid.partition("[")[0], over, *shared
