"""Every metric on twelve pairs against values that the reference packages gave once.

The values in ``data/pinned.csv`` were computed with descript-audiotools 0.7.2 (stft, mel), pesq 0.0.4, pystoi 0.4.1,
pyworld 0.3.5 with fastdtw 0.3.4, praat-parselmouth 0.4.7 with librosa 0.11.0, and pesqc2 0.0.4. They hold
where a package changes.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support_metrics import coded, singing, speech

from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS

with (Path(__file__).parent / "data" / "pinned.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))

RELATIVE = {"stft": 1e-3, "mel": 1e-3}
ABSOLUTE = dict.fromkeys(("pesq", "pesq_c2", "stoi", "estoi", "si_sdr", "sdr"), 1e-3) | {
    "f0corr": 1e-2,
    "f0corr_praat": 1e-2,
}


def test_every_metric_is_pinned() -> None:
    """The pinned columns are the metrics of the table, no more and no fewer, on twelve pairs."""
    assert set(ROWS[0]) - {"sound", "rate", "noise"} == set(METRICS) == set(RELATIVE) | set(ABSOLUTE)
    assert len(ROWS) == 12


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['sound']}-{row['rate']}-{row['noise']}")
def test_values_are_the_pinned_ones(row: dict[str, str]) -> None:
    """All metrics agree with the pinned values within the tolerances of the metric definitions."""
    rate = int(row["rate"])
    x = (speech if row["sound"] == "speech" else singing)(rate, 2.5)
    values = score_pair(x, coded(x, rate, noise=float(row["noise"])), rate, list(METRICS))
    for key, value in values.items():
        expected = pytest.approx(float(row[key]), rel=RELATIVE.get(key, 0.0), abs=ABSOLUTE.get(key, 0.0))
        assert value.value == expected, key
