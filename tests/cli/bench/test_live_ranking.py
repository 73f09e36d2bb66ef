"""The ranking while clips are scored: that of the clips scored so far, from journals that are still written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from support.pipeline.stats import card, draw_rows, failed, sha, write_run
from support.timing import wait_for

from codec_superb.cli.console import TerminalProgress
from codec_superb.cli.ranking.live import LiveRanking
from codec_superb.metrics.table import CATEGORIES, METRICS
from codec_superb.pipeline.comparison import standing
from codec_superb.pipeline.comparison.codecs import rank_results
from codec_superb.pipeline.comparison.results import combine, load_results
from codec_superb.pipeline.comparison.standing import Standing
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ClipRow, ScoreLine, VersionedValue


def resynthesised(root: Path, name: str, rows: Sequence[ClipRow], **fields: str) -> RunFolder:
    """Write a run whose table has what was measured; its journal of scores is empty."""
    its = [row.model_copy(update={"resynthesis_sha256": sha(row.clip)}) for row in rows]
    return write_run(root, its, card=card(name, **fields))


def score(folder: RunFolder, rows: Iterable[ClipRow], *, version: str = "", of: str = "") -> None:
    """Append what was measured to the journal of scores, as of another version or of another resynthesis."""
    with folder.score_journal() as journal:
        for row in rows:
            values = {
                key: VersionedValue(version=version or METRICS[key].version, **value.model_dump())
                for key, value in row.metrics.items()
            }
            journal.append(ScoreLine(clip=row.clip, sha256=of or sha(row.clip), metrics=values))


def test_ends_as_the_final_ranking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half way on the shared clips; in the end the scores of the ranking; stale values and conditions never count."""
    drawn = {"good": draw_rows(1, 30, quality=0.4), "bad": draw_rows(2, 30), "late": draw_rows(3, 30, quality=0.2)}
    drawn["late"][0] = failed(drawn["late"][0].clip)
    drawn["bad"] += draw_rows(4, 9, dataset="another")
    drawn["good"] += draw_rows(5, 9, dataset="another", quality=0.4)
    drawn["late"] += draw_rows(6, 9, dataset="another", quality=0.2)
    runs = {
        (codec, name): resynthesised(tmp_path, codec, [row for row in rows if row.dataset == name])
        for codec, rows in drawn.items()
        for name in ("mini", "another")
    }
    write_run(tmp_path, draw_rows(7, 6), card=card("good"), condition=parse_condition("loss:10", "clean"))
    paths = [RunFolder(path.parent).path for path in sorted(tmp_path.glob("*/*/run.json"))]
    monkeypatch.setattr(standing, "LINES", 7)
    watched = Standing(paths)
    watched.read()
    assert watched.places() == []
    for (codec, name), run in runs.items():
        its = [row for row in drawn[codec] if row.dataset == name and row.status == "ok"]
        score(run, its[:4], of=sha("another resynthesis"))
        score(run, its[:4], version="0")
        if codec != "late":
            score(run, its)
    for _ in range(40):
        watched.read()
    assert {place.codec for place in watched.places()} == {"good", "bad"}
    for name in ("mini", "another"):
        score(runs["late", name], [row for row in drawn["late"] if row.dataset == name and row.status == "ok"])
        for _ in range(10):
            watched.read()
        # in between, the codecs that are ahead on the other dataset are placed by the clips that all have
        assert len({(place.category, place.clips) for place in watched.places()}) == len(CATEGORIES)
    final = rank_results(combine(map(load_results, paths)))
    found = {(place.category, place.codec): place for place in watched.places()}
    assert len(found) == 9
    for category, ranking in final.items():
        assert [place.codec for place in watched.places() if place.category == category] == ["good", "late", "bad"]
        for rank in ranking.ranks:
            place = found[category, rank.codec]
            assert place.score == pytest.approx(rank.score, abs=1e-12)
            assert place.clips == ranking.clips


@pytest.mark.parametrize("terminal", [False, True])
def test_shown_with_the_progress(
    tmp_path: Path, terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plain lines with the first places; on a terminal a table above the bar, which is gone in the end."""
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("LINES", "10")
    names = [f"codec{number}" for number in range(7)]
    runs = [resynthesised(tmp_path, name, draw_rows(1, 6, quality=0.1 * n)) for n, name in enumerate(names)]
    with TerminalProgress() as progress:
        progress.watch(LiveRanking([run.path for run in runs]))
        progress.start("score 7 runs on mini", 2)
        for number, run in enumerate(runs):
            score(run, draw_rows(1, 6, quality=0.1 * number))
        progress.advance()
        drawn: list[str] = []
        if terminal:
            wait_for(lambda: drawn.append(capsys.readouterr().err) or "clips" in "".join(drawn), "nothing is drawn")
        progress.advance()
    told = capsys.readouterr().err
    if not terminal:
        (line,) = [line for line in told.splitlines() if line.startswith("music")]
        assert line.startswith("music after 2 clips: 1. codec6 0.")
        assert line.endswith(" kbps) and 2 more")
        return
    assert "speech, 2 clips" in "".join(drawn)
    assert "and 3 more" in "".join(drawn)
    left = told.rsplit("\x1b[2K", 1)[1]
    assert "codec6" not in left
    assert "score 7 runs on mini" in left
