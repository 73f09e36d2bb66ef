"""Metrics of files are found by place and name, and take no key that is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codec_superb.metrics.errors import UnknownMetric
from codec_superb.metrics.plugged import find_metric, find_metrics, known_metrics
from codec_superb.metrics.table import METRICS
from codec_superb.plugins import PluginError, import_file

SOURCE = """
from dataclasses import replace
from codec_superb.metrics.table import METRICS

MINE = replace(METRICS["sdr"], key="mine", target=":sdr", overall=())
TAKEN = replace(METRICS["sdr"], target=":sdr")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Write a file with two metrics, one of which takes a key of the table."""
    path = tmp_path / "own.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_metric_of_a_file_is_its_row_with_its_place(file: str) -> None:
    """Asked for twice it is there once, beside those of the table, in the order asked for."""
    row = find_metric(f"{file}:MINE")
    assert (row.key, row.label, row.target) == ("mine", METRICS["sdr"].label, f"{file}:sdr")
    assert row.version.startswith(METRICS["sdr"].version + "+")
    assert find_metrics([f"{file}:MINE", "mel", f"{file}:MINE"]) == (row, METRICS["mel"])


def test_a_key_of_the_table_stays_with_the_table(file: str) -> None:
    """A file that names its metric like one of the table is refused; the name alone is still the table's."""
    with pytest.raises(PluginError, match="sdr"):
        find_metric(f"{file}:TAKEN")
    assert find_metric("sdr") is METRICS["sdr"]
    assert {key: row for key, row in known_metrics().items() if key in METRICS} == METRICS


def test_a_name_that_nobody_has_is_unknown() -> None:
    """With what is near."""
    with pytest.raises(UnknownMetric, match="Did you mean mel"):
        find_metric("mell")


def test_a_file_that_changes_within_a_second_is_read_again(tmp_path: Path) -> None:
    """Of the same size and time, which Python's kept bytecode takes for no change: what runs is what was hashed."""
    file = tmp_path / "own.py"
    for value in (1, 2):
        file.write_text(f"VALUE = {value}\n")
        os.utime(file, (1_000_000_000, 1_000_000_000))
        assert value == import_file(file).VALUE
