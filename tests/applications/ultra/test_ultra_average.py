"""The nine-term average against all rows of UltraEval-Audio's Table 6, and its properties."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.table import COMPOSITES, PROBE_METRICS
from codec_superb.applications.ultra.average import DatasetMetrics, acoustics, average, semantics
from codec_superb.applications.ultra.protocol import average_of

TABLE6 = """\
Encodec-24k,4.56,59.40,1.58,3.12,2.36,4.32,59.40,1.57,3.12,2.36,13.95,47.48,,2.93,2.03,65.24
Encodec-48k,3.85,65.53,1.52,2.88,2.42,3.80,66.00,1.48,2.87,2.40,6.85,68.78,,2.79,2.21,69.59
ChatTTS-DVAE,7.49,34.83,1.30,2.66,2.11,6.75,36.21,1.29,2.64,2.12,32.36,32.36,,2.24,1.57,52.86
Mimi (32bit),2.04,92.18,3.83,2.87,2.44,1.96,92.68,3.84,2.92,2.49,2.82,84.80,,2.43,1.89,80.96
Mimi (8bit),2.76,72.15,3.52,2.78,2.37,2.83,73.13,3.53,2.83,2.43,6.82,60.63,,2.42,2.04,72.72
Mimi-streaming (8bit),6.76,54.02,1.65,2.78,2.37,6.19,54.32,1.63,2.83,2.43,19.62,40.67,,2.42,2.04,61.37
WavTokenizer-large-75,4.31,69.97,4.01,3.64,3.26,4.05,68.15,4.00,3.63,3.27,8.97,64.27,,3.11,2.85,76.67
WavTokenizer-large-40,8.13,60.26,3.78,3.70,3.13,7.73,56.63,3.77,3.70,3.16,25.52,49.21,,3.13,2.50,69.18
Spark,2.39,79.94,4.18,3.85,3.24,2.53,79.53,4.18,3.83,3.24,3.66,74.76,,3.63,2.85,82.29
"""
"""Codec; then for LibriSpeech dev-clean, test-clean and AISHELL-1: error rate, SIM, UTMOS, P.835, P.808; average."""

ROUNDING = 0.005
"""The table has two decimals."""


def dataset(cells: list[str]) -> DatasetMetrics:
    """Read five cells of the table; only that of UTMOS may be empty."""
    error_rate, similarity, utmos, ovrl, p808 = (float(cell) if cell else None for cell in cells)
    assert error_rate is not None
    assert similarity is not None
    return DatasetMetrics(error_rate, similarity, utmos, ovrl, p808)


@pytest.mark.parametrize("row", list(csv.reader(TABLE6.splitlines())), ids=lambda row: row[0])
def test_each_published_row_is_reproduced(row: list[str]) -> None:
    """The average of the published figures is the published average, to its last decimal."""
    found = average([dataset(row[start : start + 5]) for start in (1, 6, 11)])
    assert float(found) == pytest.approx(float(row[16]), abs=ROUNDING)


def test_a_worked_number() -> None:
    """Errors of 5 %, similarity 80 and opinions of 3 give (95 + 80 + 60) / 3."""
    assert float(average([DatasetMetrics(5.0, 80.0, 3.0, 3.0, 3.0)] * 3)) == pytest.approx(235 / 3)


def test_acoustics_is_the_mean_of_what_is_there() -> None:
    """Without UTMOS the two kinds of DNSMOS count half each; without any there is none."""
    assert float(acoustics(DatasetMetrics(0, 0, None, 3.0, 2.0))) == 50.0
    assert float(acoustics(DatasetMetrics(0, 0, 4.0, 3.0, 2.0))) == 60.0
    with pytest.raises(ValueError, match="one opinion score at least"):
        acoustics(DatasetMetrics(0, 0))


def test_an_error_rate_above_100_counts_as_it_is() -> None:
    """Semantics is not cut off at 0."""
    assert float(semantics(DatasetMetrics(130.0, 0))) == -30.0


@pytest.mark.parametrize("count", [0, 2, 4])
def test_it_takes_three_datasets(count: int) -> None:
    """An average over fewer datasets is never passed off as the average."""
    with pytest.raises(ValueError, match=f"over 3 datasets, got {count}"):
        average([DatasetMetrics(5.0, 80.0, 3.0)] * count)


@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.integers(1, 5))
def test_draws_are_computed_at_once(values: list[float], draws: int) -> None:
    """An array of draws gives the averages of the single draws."""
    errors = np.linspace(0, values[0], draws)
    found = average([DatasetMetrics(errors, values[1], values[2] / 20, errors / 20, values[3] / 20)] * 3)
    assert found.shape == (draws,)
    for draw, error in enumerate(errors):
        one = DatasetMetrics(error, values[1], values[2] / 20, error / 20, values[3] / 20)
        assert found[draw] == pytest.approx(float(average([one] * 3)), abs=1e-9)


def test_a_missing_number_stays_missing() -> None:
    """NaN in one of the nine is NaN in the average."""
    whole, holed = DatasetMetrics(5.0, 80.0, 3.0), DatasetMetrics(np.nan, 80.0, 3.0)
    assert np.isnan(average([whole, holed, whole]))


def test_the_table_of_figures_names_it() -> None:
    """The composite figure is in the table, apart from the figures of single probes, and leads to this function."""
    figure = COMPOSITES["ultra_average"]
    assert figure.target == f"{average_of.__module__}:{average_of.__name__}"
    assert (figure.label, figure.maximum, figure.higher_is_better) == ("UltraEval average", 100.0, True)
    assert not COMPOSITES.keys() & PROBE_METRICS.keys()
