"""Every metric on twelve pairs against values that the reference packages gave once.

The values in ``data/pinned.csv`` were computed with descript-audiotools 0.7.2 (stft, mel), pesq 0.0.4, pystoi 0.4.1,
pyworld 0.3.5 with fastdtw 0.3.4, praat-parselmouth 0.4.7 with librosa 0.11.0, and pesqc2 0.0.4. They hold
where a package changes.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from support.metrics import coded, singing, speech

from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS

with (Path(__file__).parent / "data" / "pinned.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))

KEYS = sorted(set(ROWS[0]) - {"sound", "rate", "noise"})


def test_the_published_metrics_are_pinned() -> None:
    """Twelve pairs pin the metrics of the table, all of an overall score among them; a newer one pins its own."""
    assert set(METRICS) >= set(KEYS) >= {key for key, row in METRICS.items() if row.overall}
    assert len(ROWS) == 12


@pytest.mark.sample(6)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['sound']}-{row['rate']}-{row['noise']}")
def test_values_are_the_pinned_ones(row: dict[str, str]) -> None:
    """All metrics agree with the pinned values within the tolerances of the metric definitions."""
    rate = int(row["rate"])
    x = (speech if row["sound"] == "speech" else singing)(rate, 2.5)
    values = score_pair(x, coded(x, rate, noise=float(row["noise"])), rate, KEYS)
    for key, value in values.items():
        row_of = METRICS[key]
        kind = "rel" if math.isinf(row_of.worst) else "abs"
        assert value.value == pytest.approx(float(row[key]), **{"rel": 0.0, "abs": 0.0, kind: row_of.tolerance}), key
