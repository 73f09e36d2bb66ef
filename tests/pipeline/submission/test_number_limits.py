"""Counts, versions and recomputed numbers: compared one by one, within rounding and no further."""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import Any

import pytest
from support.pipeline.probed_file import packed
from support.pipeline.stats import card, failed, ok, row

from codec_superb.applications.table import COMPOSITES, PROBE_METRICS
from codec_superb.metrics.results import NO_SCORE
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check_numbers import (
    _compare,
    _Slack,
    check_bitrates,
    check_counts,
    check_figures,
    check_metrics,
    counts_of,
)
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue
from codec_superb.pipeline.tables.stored_rows import StoredRows

SETS = "mseb_reconstruction_yamnet"
AGAIN = "pack the runs again with this version; numbers are not edited by hand"
UNDEFINED = MetricValue(status="undefined", reason="-")
ROWS = [
    row("a", metrics={"pesq": ok(1.0), "stoi": UNDEFINED}),
    row("b", metrics={"pesq": UNDEFINED, "stoi": UNDEFINED}),
    row("c", metrics={"pesq": ok(1.0), "stoi": ok(1.0)}),
    failed("d"),
]
COUNTS = {"clips": 4, "selected": 4, "ok": 3, "failed": 1, "undefined": 2}


@cache
def submission() -> Submission:
    """Read one that was packed."""
    return Submission.model_validate_json(read_archive(packed("sim"))["submission.json"])


def test_counts_by_hand() -> None:
    """Two of three clips have an undefined metric, however many they have; a failed one has none."""
    assert counts_of(StoredRows.of(ROWS)) == {"ok": 3, "failed": 1, "undefined": 2}
    assert counts_of(StoredRows.of([])) == {"ok": 0, "failed": 0, "undefined": 0}


def counted(rows: list[ClipRow], *datasets: dict[str, Any]) -> Findings:
    """Compare rows with what a submission says about its datasets."""
    entries = tuple(submission().datasets[0].model_copy(update=COUNTS | fields) for fields in datasets)
    findings = Findings()
    check_counts(StoredRows.of(rows), submission().model_copy(update={"datasets": entries}), findings)
    assert {problem.how_to_fix for problem in findings.problems} <= {AGAIN}
    return findings


def listed(findings: Findings) -> list[tuple[str, str, str]]:
    """Place, expectation and finding of each problem."""
    return [
        (problem.path.removeprefix("submission.json: "), problem.expected, problem.got) for problem in findings.problems
    ]


def test_counts_that_agree() -> None:
    """As many as the rows, of a dataset of that size or a larger one: nothing to say."""
    for clips in (4, 5):
        findings = counted(ROWS, {"clips": clips})
        assert (findings.problems, findings.notes) == ([], [])


@pytest.mark.parametrize("field", ["selected", "ok", "failed", "undefined"])
@pytest.mark.parametrize("by", [-1, 1])
def test_counts_that_do_not(field: str, by: int) -> None:
    """One more or less is named with what the rows give."""
    told = COUNTS[field] + by
    assert listed(counted(ROWS, {"clips": 9, field: told})) == [
        (f"datasets.0.{field}", f"{COUNTS[field]}, counted in the rows", str(told))
    ]


def test_more_clips_than_the_dataset_has() -> None:
    """Nobody can choose four clips of three."""
    assert listed(counted(ROWS, {"clips": 3})) == [("datasets.0.clips", "at least the 4 selected", "3")]


def test_a_dataset_without_a_resynthesis_is_noted() -> None:
    """It is no untruth, and nobody should overlook it; one clip is enough."""
    none = {"ok": 0, "failed": 1, "undefined": 0, "selected": 1}
    assert counted([failed("a")], none).notes == ["mini: no clip has a resynthesis"]
    assert counted([row("a")], none | {"ok": 1, "failed": 0}).notes == []


def test_rows_belong_to_one_entry_each() -> None:
    """A dataset with two entries, and rows of one that has none, are named; others are counted."""
    elsewhere = row("a", dataset="other")
    assert listed(counted([*ROWS, elsewhere], {})) == [("datasets", "one entry for 'other', which has rows", "0")]
    assert listed(counted(ROWS, {}, {})) == [("datasets", "one entry for 'mini', which has rows", "2")]
    second = {"name": "other", "selected": 1, "ok": 1, "failed": 0, "undefined": 7}
    assert listed(counted([*ROWS, elsewhere], {}, second)) == [("datasets.1.undefined", "0, counted in the rows", "7")]


def test_versions_of_metrics() -> None:
    """Those of the table pass; another version and an unknown metric are named, each with what is known."""
    findings = Findings()
    versions = {"gold": "1", "pesq": METRICS["pesq"].version, "stoi": "0"}
    check_metrics(Submission.model_construct(metrics=versions, custom_metrics={}), findings)
    unknown, other = findings.problems
    assert (unknown.path, unknown.got) == ("submission.json: metrics.gold", "gold")
    assert unknown.expected.startswith("a metric of the table (")
    assert unknown.how_to_fix == "score with this version"
    assert (other.path, other.got) == ("submission.json: metrics.stoi", "0")
    assert other.expected == f"version {METRICS['stoi'].version} of the definition"
    assert other.how_to_fix == "run score again with this version, then pack"


