"""Metrics that a file has of clips outside their categories are computed again; nothing is agreed to unseen."""

from __future__ import annotations

import secrets
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from support.pipeline.runs import speech_folder
from support.pipeline.stats import ok, row
from support.pipeline.verified import CODEC, forged, packed, raised

from codec_superb.metrics.table import CATEGORIES, METRICS, Category, metrics_for
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.again import Rerun, _asked
from codec_superb.pipeline.verification.statement import Statement
from codec_superb.pipeline.verification.verify import Asked, verify
from codec_superb.pipeline.workers.executor import Executor

CLIPS = 2
USUAL = [key for key, metric in METRICS.items() if metric.default]


def sounds(folder: Path, pool: Executor) -> tuple[RunFolder, Rerun]:
    """Run two clips that are no speech, with the metrics of their category; and say where they are run again."""
    audio = speech_folder(folder / "sounds", CLIPS, seconds=0.5)
    lines = [f"clip{at:02}.wav,audio\n" for at in range(CLIPS)]
    (audio / "labels.csv").write_text("path,category\n" + "".join(lines))
    (outcome,) = resynthesise([CODEC], [str(audio)], out=folder / "runs", device="cpu", executor=pool)
    score([outcome.path], executor=pool)
    return RunFolder(outcome.path), Rerun(folder / "again", datasets=[str(audio)], device="cpu")


def agreed(file: Path, again: Rerun, pool: Executor) -> Statement:
    """Verify all clips of a file."""
    return verify(file, Asked(secrets.token_hex(32), 0), again, pool=pool)


def test_a_metric_of_another_category_is_compared(pool: Executor, tmp_path: Path) -> None:
    """PESQ of audio that nobody computed differs, and one that was asked for agrees; both stand as compared."""
    run, again = sounds(tmp_path, pool)
    usual = agreed(packed(run, tmp_path / "usual.zip"), again, pool)
    assert usual.verdict == "agrees"
    assert {"stft", "mel"} <= set(usual.compared)
    assert "pesq" not in usual.compared
    score([run.path], metrics=USUAL, executor=pool)
    asked = agreed(packed(run, tmp_path / "asked.zip"), again, pool)
    assert asked.verdict == "agrees"
    assert {"stft", "mel", "pesq", "stoi"} <= set(asked.compared)
    clip = next(iter(run.rows())).clip
    invented = agreed(forged(run, tmp_path / "invented.zip", [clip], raised("pesq", 0.5)), again, pool)
    assert [(of.clip, of.differences[0].quantity) for of in invented.clips if of.differences] == [(clip, "pesq")]


def scored(category: Category, *keys: str) -> ClipRow:
    """Make a row with these metrics."""
    return row(category, category=category, metrics=dict.fromkeys(keys, ok(1.0)))


def test_every_submitted_metric_is_asked_for() -> None:
    """Those of a clip's category where no row has others, which spares PESQ of audio; else the file's, of all clips."""
    submission = cast("Any", SimpleNamespace(metrics=[*USUAL, "mine"]))
    rows = [scored(category, *metrics_for(category)) for category in CATEGORIES]
    assert _asked(submission, rows) is None
    plugged = [of.model_copy(update={"metrics": of.metrics | {"mine": ok(1.0)}}) for of in rows]
    assert _asked(submission, plugged) is None  # listed among what cannot be compared
    assert _asked(submission, [*rows, scored("audio", "pesq")]) == USUAL
    assert _asked(cast("Any", SimpleNamespace(metrics=["mel", "pesq"])), rows) == ["mel", "pesq"]
