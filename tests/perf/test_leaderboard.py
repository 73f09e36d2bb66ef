"""The made submissions of ``perf/leaderboard.py`` are what the service would have stored of real ones."""

from __future__ import annotations

import importlib
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from starlette.testclient import TestClient

from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

PERF = Path(__file__).parents[2] / "perf"


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the module that makes them, as the script does."""
    monkeypatch.syspath_prepend(str(PERF))
    import leaderboard_rows

    monkeypatch.delitem(sys.modules, "leaderboard_rows")
    return leaderboard_rows


@pytest.mark.parametrize("number", [0, 7])
def test_numbers_are_those_of_their_clips(rows: ModuleType, number: int) -> None:
    """Everything but the intervals is what aggregating the stored blocks gives, for codecs with and without tokens."""
    sizes = [(dataset, 30) for dataset in rows.datasets()[:5]]
    made = rows.checked(np.random.default_rng(number), rows.codec(number), sizes)
    accepted = made.outcome.accepted
    clips = [row for data in made.blocks for row in open_table(io.BytesIO(data), own=True)]
    assert len(clips) == accepted.clips == 150
    keys = [key for key in rows.KEYS if any(key in row.metrics for row in clips)]
    expected = {dataset.name: len(dataset.clips) for dataset, _ in sizes}
    real = aggregate(clips, metrics=keys, expected=expected)
    made_by_dataset = {summary.datasets[0]: summary for summary in accepted.datasets}
    for part in real.datasets:
        mine = made_by_dataset[part.dataset]
        assert mine.score.value == pytest.approx(part.score.value)
        assert mine.kbps == pytest.approx(part.kbps)
        assert mine.tokens_per_second == pytest.approx(part.tokens_per_second)
        assert mine.compression_ratio == pytest.approx(part.compression_ratio)
        assert (mine.clips, mine.complete) == (part.clips, part.complete)
        assert {key: entry.mean for key, entry in mine.metrics.items()} == pytest.approx(
            {key: entry.mean for key, entry in part.metrics.items()}
        )
    by_category = {summary.category: summary for summary in accepted.categories}
    for category in real.categories:
        assert by_category[category.category].score.value == pytest.approx(category.score.value)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the benchmark with few and small files to upload."""
    monkeypatch.syspath_prepend(str(PERF))
    found = importlib.import_module("leaderboard")
    for name in ("leaderboard", "leaderboard_rows"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(found, "VARIANTS", 20)
    monkeypatch.setattr(found, "UPLOADED_CLIPS", 20)
    return found


def test_the_service_takes_what_the_benchmark_makes(script: ModuleType, tmp_path: Path) -> None:
    """It is ready on what was stored, which is of several accounts, and accepts the file that is uploaded."""
    settings = Settings(storage=tmp_path, secret_key="x" * 40)
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    settings.files.mkdir()
    secret = script.prepare(database)
    script.fill(database, settings.files, 4, 6, 1)
    database.close()
    with TestClient(create_app(settings)) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        rows = client.get("/api/v1/leaderboard").json()["rows"]
        assert {row["submitter"] for row in rows} == {"sender0", "sender1"}
        (file,) = script.submission_files(1)
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/zip"}
        answer = client.post("/api/v1/submissions", content=file, headers=headers)
        assert answer.status_code == 201, answer.text


@pytest.mark.slow
def test_the_benchmark_runs(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """At its smallest: each question is answered, and each file that is uploaded is accepted."""
    script.main(["--databases", "sqlite", "--sizes", "2", "--rate", "5", "--seconds", "1"])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["submissions"], found["latency_ms"]["all"]["not_200"]) == (2, 0)
    assert found["uploads"] > 0
