"""Submissions of real runs over a small folder of speech, honest and forged, for tests that run them again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from support.pipeline.runs import speech_folder

from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue
from codec_superb.pipeline.workers.executor import Executor

CODEC = "opus_6k"
Change = Callable[[ClipRow], ClipRow]


def speech_run(
    folder: Path, clips: int, pool: Executor, codec: str = CODEC, conditions: Sequence[Condition] = ()
) -> RunFolder:
    """Run a codec over so many clips of half a second in ``folder/voices``; score the run under the last condition."""
    voices = speech_folder(folder / "voices", clips, seconds=0.5)
    *_, outcome = resynthesise(
        [codec], [str(voices)], out=folder / "runs", device="cpu", category="speech", executor=pool,
        conditions=conditions,
    )  # fmt: skip
    score([outcome.path], metrics=["mel", "pesq", "stoi"], executor=pool)
    return RunFolder(outcome.path)


def packed(run: RunFolder, out: Path) -> Path:
    """Pack a run."""
    return pack([run], out, submitter=Submitter(name="Ann"))


def forged(run: RunFolder, out: Path, clips: Sequence[str], change: Change) -> Path:
    """Pack the run with the rows of some clips changed: all aggregates follow, and the file passes its check."""
    copy = RunFolder(out.with_suffix("") / run.path.name)
    shutil.copytree(run.path, copy.path)
    rows = [change(row) if row.clip in clips else row for row in run.rows()]
    copy.write_rows(rows, list(run.info().metrics))
    file = packed(copy, out)
    assert check(file).ok
    return file


def raised(key: str, by: float) -> Change:
    """Raise a metric where it has a value."""

    def change(row: ClipRow) -> ClipRow:
        value = row.metrics[key].value
        better = MetricValue(status="ok", value=4.0 if value is None else value + by)
        return row.model_copy(update={"metrics": row.metrics | {key: better}})

    return change
