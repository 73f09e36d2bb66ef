"""The guide's metric is three files and nothing else, and the page of definitions has the overall score's metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stranger import Copy, guide_blocks

from codec_superb.metrics.table import METRICS

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-metric.md"


@pytest.mark.sample(1, among="guides carried out")
def test_a_metric_is_a_function_a_row_and_a_test(tmp_path: Path) -> None:
    """Followed word for word in a copy, the guide touches three files, and the tests that know all metrics pass."""
    function, row, test = guide_blocks("adding-a-metric.md")
    copy = Copy(tmp_path)
    copy.write("metrics/level.py", function)
    copy.insert("metrics/table.py", ")\n\nMETRICS: dict", row)
    copy.write("tests/metrics/test_level.py", test)
    copy.test(
        "tests/metrics/test_level.py", "tests/metrics/test_table.py", "tests/metrics/test_signals.py",
        "tests/metrics/test_pinned.py", "tests/server/codecs/test_parts.py", "tests/metrics/test_adding_a_metric.py",
        "-k", "level or test_table or TestScales or published or definition",
    )  # fmt: skip
    assert len(copy.touched) == 3


def test_every_metric_of_the_overall_score_has_its_definition_in_the_docs() -> None:
    """The page of definitions names every metric that a score rests on; rows, lists and pages define the others."""
    page = (GUIDE.parent / "metrics.md").read_text(encoding="utf-8")
    assert [key for key, row in METRICS.items() if row.overall and f"`{key}`" not in page] == []
