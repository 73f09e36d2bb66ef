"""The made submissions of ``perf/leaderboard.py`` are what the service would have stored of real ones."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.tables.clips import open_table

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
