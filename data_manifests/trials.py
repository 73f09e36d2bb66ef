"""Speaker verification trials: pairs of clips to compare, stored beside the clip list of their dataset.

A trial list is the publisher's file with clip ids in place of paths: one trial per line,
``same<TAB>enrolment<TAB>test``, where ``same`` is 1 when one person speaks in both clips and 0 otherwise. The
publisher's order is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from codec_superb.data_manifests.errors import DatasetNotPrepared, ManifestError
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.home import datasets_home

_FIELDS = 3


class Trial(NamedTuple):
    """Two clips to compare, and whether the same person speaks in both."""

    same: bool
    enrolment: str
    """Clip id."""
    test: str
    """Clip id."""


def trial_lists(dataset: str) -> list[str]:
    """Return the names of the trial lists that were stored when ``dataset`` was indexed, sorted."""
    folder = datasets_home() / dataset
    return sorted(path.stem.removeprefix("trials-") for path in folder.glob("trials-*.tsv"))


def read_trials(dataset: str, name: str) -> list[Trial]:
    """Return the trials of list ``name`` (``veri_test2``) of an indexed dataset.

    Raises DatasetNotPrepared, naming the existing lists, when there is no such list, and ManifestError naming an
    invalid line.
    """
    path = _path(datasets_home() / dataset, name)
    if not path.is_file():
        stored = ", ".join(trial_lists(dataset)) or "none"
        raise DatasetNotPrepared(
            f"{dataset} has no trial list {name!r} (stored: {stored}); put {name}.txt into the dataset's folder and "
            f"run codec-superb datasets index {dataset} --root DIR"
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_parse(line, f"{path} line {number}") for number, line in enumerate(lines, start=1)]


def write_trials(folder: Path, name: str, trials: Iterable[Trial]) -> Path:
    """Write the trial list ``name`` into the folder of a dataset; return the file."""
    text = "".join(f"{int(trial.same)}\t{trial.enrolment}\t{trial.test}\n" for trial in trials)
    path = _path(folder, name)
    write_atomically(path, text.encode("utf-8"))
    return path


def _path(folder: Path, name: str) -> Path:
    return folder / f"trials-{name}.tsv"


def _parse(line: str, where: str) -> Trial:
    fields = line.split("\t")
    if len(fields) != _FIELDS or fields[0] not in {"0", "1"}:
        raise ManifestError(f"{where} is no trial: expected 0 or 1 and two clip ids with tabs between, got {line!r}")
    return Trial(same=fields[0] == "1", enrolment=fields[1], test=fields[2])
