"""Clusters are the dataset's: who splits them up narrows every interval, and is refused, on both databases."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from support.pipeline.stats import draw_rows, failed, known_clips, ok, sha
from support.pipeline.submissions import reseal, rewrite, to_first_layout
from support.server.ingest import Service, make_file

from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.facts.clips import KnownClip
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME
from codec_superb.pipeline.tables.rows import ClipRow

CLIPS, TOGETHER = 36, 6


def alike(dataset: str) -> list[ClipRow]:
    """Draw rows of six speakers with six clips each, which a codec treats nearly alike; the last clip fails."""
    rows = draw_rows(3, CLIPS, dataset=dataset)
    found = []
    for number, row in enumerate(rows):
        model = rows[number - number % TOGETHER]
        metrics = {key: ok((entry.value or 0) * (1 - 1e-4 * number)) for key, entry in model.metrics.items()}
        labels = {"cluster": sha(f"speaker {number // TOGETHER}")[:12], "slice": "noise"}
        found.append(row.model_copy(update={"metrics": metrics, **labels}))
    last = found[-1]
    broken = failed(last.clip, dataset=dataset, category=last.category)
    return [*found[:-1], broken.model_copy(update={"cluster": last.cluster, "slice": last.slice})]


def facts_of(rows: Sequence[ClipRow]) -> dict[str, KnownClip]:
    """Know of all clips what their rows say."""
    clips, own = known_clips(rows), {row.clip: {"cluster": row.cluster, "slice": row.slice} for row in rows}
    return {name: clip._replace(**own[name]) for name, clip in clips.items()}


def width(data: bytes) -> float:
    """Return the width of the interval of the first score in a file."""
    document = json.loads(read_archive(io.BytesIO(data))[SUBMISSION_NAME])
    score = document["aggregates"]["datasets"][0]["score"]
    return float(score["high"] - score["low"])


def test_who_splits_clusters_is_refused(service: Service, tmp_path: Path) -> None:
    """Each clip on its own, clusters of one's own, none in a failed clip, another slice, a table that has neither."""
    rows = alike("spoken")
    service.know("spoken", facts_of(rows))
    honest = make_file(rows, tmp_path / "honest", codec="honest_spoken_16k")

    def sent(name: str, change: Callable[[ClipRow], ClipRow]) -> tuple[bytes, list[tuple[str, str, str]]]:
        data = make_file([change(row) for row in rows], tmp_path / name, codec=f"{name}_spoken_16k")
        return data, problems(data)

    def problems(data: bytes) -> list[tuple[str, str, str]]:
        answer = service.send(data)
        assert answer.status_code == 422, answer.text
        return [(entry["path"], entry["got"], entry["how_to_fix"]) for entry in answer.json()["problems"]]

    split, (problem,) = sent("split", lambda row: row.model_copy(update={"cluster": ""}))
    assert width(split) < 0.6 * width(honest)
    first, rest = "clips.parquet: spoken/spoken/clip000: cluster", "none; and 35 more like it: spoken/"
    assert problem[0] == first
    assert problem[1].startswith(rest)
    assert "run again with this version" in problem[2]
    _, (problem,) = sent("own", lambda row: row.model_copy(update={"cluster": sha(row.clip)[:12]}))
    assert problem[0] == first
    _, (problem,) = sent("hidden", lambda row: row if row.status == "ok" else row.model_copy(update={"cluster": ""}))
    assert problem[:2] == ("clips.parquet: spoken/spoken/clip035: cluster", "none")
    _, (problem,) = sent("quiet", lambda row: row.model_copy(update={"slice": "quiet"}))
    assert problem[0].endswith("clip000: slice")
    assert problem[1].startswith("quiet; and 35 more")

    def older(members: dict[str, bytes]) -> None:
        to_first_layout(members)
        reseal(members)

    found = problems(rewrite(io.BytesIO(split), older).getvalue())
    assert [path.rpartition(": ")[2] for path, *_ in found] == ["cluster", "slice"]
    answer = service.send(honest)
    assert answer.status_code == 201, answer.text


def test_where_nobody_knows_the_clusters_none_is_compared(service: Service, tmp_path: Path) -> None:
    """A dataset that an earlier program added, or whose clips are on their own: tables without clusters are taken."""
    rows = [row.model_copy(update={"cluster": "", "slice": ""}) for row in alike("older")]
    alone = {name: clip._replace(cluster="", slice="") for name, clip in known_clips(rows).items()}
    for number, facts in enumerate((known_clips(rows), alone)):
        service.know("older", facts)
        data = make_file(rows, tmp_path / str(number), codec=f"older{number}_16k")

        def older(members: dict[str, bytes]) -> None:
            to_first_layout(members)
            reseal(members)

        answer = service.send(rewrite(io.BytesIO(data), older).getvalue())
        assert answer.status_code == 201, answer.text
