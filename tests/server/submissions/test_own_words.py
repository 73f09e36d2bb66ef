"""Which figures of a verified submission are its sender's word: averages of such ones too."""

from __future__ import annotations

import pytest

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.applications.table import AVERAGES, probe_of_metric
from codec_superb.metrics.results import NO_SCORE
from codec_superb.server.submissions.applications import with_own_words
from codec_superb.web.application_rows import application_rows

ON_EACH = next(row for row in AVERAGES.values() if not any(name for name, _ in row.parts))
PARTS = [probe_of_metric(key).key for _, key in ON_EACH.parts]


@pytest.mark.parametrize(
    ("not_again", "own"),
    [([], False), ([("mini", PARTS[0])], True), ([("other", PARTS[0])], False), ([("mini", "asr")], False)],
)
def test_an_average_is_of_what_its_parts_are(not_again: list[tuple[str, str]], own: bool) -> None:
    """It has a name of its own in place of a probe's, under which nothing is ever run again."""
    figure = ApplicationAggregate(
        figure=ON_EACH.figure.key, dataset="mini", probe=ON_EACH.probe, n=9, left_out=0, failed=0, pairs=0,
        reference=NO_SCORE, resynthesis=NO_SCORE, loss=NO_SCORE, totals={},
    )  # fmt: skip
    probes = [ProbeInfo(probe=key, version="1", backend="resemblyzer", model_sha256="0" * 64) for key in PARTS]
    rows = application_rows("opus_12k", [figure], {"mini": probes}, lambda _: (12.0, None))
    (row,) = with_own_words(rows, not_again, "mallory")
    assert (row.own_word != "") is own
    assert row.run_again is not own
