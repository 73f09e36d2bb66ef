"""Bitrates of what a probe looks at, and what is left of a probing that was not through."""

from __future__ import annotations

import math

from support.pipeline.stats import row

from codec_superb.pipeline.aggregates.evidence import only_probes
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.aggregates.rate import measured_rates
from codec_superb.pipeline.tables.rows import ClipRow, PairRow, ProbeValue
from codec_superb.pipeline.tables.stored_rows import StoredRows

ROWS = [
    row("a", dataset="one", bits=8000),
    row("b", dataset="one", samples=48000, bits=24000 * 3),
    row("c", dataset="one", category="music", bits=99000),
    row("d", dataset="two", bits=4000),
]


def kbps(rows: list[ClipRow], probe: str, dataset: str) -> float:
    """Aggregate and measure."""
    return rates(rows, (dataset, probe))[0]


def rates(rows: list[ClipRow], *asked: tuple[str, str]) -> tuple[float, float | None]:
    """Aggregate and measure what several probes looked at."""
    return measured_rates({(of.category, of.dataset): of for of in aggregate(rows, metrics=[]).datasets}, asked)


def test_the_bitrate_of_what_a_probe_looks_at_by_hand() -> None:
    """80,000 bits in 4 s of speech are 20 kbps; music is nothing that a recogniser hears."""
    assert kbps(ROWS, "asr", "one") == 20.0
    assert kbps(ROWS, "asr", "two") == 4.0
    assert kbps(ROWS, "asr", "") == 84000 / 5 / 1000


def test_a_figure_over_several_looks_at_every_category() -> None:
    """What is no probe of the table is over all sound."""
    assert kbps(ROWS, "ultra", "one") == (80000 + 99000) / 5 / 1000


def test_what_several_parts_look_at_counts_once() -> None:
    """Two probes of speech on one dataset, and one of music on another: each second once; tokens likewise."""
    asked = [("one", "asr"), ("one", "sim"), ("two", "asr")]
    assert rates(ROWS, *asked)[0] == 84000 / 5 / 1000
    told = [row("a", dataset="one", tokens=50), row("b", dataset="one", category="music", tokens=150)]
    assert rates(told, ("one", "asr"))[1] == 50.0
    assert rates(told, ("one", "mseb"))[1] == 100.0
    assert rates([*told, row("c", dataset="one", tokens=None)], ("one", "asr"))[1] is None


def test_a_bitrate_that_is_not_known() -> None:
    """None of such a dataset, and none where the bits of one clip are not known; a group that all failed costs none."""
    assert math.isnan(kbps(ROWS, "asr", "three"))
    assert math.isnan(kbps([*ROWS, row("e", dataset="one", bits=None)], "asr", ""))
    gone = row("f", dataset="three", status="failed", stage="encode", error_type="E")
    assert kbps([*ROWS, gone], "asr", "") == 84000 / 5 / 1000


def test_what_an_unfinished_probing_kept_is_left_out() -> None:
    """Entries and pairs of other probes go, and all else of the row stays."""
    entry = ProbeValue(status="left_out", reason="-")
    both = row("a", probes={"asr": entry, "sim": entry})
    alone, none = row("b", probes={"asr": entry}), row("c")
    pairs = [
        PairRow(dataset="mini", probe=probe, left="a", right="b", target=True, reference=0, resynthesis=0)
        for probe in ("asv", "asr")
    ]
    rows, kept = only_probes(StoredRows.of([both, alone, none]), pairs, ["asr"])
    assert list(rows) == [both.model_copy(update={"probes": {"asr": entry}}), alone, none]
    assert kept == pairs[1:]
    rows, kept = only_probes(StoredRows.of([both]), pairs, [])
    assert (list(rows), kept) == ([both.model_copy(update={"probes": {}})], [])
