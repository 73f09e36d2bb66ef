"""Figures of listening tests in words."""

from __future__ import annotations

from codec_superb.web.site.listening_tests.view import KINDS, ConditionResult, PairResult, TestResults
from codec_superb.web.text import p_value

# ITU-R BS.1534-3 asks for anchors of 3.5 kHz and 7 kHz bandwidth
NAMES = {"reference": "Hidden reference", "anchor-3.5k": "Low anchor, 3.5 kHz", "anchor-7k": "Mid anchor, 7 kHz"}


def name_of(condition: str) -> str:
    """Name a condition for people."""
    return NAMES.get(condition, condition)


def side_of(condition: str) -> str:
    """Name one of a pair, in which the reference is not hidden among others."""
    return "the reference" if condition == "reference" else name_of(condition)


def span(value: float | None, low: float | None, high: float | None, digits: int = 1) -> str:
    """Write a number with its interval."""
    if value is None:
        return "–"
    ends = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{ends}"


def percent(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a share with its interval."""
    if value is None:
        return "–"
    ends = "" if low is None or high is None else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * value:.0f}{ends} %"


def digits_of(kind: str) -> int:
    """Return how many decimals a mean has."""
    return 1 if kind == "mushra" else 2


def mean_of(found: ConditionResult, kind: str) -> str:
    """Write a mean with its interval."""
    return span(found.mean, found.low, found.high, digits_of(kind))


def codec_figure(results: TestResults, codec: str) -> str:
    """Say what a test found of a codec; '' where nothing."""
    rated = next((each for each in results.conditions if each.condition == codec and each.n), None)
    if rated is not None:
        what = {"mushra": "", "dcr": "DMOS "}.get(results.kind, "MOS ")
        return f"{what}{mean_of(rated, results.kind)}, {rated.n} ratings"
    pairs = [pair for pair in results.pairs if codec in {pair.first, pair.second} and pair.n]
    return "; ".join(_pair(pair, codec, results.kind) for pair in pairs)


def _pair(pair: PairResult, codec: str, kind: str) -> str:
    other = pair.second if pair.first == codec else pair.first
    if kind == "abx":
        right = percent(pair.share, pair.low, pair.high)
        return f"told from {side_of(other)} in {right} of {pair.n}, p {p_value(pair.p)}"
    share, low, high = pair.share, pair.low, pair.high
    if pair.first != codec and share is not None and low is not None and high is not None:
        share, low, high = 1 - share, 1 - high, 1 - low
    return f"preferred to {side_of(other)} in {percent(share, low, high)} of {pair.n}"


def kind_of(kind: str) -> str:
    """Name a kind for people."""
    return KINDS[kind]
