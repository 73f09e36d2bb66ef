"""Compare the metrics with a folder of golden pairs: ``python perf/metrics/golden.py DIR``.

DIR holds ``values.csv`` (columns reference, degraded, sampling_rate and one per metric) and the audio it names. Prints
every difference and exits with 1 when one is beyond the tolerances of the metric definitions: 1e-3 absolute for PESQ,
STOI, ESTOI and SI-SDR, 1e-3 relative for the distances, 1e-2 for the F0 correlation.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import soundfile

from codec_superb.metrics.score import score_pair


@dataclass(frozen=True)
class Check:
    """How one metric is compared."""

    column: str
    tolerance: float
    relative: bool = False


CHECKS = {
    "mel": Check("mel", 1e-3, relative=True),
    "stft": Check("stft", 1e-3, relative=True),
    "pesq": Check("pesq_wb", 1e-3),
    "stoi": Check("stoi", 1e-3),
    "estoi": Check("estoi", 1e-3),
    "si_sdr": Check("si_sdr_db", 1e-3),
    "f0corr_praat": Check("f0corr_praat", 1e-2),
}


def differences(folder: Path, row: dict[str, str]) -> dict[str, float]:
    """Return the difference of each metric from the golden value of one pair, infinite where there is no value."""
    x, rate = soundfile.read(folder / row["reference"], dtype="float32")
    y, _ = soundfile.read(folder / row["degraded"], dtype="float32")
    found = score_pair(x, y, rate, list(CHECKS))
    result = {}
    for key, check in CHECKS.items():
        expected, value = float(row[check.column]), found[key].value
        difference = abs(value - expected) if value is not None else float("inf")
        result[key] = difference / abs(expected) if check.relative else difference
    return result


def main() -> int:
    """Print a line per pair and the largest differences; 1 when a tolerance is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    with (folder / "values.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    print(f"{'pair':34}" + "".join(f"{key:>14}" for key in CHECKS))
    largest = dict.fromkeys(CHECKS, 0.0)
    for row in rows:
        found = differences(folder, row)
        largest = {key: max(largest[key], found[key]) for key in CHECKS}
        print(f"{row['degraded']:34}" + "".join(f"{value:14.1e}" for value in found.values()))
    print(f"{'largest':34}" + "".join(f"{value:14.1e}" for value in largest.values()))
    print(f"{'allowed':34}" + "".join(f"{check.tolerance:14.1e}" for check in CHECKS.values()))
    return int(not rows or any(largest[key] > check.tolerance for key, check in CHECKS.items()))


if __name__ == "__main__":
    sys.exit(main())