def test_every_figure_of_an_application_has_two_ends() -> None:
    """No figure of the tables is open to a side, and one beyond its ends is named with them on either side."""
    tables = PROBE_METRICS | COMPOSITES
    assert [key for key, figure in tables.items() if not all(map(isfinite, figure.admitted))] == []
    (drawn,) = submission().aggregates.applications
    cases = (("warpq", 1.1, True), ("warpq", 9e14, False), ("und_digit_above_chance_pct", -101, False))
    for figure, value, fits in cases:
        findings = Findings()
        told = drawn.resynthesis.model_copy(update={"value": value})
        check_figures(
            [drawn.model_copy(update={"figure": figure, "resynthesis": told, "reference": NO_SCORE})], findings
        )
        found = [place for place, *_ in listed(findings)]
        assert found == ([] if fits else ["aggregates.applications.0.resynthesis"])


def compared(expected: Any, got: Any) -> list[tuple[str, str, str]]:
    """Compare what was computed with what came."""
    findings = Findings()
    _compare(expected, got, "x", findings, _Slack())
    return listed(findings)


@pytest.mark.parametrize(
    ("expected", "got"),
    [(1.0, 1.0 + 0.9e-9), (1e6, 1e6 + 0.9e-3), (0.0, 0.9e-12), (None, None), (3, 3), ("a", "a"), (True, True)],
)
def test_the_same_within_rounding(expected: Any, got: Any) -> None:
    """A billionth of the number, or 10⁻¹² about zero, may come from the order of sums."""
    assert compared(expected, got) == []


@pytest.mark.parametrize(
    ("expected", "got"),
    [(1.0, 1.0 + 1.1e-9), (0.0, 1.1e-12), (0.5, None), (None, 0.5), (1, 1.0), (1, True), (3, 4), ("a", "b")],
)
def test_another_number(expected: Any, got: Any) -> None:
    """Beyond rounding, of another kind, or missing on either side."""
    assert compared(expected, got) == [("x", f"{expected!r}, recomputed from clips.parquet", repr(got))]


def test_figures_of_sets_are_the_same_within_a_millionth() -> None:
    """They are small differences of large sums; those of other probes beside them are not."""
    sets, others = ({"probe": key, "loss": {"value": 1.0, "low": 0.0}} for key in (SETS, "sim"))

    def moved(by: float) -> Any:
        return tuple(entry | {"loss": {"value": 1.0 + by, "low": by}} for entry in (sets, others))

    assert [path for path, _, _ in compared((sets, others), moved(0.9e-6))] == ["x.1.loss.low", "x.1.loss.value"]
    apart = compared((sets, others), moved(1.1e-6))
    assert [got.partition("; ")[2] for _, _, got in apart] == [
        "and 1 more like it: x.1.loss.low", "and 1 more like it: x.1.loss.value",
    ]  # fmt: skip
    assert compared((sets | {"probe": 3},), (sets | {"probe": 3},)) == []


def test_every_place_is_compared() -> None:
    """Names of both sides and every position; entries too many or too few are one problem."""
    expected = {"b": ({"c": 1.0}, {"c": 2.0}), "a": 1, "d": (1,)}
    got = {"b": ({"c": 1.0}, {"c": 3.0}), "e": 1, "d": (1, 2)}
    again = "recomputed from clips.parquet"
    assert compared(expected, got) == [
        ("x.a", f"1, {again}", "None"),
        ("x.b.1.c", f"2.0, {again}", "3.0"),
        ("x.d", f"1 entries, {again}", "2 entries"),
        ("x.e", f"None, {again}", "1"),
    ]
    assert compared({"a": 1}, (1,)) == [("x", f"1 entries, {again}", "1 entries")]


def noted(kbps: float | None, **fields: Any) -> list[str]:
    """Look at the measured bitrate of one dataset."""
    (first, *_) = submission().aggregates.datasets
    aggregates = submission().aggregates.model_copy(update={"datasets": (first.model_copy(update={"kbps": kbps}),) * 2})
    findings = Findings()
    changed = submission().model_copy(update={"aggregates": aggregates, "codec": card(**fields)})
    check_bitrates(changed, findings)
    assert findings.problems == []
    return findings.notes


def test_bitrates_far_from_nominal() -> None:
    """A quarter more than 16 kbps is within 25 %, a little more or as much less is not; each dataset is noted."""
    note = "mini (speech): 20.1 kbps measured, 16 nominal, more than 25% apart"
    assert noted(20.1, nominal_tolerance=0.25) == [note, note]
    assert len(noted(11.9, nominal_tolerance=0.25)) == 2
    for kbps in (12.0, 16.0, 20.0, None):
        assert noted(kbps, nominal_tolerance=0.25) == []
    assert noted(99.0, nominal_tolerance=None, bitrate_note="free") == []
    assert noted(99.0, nominal_kbps=None, kind="lossless") == []
