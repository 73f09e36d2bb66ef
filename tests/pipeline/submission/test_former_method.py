"""Submissions of the methods before: taken, every number compared but the intervals, which are computed anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pipeline.stats import card, draw_rows, failed, write_run
from support.pipeline.submissions import reseal, rewrite, to_first_layout

from codec_superb.pipeline.submission.check import check, check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.tables import strict_json


@pytest.mark.parametrize("method", ["expanded-percentile-1", "cluster-jackknife-1"])
def test_a_submission_of_an_earlier_method_is_taken_and_gets_intervals_of_this_one(tmp_path: Path, method: str) -> None:
    """Its table knows no cluster and its intervals are others: both are noted, every other number is compared."""
    packed = pack([write_run(tmp_path, [*draw_rows(1, 12), failed("mini/broken")], card=card())], tmp_path / "a.zip")

    def older(members: dict[str, bytes]) -> None:
        to_first_layout(members)
        document = json.loads(members["submission.json"])
        document["bootstrap"]["method"] = method
        for entry in document["aggregates"]["datasets"]:
            del entry["clusters"]
            entry["score"]["low"] = 0.01
        members["submission.json"] = strict_json.dumps(document)
        reseal(members)

    report, opened = check_and_open(rewrite(packed, older))
    assert report.ok, report.problems
    assert any(method in note for note in report.notes)
    assert opened is not None
    assert opened.aggregates is not None
    assert opened.aggregates.datasets[0].clusters == opened.aggregates.datasets[0].ok
    assert opened.aggregates.datasets[0].score.low != 0.01

    def forged(members: dict[str, bytes]) -> None:
        older(members)
        document = json.loads(members["submission.json"])
        document["aggregates"]["datasets"][0]["score"]["value"] += 0.01
        members["submission.json"] = strict_json.dumps(document)
        reseal(members)

    problems = check(rewrite(packed, forged)).problems
    assert [problem.path for problem in problems] == ["submission.json: aggregates.datasets.0.score.value"]
