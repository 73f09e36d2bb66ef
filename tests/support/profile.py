"""How much of the long tests runs: a part, or everything where ``CODEC_SUPERB_TESTS`` is ``all``.

``make test`` runs the part, ``make test-all`` everything; docs/testing.md says what that means. Any other word in the
variable is a seed, which draws another part.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator

import hypothesis
import pytest

SEED = os.environ.get("CODEC_SUPERB_TESTS", "")
EVERYTHING = SEED == "all"


def amount(part: int, everything: int) -> int:
    """Return how often something is tried: ``part`` times in short, ``everything`` where all is asked for."""
    return everything if EVERYTHING else part


def some(names: Iterable[str], part: int) -> list[str]:
    """Return ``part`` of the names in short, those that their hashes choose, and all where all is asked for."""
    found = list(names)
    kept = found if EVERYTHING else sorted(found, key=_rank)[:part]
    return [name for name in found if name in kept]


def examples(everything: int, **options: object) -> hypothesis.settings:
    """Return Hypothesis settings with ``everything`` examples, or an eighth of them, at least five, in short."""
    return hypothesis.settings(max_examples=amount(min(everything, max(5, everything // 8)), everything), **options)


def load_hypothesis_profile() -> None:
    """Choose the default number of examples; there is no deadline, because machines that test may be busy.

    In short the examples are the same every time: a run that is repeated after a change tells what the change did.
    """
    hypothesis.settings.register_profile("part", deadline=None, max_examples=12, derandomize=True)
    hypothesis.settings.register_profile("all", deadline=None, max_examples=100)
    hypothesis.settings.load_profile("all" if EVERYTHING else "part")


def choose_cases(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Divide collected tests into those to run, in their order, and those that ``sample`` leaves to ``make test-all``.

    ``@pytest.mark.sample(n)`` keeps ``n`` cases of a parametrised test; ``sample(n, over="rate")`` keeps ``n`` of the
    cases that differ in the parameter ``rate`` alone. Of those, ``sample(n, among="wheel")`` keeps ``n`` of all tests
    that say the same word, and ``sample(n, among=family)`` ``n`` of the cases for which the function ``family`` of
    their parameters gives the same. The hashes of their names decide which.
    """
    if EVERYTHING:
        return items, []
    kept = _draw(_draw(items, _cases), _relatives)
    chosen = set(kept)
    return kept, [item for item in items if item not in chosen]


def described() -> str:
    """Say in one line which part of the long tests runs."""
    if EVERYTHING:
        return "long tests: everything"
    return f"long tests: the part of seed {SEED!r}; CODEC_SUPERB_TESTS=all runs everything, another word another part"


def _draw(
    items: list[pytest.Item], grouping: Callable[[pytest.Item], Iterator[tuple[Hashable, ...]]]
) -> list[pytest.Item]:
    """Return the items that each of their groups keeps; a group begins with the number that it keeps."""
    groups: dict[Hashable, list[pytest.Item]] = {}
    for item in items:
        for key in grouping(item):
            groups.setdefault(key, []).append(item)
    left_out: set[pytest.Item] = set()
    for (count, *_), members in groups.items():
        left_out.update(sorted(members, key=lambda item: _rank(item.nodeid))[count:])
    return [item for item in items if item not in left_out]


def _rank(name: str) -> bytes:
    return hashlib.sha256((SEED + name).encode()).digest()


def _cases(item: pytest.Item) -> Iterator[tuple[Hashable, ...]]:
    """Name the groups of cases that a test is drawn from: number to keep, test, and the parameters that they share."""
    for mark in item.iter_markers("sample"):
        if "among" in mark.kwargs:
            continue
        over = mark.kwargs.get("over")
        shared = (
            () if over is None else sorted((name, repr(value)) for name, value in _parameters(item) if name != over)
        )
        yield mark.args[0], item.nodeid.partition("[")[0], over, *shared


def _relatives(item: pytest.Item) -> Iterator[tuple[Hashable, ...]]:
    """Name the groups of tests, or of cases of a kind, that a test is drawn from: number to keep, what they share."""
    for mark in item.iter_markers("sample"):
        among = mark.kwargs.get("among")
        if callable(among):
            yield mark.args[0], item.nodeid.partition("[")[0], among(**dict(_parameters(item)))
        elif among is not None:
            yield mark.args[0], among


def _parameters(item: pytest.Item) -> Iterable[tuple[str, object]]:
    # by value: pytest 9.2 numbers all combinations of stacked parameters through in `callspec.indices`
    return item.callspec.params.items() if hasattr(item, "callspec") else ()
