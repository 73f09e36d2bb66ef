"""The end of ``bench`` in three sentences: who is best at which bitrate, what is not significant, what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from codec_superb.web.text import count, interval, kbps, number

if TYPE_CHECKING:
    from codec_superb.metrics.table import Category
    from codec_superb.pipeline.comparison.leaders import Failures, Leader, Leaders
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.statistics.ranks import Ranking

MOST = 6
"""Things that a list names before it counts the others."""
_DECIMALS = 3


def verdict(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> dict[str, str]:
    """Return the three sentences: ``best``, ``not_significant`` and ``failed``.

    Codecs are compared clean, on the clips that all ranked ones share; failures are those of all runs.
    """
    from codec_superb.pipeline.comparison.leaders import find_failures, find_leaders

    found = find_leaders(results, rankings)
    return {
        "best": _best(found),
        "not_significant": _not_significant(found),
        "failed": _failed(find_failures(results), found, sum(len(entry.datasets) for entry in results)),
    }


def _best(categories: Sequence[Leaders]) -> str:
    clauses = [f"in {of.category} {_leaders(of)}" for of in categories if of.leaders]
    none = [of.category for of in categories if not of.leaders]
    if none:
        clauses.append(f"no codec in {_listed(none)}" if clauses else "no codec has a rank")
    return f"Best at their bitrate or below: {'; '.join(clauses) or 'no codec was ranked'}."


def _leaders(of: Leaders) -> str:
    if of.ranked == 1:
        (leader,) = of.leaders
        return (
            f"{leader.codec}, the only one with a rank ({number(leader.score, _DECIMALS)} at {kbps(leader.kbps)} kbps)"
        )
    named = [_leader(leader, " kbps" if leader is of.leaders[0] else "") for leader in of.leaders]
    apart = f" ({_listed(of.unmeasured)} without a measured bitrate)" if of.unmeasured else ""
    return _listed(named, most=len(named)) + apart


def _leader(leader: Leader, unit: str) -> str:
    return f"{leader.codec} from {kbps(leader.kbps)}{unit} ({number(leader.score, _DECIMALS)})"


def _not_significant(categories: Sequence[Leaders]) -> str:
    if not any(leader.rivals for of in categories for leader in of.leaders):
        return "Not significant: nothing to test, as no codec has a rival at its bitrate or below."
    clauses, unknown = [], []
    for of in categories:
        if doubtful := [told for leader in of.leaders if (told := _doubtful(leader))]:
            clauses.append(f"in {of.category} {_listed(doubtful, most=len(doubtful))}")
        if any(not rival.known for leader in of.leaders for rival in leader.rivals):
            unknown.append(of.category)
    told = "; ".join(clauses) or ("no other lead" if unknown else "no lead")
    untold = f"; not to be told in {_listed(unknown)}, from clips of one speaker or recording" if unknown else ""
    return f"Not significant (the 95 % paired interval of the difference holds 0): {told}{untold}."


def _doubtful(leader: Leader) -> str:
    """Name the rivals that a leader is not significantly better than, with the difference to the best; '' if none."""
    rivals = [rival for rival in leader.rivals if rival.known and not rival.significant]
    if not rivals or rivals[0].score is None:
        return ""
    best = rivals[0].score
    ends = f"{number(best.difference, _DECIMALS)} {interval(best.low, best.high, _DECIMALS)}"
    more = f" and {count(len(rivals) - 1, 'worse rival')}" if len(rivals) > 1 else ""
    return f"{leader.codec} over {rivals[0].codec} ({ends}){more}"


def _failed(failures: Sequence[Failures], categories: Sequence[Leaders], runs: int) -> str:
    clauses = [f"{of.title} on {of.dataset} ({_stages(of)} of {count(of.clips, 'clip')})" for of in failures]
    told = _listed(clauses) if clauses else f"nothing in {count(runs, 'run')}"
    unranked = [
        f"; no rank in {of.category}: {_listed([f'{codec} ({reason})' for codec, reason in of.unranked.items()])}"
        for of in categories
        if of.unranked
    ]
    return f"Failed: {told}{''.join(unranked)}."


def _stages(of: Failures) -> str:
    return _listed([f"{stage} on {amount}" for stage, amount in of.stages.items()])


def _listed(items: Sequence[str], most: int = MOST) -> str:
    """Join words as in a sentence: ``a``, ``a and b``, ``a, b and 3 more``."""
    named = [*items] if len(items) <= most else [*items[: most - 1], f"{len(items) - most + 1} more"]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
