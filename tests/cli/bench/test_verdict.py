"""``bench`` ends with three sentences: who is best at which bitrate, what is not significant, what failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import KEYS, card, failed, ok, row, write_run

from codec_superb.cli.commands import bench
from codec_superb.cli.commands.report import load, rank
from codec_superb.cli.ranking.verdict import BREAK, verdict
from codec_superb.cli.report_data import codec_results
from codec_superb.metrics.table import Category
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

GOOD = {"stft": 1.0, "mel": 0.8, "pesq": 4.0, "stoi": 0.95, "f0corr": 0.95}
JITTER = (0.0, 0.02, -0.02, 0.01, -0.01, 0.03, -0.03, 0.0)


def rows(
    kbps: float, lost: float = 0.0, *, jitter: Sequence[float] = JITTER, category: Category = "speech", **fields: Any
) -> list[ClipRow]:
    """Make a clip of one second for each of ``jitter``; ``lost`` is taken from PESQ, and the jitter is added to it."""
    return [
        row(
            f"{category}{number}", category=category, bits=round(kbps * 1000),
            metrics={**{k: ok(v) for k, v in GOOD.items()}, "pesq": ok(GOOD["pesq"] - lost + own)}, **fields,
        )
        for number, own in enumerate(jitter)
    ]  # fmt: skip


def told(root: Path, **codecs: list[ClipRow]) -> dict[str, str]:
    """Write a run of each codec and return the sentences."""
    for name, its in codecs.items():
        write_run(root, its, card=card(name))
    results = load([root])
    return verdict(results, rank(results))


def test_who_leads_and_what_is_not_significant(tmp_path: Path) -> None:
    """The cheapest leads where nothing is below it; a dearer, worse codec leads nothing; a hair's breadth is named."""
    found = told(
        tmp_path,
        low=rows(6, 1.5),
        best=rows(16, 0.1),
        twin=rows(16.8, 0.101, jitter=JITTER[::-1]),  # 5 % dearer: the same bitrate
        waste=rows(32, 0.8),
        top=rows(64, 0.0),
    )
    assert re.sub(r"0\.\d{3}", "S", found["best"]) == (
        "Best at their bitrate or below: in speech low from 6.00 kbps (S), best from 16.0 (S) and top from 64.0 (S)."
    )
    assert found["not_significant"].startswith(
        "Not significant (the 95 % paired interval of the difference holds 0): in speech best over twin (0.000 [−0.0"
    )
    assert " and top " not in found["not_significant"]
    assert found["failed"] == "Failed: nothing in 5 runs."


def test_several_categories_and_one_codec(tmp_path: Path) -> None:
    """A codec alone has no rival; each category is a clause."""
    found = told(tmp_path, only=[*rows(12, 0.5), *rows(12, category="music")])
    assert found["best"].count("only, the only one with a rank (") == 2
    assert f";{BREAK}in music only" in found["best"]
    assert found["not_significant"] == (
        "Not significant: nothing to test, as no codec has a rival at its bitrate or below."
    )


def test_scores_are_those_of_the_table(tmp_path: Path) -> None:
    """A metric without a value on one clip of one codec: scores rest on its other clips, and the order on fewer."""
    hole = rows(12, category="music", jitter=(0.3, *JITTER[1:]))
    hole[0] = hole[0].model_copy(
        update={"metrics": {**hole[0].metrics, "f0corr": MetricValue(status="undefined", reason="unvoiced")}}
    )
    hard = rows(6, 1.0, category="music")
    hard[0] = hard[0].model_copy(update={"metrics": {**hard[0].metrics, "f0corr": ok(-0.9)}})
    for name, its in {"hole": hole, "hard": hard}.items():
        write_run(tmp_path, its, card=card(name))
    results = load([tmp_path])
    rankings = rank(results)
    table = {row.codec: f"{row.summary.score.value:.3f}" for row in codec_results(results, rankings)}
    shared = {rank.codec: f"{rank.score:.3f}" for rank in rankings["music"].ranks}
    assert table["hard"] != shared["hard"]
    assert verdict(results, rankings)["best"] == (
        f"Best at their bitrate or below: in music hard from 6.00 kbps ({table['hard']}) and hole from 12.0 "
        f"({table['hole']}), in the order on clips that all ranked codecs share (f0corr on 7 of 8)."
    )


def test_rivals_of_which_the_difference_is_not_told_are_counted(tmp_path: Path) -> None:
    """All of them were tested, and are behind the one that is named."""
    near = {name: rows(16, lost, jitter=JITTER[::-1]) for name, lost in (("near", 0.001), ("next", 0.002))}
    found = told(tmp_path, best=rows(16), **near)
    assert re.search(
        r": in speech best over near \(\S+ \[.*\]\) and over 1 rival further behind\.$", found["not_significant"]
    )


def test_a_limit_is_said_once_and_marks_no_codec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What failed is marked as before; the clips that were not asked for are a line below the tables."""
    crashed = [failed("speech0"), *rows(12)[1:]]
    for name, its in {"whole": rows(6), "half": crashed}.items():
        write_run(tmp_path, its, card=card(name), clips=60)
    results = load([tmp_path])
    limited = bench._limited(results)
    assert limited == {"mini": "8 of 60 clips"}
    bench._print_ranking(codec_results(results, rank(results)), limited)
    told = capsys.readouterr().out
    assert "half incomplete" in told
    assert "whole incomplete" not in told
    assert told.endswith("\nincomplete: clips or metrics failed\n\n")


def test_clips_of_one_speaker_cannot_tell(tmp_path: Path) -> None:
    """Without an interval nothing is called significant or not."""
    found = told(tmp_path, one=rows(6, 1.0, cluster="0" * 12), two=rows(12, cluster="0" * 12))
    assert found["not_significant"].endswith(
        ": no other lead; not to be told in speech, from clips of one speaker or recording."
    )


def test_failures_are_counted_also_under_conditions(tmp_path: Path) -> None:
    """Clips by stage, metrics by key, a codec without a rank by its reason; results under a condition lead nothing."""
    crashed = rows(12)
    crashed[0] = crashed[0].model_copy(
        update={"metrics": {**crashed[0].metrics, "pesq": MetricValue(status="failed", reason="crash")}}
    )
    lossy = [failed("speech0"), *rows(12)[1:]]
    write_run(tmp_path, lossy, card=card("half"), condition=parse_condition("loss:10", "clean"))
    dead = [failed(f"speech{number}") for number in range(len(JITTER))]
    found = told(tmp_path, half=crashed, dead=dead)
    assert "half, the only one" in found["best"]
    assert found["failed"] == (
        "Failed: dead on mini (encode on 8 of 8 clips), half on mini (pesq on 1 of 8 clips) and half under loss:10 on "
        "mini (encode on 1 of 8 clips); no rank in speech: dead (failed on every clip of mini)."
    )


@pytest.mark.parametrize("its", [[failed("a"), failed("b")], [row("a", metrics=dict.fromkeys(KEYS, ok(0.5)))][:0]])
def test_nothing_scored(tmp_path: Path, its: list[ClipRow]) -> None:
    """Without any rank the sentences say so."""
    if its:
        found = told(tmp_path, dead=its)
        assert found["failed"].endswith("no rank in speech: dead (failed on every clip of mini).")
    else:
        found = verdict([], {})
        assert found["failed"] == "Failed: nothing in 0 runs."
    assert found["best"] in (
        "Best at their bitrate or below: no codec has a rank.",
        "Best at their bitrate or below: no codec was ranked.",
    )
