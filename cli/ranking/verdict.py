"""The end of ``bench`` in three sentences: who is best at which bitrate, what is not significant, what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from codec_superb.metrics.table import overall_metrics
from codec_superb.web.text import count, interval, kbps, number

if TYPE_CHECKING:
    from codec_superb.metrics.table import Category
    from codec_superb.pipeline.comparison.leaders import Failures, Leader, Leaders
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.statistics.ranks import Ranking

BREAK = "\n  "
"""Stands before each category of several."""
MOST = 6
"""Things that a list names before it counts the others."""
_DECIMALS = 3


def verdict(results: Sequence[Results], rankings: Mapping[Category, Ranking]) -> dict[str, str]:
    """Return the three sentences: ``best``, ``not_significant`` and ``failed``.

    Codecs are ordered clean, on the clips that all ranked ones share, and compared in pairs on those that both have;
    the scores are those of the table, over each codec's own clips. Failures are those of all runs. Where there are
    several categories each begins with :data:`BREAK`, in which a reader who wants one line puts a space.
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
    return f"Best at their bitrate or below:{_lines(clauses, categories) or ' no codec was ranked'}."


def _lines(clauses: Sequence[str], categories: Sequence[Leaders]) -> str:
    """Put several clauses about several categories on lines of their own."""
    before = BREAK if min(len(clauses), len(categories)) > 1 else " "
    return ";".join(f"{before}{clause}" for clause in clauses)


def _leaders(of: Leaders) -> str:
    if of.ranked == 1:
        (leader,) = of.leaders
        score = number(leader.score, _DECIMALS)
        return f"{leader.codec}, the only one with a rank ({score} at {kbps(leader.kbps)} kbps){_ordered_on(of)}"
    named = [_leader(leader, " kbps" if leader is of.leaders[0] else "") for leader in of.leaders]
    apart = f" ({_listed(of.unmeasured)} without a measured bitrate)" if of.unmeasured else ""
    return _listed(named, most=len(named)) + apart + _ordered_on(of)


def _ordered_on(of: Leaders) -> str:
    """Say that the order rests on fewer clips than the scores that are named; '' where it does not."""
    if not of.lacking:
        return ""
    same = len(set(of.lacking.values())) == 1 and len(of.lacking) == len(overall_metrics(of.category))
    counts = [f"{'' if same else f'{key} on '}{shared} of {most}" for key, (shared, most) in of.lacking.items()]
    return f", in the order on clips that all ranked codecs share ({_listed(counts[:1] if same else counts)})"


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
    if not clauses:
        clauses = ["no other lead" if unknown else "no lead"]
    if unknown:
        clauses.append(f"not to be told in {_listed(unknown)}, from clips of one speaker or recording")
    return f"Not significant (the 95 % paired interval of the difference holds 0):{_lines(clauses, categories)}."


def _doubtful(leader: Leader) -> str:
    """Name the rivals that a leader is not significantly better than, with the difference to the best; '' if none."""
    rivals = [rival for rival in leader.rivals if rival.known and not rival.significant]
    if not rivals or rivals[0].score is None:
        return ""
    best = rivals[0].score
    ends = f"{number(best.difference, _DECIMALS)} {interval(best.low, best.high, _DECIMALS)}"
    more = f" and over {count(len(rivals) - 1, 'rival')} further behind" if len(rivals) > 1 else ""
    return f"{leader.codec} over {rivals[0].codec} ({ends}){more}"


def _failed(failures: Sequence[Failures], categories: Sequence[Leaders], runs: int) -> str:
    clauses = [f"{of.title} on {of.dataset} ({_stages(of)} of {count(of.clips, 'clip')})" for of in failures]
    told = _listed(clauses) if clauses else f"nothing in {count(runs, 'run')}"
    unranked = [
        f"no rank in {of.category}: {_listed([f'{codec} ({reason})' for codec, reason in of.unranked.items()])}"
        for of in categories
        if of.unranked
    ]
    return f"Failed:{_lines([told, *unranked], categories)}."


def _stages(of: Failures) -> str:
    return _listed([f"{stage} on {amount}" for stage, amount in of.stages.items()])


def _listed(items: Sequence[str], most: int = MOST) -> str:
    """Join words as in a sentence: ``a``, ``a and b``, ``a, b and 3 more``."""
    named = [*items] if len(items) <= most else [*items[: most - 1], f"{len(items) - most + 1} more"]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
