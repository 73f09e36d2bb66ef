"""How a comparison is arranged for its page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codec_superb.web.quantity import SCORE
from codec_superb.web.rows import Gap
from codec_superb.web.site.compare.page import (
    clip_lines,
    clip_metric,
    compare_url,
    counts_of,
    forest_rows,
    gap_lines,
    signed,
    unshared_clips,
    verdict_lists,
)
from codec_superb.web.site.compare.view import (
    CategoryGap,
    ClipGap,
    CodecPair,
    ComparedCodec,
    Comparison,
    DatasetGap,
    Extremes,
    MetricGap,
    quantity_of,
    verdict_of,
)


def gap(difference: float, verdict: str = "unclear") -> Gap:
    """Make a difference."""
    return Gap(1 + difference, 1.0, difference, difference - 0.1, difference + 0.1, 0.5, verdict)  # type: ignore[arg-type]


def metric(key: str, difference: float, verdict: str, n: int = 9) -> MetricGap:
    """Make a metric's difference."""
    return MetricGap(key, n, 0, 0, 5, 3, 1, gap(difference, verdict))


def dataset(name: str, *metrics: MetricGap) -> DatasetGap:
    """Make a dataset of speech."""
    extremes = [Extremes(entry.metric, [ClipGap("a", 2, 1, 1)], []) for entry in metrics]
    return DatasetGap(name, "speech", 9, 1, 0, gap(0.2, "better"), metrics, extremes)


PESQ, STFT = metric("pesq", -0.3, "worse"), metric("stft", -0.5, "better")
PAIR = CodecPair(
    "two", "one", "", [CategoryGap("speech", ["x", "y"], [], gap(0.15, "better"))],
    [dataset("x", PESQ, STFT), dataset("y", PESQ)], [],
)  # fmt: skip
COMPARISON = Comparison(
    [ComparedCodec(name, name.title(), "f", name, 1, "self-reported", "A lab", []) for name in ("one", "two")],
    [PAIR],
    [],
    [],
    0,
)


@pytest.mark.parametrize(
    ("low", "high", "higher", "verdict"),
    [
        (0.1, 0.2, True, "better"),
        (0.1, 0.2, False, "worse"),
        (-0.2, -0.1, False, "better"),
        (-0.1, 0.1, True, "unclear"),
        (0.0, 0.0, True, "unclear"),
        (0.0, 0.1, True, "unclear"),
        (None, None, True, "unclear"),
    ],
)
def test_verdict(low: float | None, high: float | None, higher: bool, verdict: str) -> None:
    """Clear is what lies on one side of zero, in the metric's own direction."""
    assert verdict_of(low, high, higher_is_better=higher) == verdict


def test_lines_of_the_score_begin_with_all_datasets() -> None:
    """The category first, then each of its datasets."""
    assert [(line.group, line.gap.difference) for line in gap_lines(COMPARISON, "score") if line.gap] == [
        ("all datasets, speech", 0.15),
        ("x, speech", 0.2),
        ("y, speech", 0.2),
    ]


def test_lines_of_a_metric_leave_out_groups_without_it() -> None:
    """A metric of one dataset has one line; the figure shows the same."""
    (line,) = gap_lines(COMPARISON, "stft")
    assert (line.group, line.n, line.counts and line.counts.wins) == ("x, speech", 9, 5)
    assert [row.gap for row in forest_rows(COMPARISON, "stft")] == [line.gap]


def test_codecs_of_one_title_are_told_apart() -> None:
    """By the name, in table and figure."""
    twins = [replace(codec, title="Opus") for codec in COMPARISON.codecs]
    (line,) = gap_lines(replace(COMPARISON, codecs=twins), "stft")
    assert line.title == "Opus (two)"


def test_standings_are_sorted_by_verdict() -> None:
    """Each quantity of each group stands in one list, with its sign."""
    assert counts_of(PAIR) == {"better": 3, "worse": 2, "unclear": 0}
    lists = verdict_lists(PAIR)
    assert lists["better"] == [
        ("x, speech", ["Overall score +0.200", "STFT distance −0.50"]),
        ("y, speech", ["Overall score +0.200"]),
    ]
    assert lists["worse"] == [("x, speech", ["PESQ −0.30"]), ("y, speech", ["PESQ −0.30"])]


def test_clips_are_shown_by_a_metric_that_clips_have() -> None:
    """The overall score belongs to no single clip: PESQ stands in for it."""
    assert clip_metric(COMPARISON, "score") == "pesq"
    assert clip_metric(COMPARISON, "stft") == "stft"
    (found,) = clip_lines(COMPARISON, "pesq")
    assert [(line.dataset, line.clip.clip) for line in found.gains] == [("x", "a"), ("y", "a")]
    assert found.losses == []
    assert clip_lines(COMPARISON, "") == []


def test_clips_of_one_side_are_said_by_name() -> None:
    """Who has more, and how many."""
    assert unshared_clips(PAIR) == [f"{name}, speech: 1 clip that only two resynthesised" for name in "xy"]


def test_an_address_carries_any_name() -> None:
    """Names and state are escaped, blanks left out."""
    assert compare_url(["a b", "c&d"], metric="pesq", seed="") == "/compare?codec=a+b&codec=c%26d&metric=pesq"


@pytest.mark.parametrize(("value", "text"), [(0.25, "+0.250"), (-0.25, "−0.250"), (0.0001, "0.000"), (0, "0.000")])
def test_signs(value: float, text: str) -> None:
    """What rounds to nothing has no sign."""
    assert signed(value, SCORE) == text


def test_quantities() -> None:
    """The score and every metric of the table."""
    assert quantity_of("score") == SCORE
    assert quantity_of("stft").higher_is_better is False
