"""Rows of shards whose categories have other metrics."""

from __future__ import annotations

from codec_superb.pipeline.merging.in_order import with_metrics
from codec_superb.pipeline.tables.clips import table_of
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue


def test_a_metric_that_a_shard_lacks_is_failed_where_there_is_no_sound_and_absent_elsewhere() -> None:
    """The columns are those that ``score`` writes for all categories together."""
    fixed = {"dataset": "d", "category": "music"}
    made = ClipRow(clip="a", status="ok", **fixed, metrics={"mel": MetricValue(status="ok", value=1.0, reason="")})
    reason = "no resynthesis: decode: it is noise"
    none = {key: MetricValue(status="failed", value=None, reason=reason) for key in ("mel", "pesq")}
    lost = ClipRow(
        clip="b", status="failed", stage="decode", error_type="E", error="it is noise", **fixed,
        metrics={"mel": none["mel"]},
    )  # fmt: skip
    expected = table_of([made, lost.model_copy(update={"metrics": none})], ["mel", "pesq"], ())
    assert with_metrics(table_of([made, lost], ["mel"], ()), ["mel", "pesq"]).equals(expected)
