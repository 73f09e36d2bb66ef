"""Counts of tokens by name: what can be true together passes, all else is a problem with its place."""

from __future__ import annotations

import pytest
from support.pipeline.stats import row

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.submission.check_pairs import check_pairs
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.tables.rows import ProbeValue, counts_row

PROBE_OF = {
    "match": "tokens_stability",
    "edits": "tokens_stability",
    "drift": "tokens_stability",
    "bits": "tokens_rate",
}


def problems(name: str, total: float, value: float) -> list[str]:
    """Check one count of one clip; return what was expected where it is a problem."""
    probe = PROBE_OF.get(name.partition(":")[0], "tokens_contents")
    shared = {field.name: 1.0 for field in PROBES[probe].shared}
    clip = row("a", probes={probe: ProbeValue(status="ok", shared=shared)})
    count = counts_row("mini", probe, "a", (name,), [total], [value])
    findings = Findings()
    assert check_pairs([clip], [count], findings) == (not findings.problems)
    return [problem.expected for problem in findings.problems]


@pytest.mark.parametrize(
    ("name", "total", "value"),
    [
        ("match:recode_2:all", 10, 10), ("edits:recode_2", 10, 25), ("drift:mel:2", 1, -3.5),
        ("bits:coded:all", 80, 82), ("bits:unigram:1", 80, 95), ("mi:phone:1", 40, -2), ("pure:phone:1", 9, 9),
        ("abx:within", 3, 1.5),
    ],
)  # fmt: skip
def test_what_can_be_true_passes(name: str, total: float, value: float) -> None:
    """Parts up to their total, more edits than tokens, a clip's bits above log2 of the entries, changes of any sign."""
    assert problems(name, total, value) == []


@pytest.mark.parametrize(
    ("name", "total", "value", "expected"),
    [
        ("match:recode_2:all", 10, 11, "0 to 10"), ("edits:recode_2", 10, -1, "0 to 1e+12"),
        ("bits:coded:all", 80, 83, "0 to 82"), ("bits:coded:all", 80, -80, "0 to 82"),
        ("bits:unigram:1", 80, 1e300, "0 to 1e+12"), ("bits:unigram:1", 1e308, 1, "a total of 0 to 1e+12"),
        ("bits:unigram:1", -1, 0, "a total of 0 to 1e+12"), ("clustered:pitch:1", 9, 10, "0 to 9"),
        ("abx:within", 3, 4, "0 to 3"), ("edit:voices", 3, -1, "0 to 3"), ("drift:mel:2", 1, -1e300, "-1e+12 to 1e+12"),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_a_problem(name: str, total: float, value: float, expected: str) -> None:
    """Parts above their total, bits below 0 or above the coder's worst, numbers that sums cannot hold."""
    assert problems(name, total, value) == [expected]
