"""The ranking while clips are still being scored, read from the journals of the runs and changing none of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from codec_superb.metrics.overall import category_score, dataset_score
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, overall_metrics
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ScoreLine

LINES = 2000
"""Lines of journals that one look takes in at most: a twentieth of a second."""
_COLUMNS = ("clip", "category", "status", "resynthesis_sha256", "bits", "samples", "sampling_rate")


class Place(NamedTuple):
    """A codec's place in a category so far."""

    category: Category
    codec: str
    kbps: float | None
    """Measured, over the clips that count so far."""
    score: float
    """Overall score of those clips, without an interval."""
    clips: int
    """Clips on which every codec of the category has all metrics of the overall score; the same for each."""


class _Clip(NamedTuple):
    category: Category
    sha256: str
    bits: int | None
    seconds: float


@dataclass(slots=True)
class _Run:
    codec: str
    dataset: str
    folder: RunFolder
    clips: dict[str, _Clip]
    """Those with a resynthesis."""
    offset: int = 0
    """Bytes of the journal that were read."""
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    """By clip and metric of the overall score."""

    def read(self, most: int) -> int:
        """Take in new lines of the journal of scores, ``most`` at most; return their number."""
        lines, self.offset = self.folder.new_scores(self.offset, most)
        for line in lines:
            self._take(line)
        return len(lines)

    def _take(self, line: ScoreLine) -> None:
        """Note the values of the current resynthesis by the current definitions."""
        clip = self.clips.get(line.clip)
        if clip is None or line.sha256 != clip.sha256:
            return
        its = self.values.setdefault(line.clip, {})
        for key in overall_metrics(clip.category):
            value = line.metrics.get(key)
            if value is not None and value.value is not None and value.version == METRICS[key].version:
                its[key] = value.value

    def scored(self, category: Category) -> set[str]:
        """Return the clips of a category that have all metrics of its overall score."""
        keys = set(overall_metrics(category))
        return {
            clip for clip, its in self.values.items() if its.keys() >= keys and self.clips[clip].category == category
        }


class Standing:
    """The clean runs of a benchmark, each resynthesised; what is scored of them is read bit by bit."""

    def __init__(self, runs: Iterable[Path]) -> None:
        """Read which clips the runs have. Raises RunFolderError for a run that is not resynthesised."""
        self._runs = [run for path in runs if (run := _opened(RunFolder(path))) is not None]

    def read(self) -> None:
        """Take in what was scored since the last call, :data:`LINES` lines at most."""
        left = LINES
        for run in self._runs:
            left -= run.read(left)

    def places(self) -> list[Place]:
        """Return the places by category, best first, on the clips that all codecs have so far."""
        return [place for category in CATEGORIES for place in self._category(category)]

    def _category(self, category: Category) -> list[Place]:
        by_dataset: dict[str, list[tuple[_Run, set[str]]]] = defaultdict(list)
        for run in self._runs:
            if scored := run.scored(category):
                by_dataset[run.dataset].append((run, scored))
        codecs = {run.codec for members in by_dataset.values() for run, _ in members}
        parts: dict[str, list[tuple[_Run, list[str]]]] = defaultdict(list)
        for members in by_dataset.values():
            shared = sorted(set.intersection(*(scored for _, scored in members)))
            # the first codec on the next dataset would be placed by more clips than the others
            if shared and len(members) == len(codecs):
                for run, _ in members:
                    parts[run.codec].append((run, shared))
        places = [_place(category, codec, its) for codec, its in parts.items()]
        return sorted(places, key=lambda place: (-place.score, place.codec))


def _opened(folder: RunFolder) -> _Run | None:
    """Read a run's clips from its table; None for one under a condition."""
    info = folder.info()
    if info.condition is not None:
        return None
    rows = folder.table().select(_COLUMNS).to_pylist()
    clips = {
        row["clip"]: _Clip(
            row["category"], row["resynthesis_sha256"], row["bits"], row["samples"] / row["sampling_rate"]
        )
        for row in rows
        if row["status"] == "ok"
    }
    return _Run(info.card.name, info.dataset.name, folder, clips)


def _place(category: Category, codec: str, parts: Sequence[tuple[_Run, Sequence[str]]]) -> Place:
    scores = [dataset_score(dict(_means(run, shared, category)), category) for run, shared in parts]
    clips = [run.clips[clip] for run, shared in parts for clip in shared]
    bits, seconds = [clip.bits for clip in clips if clip.bits is not None], fsum(clip.seconds for clip in clips)
    kbps = sum(bits) / seconds / 1000 if seconds and len(bits) == len(clips) else None
    return Place(category, codec, kbps, float(category_score(scores)), len(clips))


def _means(run: _Run, clips: Sequence[str], category: Category) -> Iterator[tuple[str, np.ndarray]]:
    for key in overall_metrics(category):
        # fsum rounds once, so that the order of the clips changes no last digit
        yield key, np.asarray(fsum(run.values[clip][key] for clip in clips) / len(clips))
