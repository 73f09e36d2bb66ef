"""The score stage's view of one run: resynthesis rows, values of current metric versions, and the missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from codec_superb.metrics.table import CATEGORIES, METRICS, Category, Metric, metrics_for
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import CustomMetric, RunInfo
from codec_superb.pipeline.runs.outcome import FailedClip, MetricCounts, RunOutcome
from codec_superb.pipeline.scoring.known import Known
from codec_superb.pipeline.tables.clip_columns import rows_of
from codec_superb.pipeline.tables.clips import FIXED
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ScoreLine, VersionedValue


class Missing(NamedTuple):
    """A clip with metrics that are to be computed."""

    clip: str
    sha256: str
    """Of its resynthesis."""
    keys: tuple[str, ...]


class ScoreStore:
    """The table and the journal of one run, opened for scoring; of both a block is in memory."""

    def __init__(
        self, folder: RunFolder, asked: Sequence[Metric] | None, stack: ExitStack, *, overwrite: bool = False,
        info: RunInfo | None = None,
    ) -> None:  # fmt: skip
        """Lock the run and open its journals until ``stack`` ends; ``asked`` None chooses metrics by category.

        ``info`` stands in for the run's own: of a run whose scores are those of its shards.
        """
        stack.enter_context(folder.lock())
        if overwrite:
            folder.forget("score")
        self.folder = folder
        self.info: RunInfo = info or folder.info()
        self._asked = None if asked is None else tuple(row.key for row in asked)
        self._table = METRICS | {row.key: row for row in asked or ()}
        """Rows that can be computed in this call, by key."""
        kept = {key: version for key, version in self.info.metrics.items() if key in self.info.custom_metrics}
        self._versions = kept | {key: row.version for key, row in self._table.items()}
        """Current versions; of a plug-in that this call does not know, that of its last scoring."""
        self._values = stack.enter_context(folder.score_journal())
        self.clips: Sequence[str] = ()
        self._categories: set[Category] = set()
        self._open: list[bool] = []
        """Whether clips of each block of the table lack a value."""
        self.scorable = 0
        """Clips that have a resynthesis to score."""
        self.computed = 0
        self.ran: set[str] = set()
        """Keys of the metrics that were computed in this call."""

    def keys(self, category: Category) -> tuple[str, ...]:
        """Return the requested metrics of the clips of a category."""
        return metrics_for(category) if self._asked is None else self._asked

    def table(self, keys: Sequence[str]) -> tuple[Metric, ...]:
        """Return the rows of ``keys``."""
        return tuple(self._table[key] for key in keys)

    def custom(self, keys: Iterable[str]) -> dict[str, CustomMetric]:
        """Describe those of ``keys`` that are not of the benchmark's table."""
        others = [key for key in keys if key not in METRICS]
        return {k: CustomMetric.of(self._table[k]) if k in self._table else self.info.custom_metrics[k] for k in others}

    def select(self, clips: Sequence[str]) -> None:
        """Set the requested clips of the run, sorted. Raises RunFolderError where its table has others."""
        self.clips = clips
        expected = iter(clips)
        for block in self.folder.blocks(["clip", "category", "status"]):
            self._categories |= set(pc.unique(block["category"]).to_pylist())
            self.scorable += pc.sum(pc.equal(block["status"], "ok")).as_py()
            if block["clip"].to_pylist() != list(islice(expected, block.num_rows)):
                expected = iter(("another",))
                break
        if next(expected, None) is not None:
            raise RunFolderError(
                f"{self.folder.path}: its table has other clips than were asked for; call resynth again"
            )

    def missing(self, *, again: bool = False) -> Iterator[Missing]:
        """Yield the clips with metrics to compute, sorted; failed metrics are tried again, undefined ones are not.

        A block of the table is in memory. ``again`` passes over the blocks in which nothing was missing.
        """
        if not again:
            self._open = []
        for known in self._blocks(self._open if again else None):
            wanted = [] if known is None else list(self._missing(known))
            if not again:
                self._open.append(bool(wanted))
            yield from wanted

    def _missing(self, known: Known) -> Iterator[Missing]:
        for place, (clip, category) in enumerate(zip(known.clips, known.rows["category"].to_pylist(), strict=True)):
            if known.ok[place] and (keys := tuple(key for key in self.keys(category) if known.is_open(place, key))):
                yield Missing(clip, known.hashes[place] or "", keys)

    def _blocks(self, chosen: Sequence[bool] | None = None) -> Iterator[Known | None]:
        """Yield what is known of each block of the table, None of one that is not chosen."""
        for number, rows in enumerate(self.folder.blocks(list(FIXED))):
            asked = chosen is None or chosen[number]
            yield Known.of(rows, self._values, self._versions) if asked else None

    def record(self, clip: str, sha256: str, values: dict[str, MetricValue], backends: Mapping[str, str]) -> None:
        """Append values to the journal with the versions of their definitions and the implementations that ran."""
        versioned = {
            key: VersionedValue(version=self._versions[key], backend=backends.get(key, ""), **value.model_dump())
            for key, value in values.items()
        }
        self._values.append(ScoreLine(clip=clip, sha256=sha256, metrics=versioned))
        self.computed += 1
        self.ran |= values.keys()

    def backends(self) -> dict[str, str]:
        """Return the implementations behind the values of the metrics that ran in this call, of those with several.

        A run that was interrupted and went on with another implementation has both, separated by a comma.
        """
        found: dict[str, set[str]] = {
            key: set() for key in sorted(self.ran) if key in METRICS and METRICS[key].backends
        }
        for known in self._blocks() if found else ():
            if known is not None:
                for key, names in known.backends(found).items():
                    found[key] |= names
        return {key: ", ".join(sorted(names - {""})) for key, names in found.items() if names - {""}}

    def columns(self) -> dict[str, str]:
        """Return key and version of the table's metrics: the requested ones, and earlier ones of the same version."""
        asked = set(self._asked_keys())
        kept = {key for key, version in self.info.metrics.items() if self._versions.get(key) == version}
        return {key: version for key, version in self._ordered() if key in asked | kept}

    def _asked_keys(self) -> tuple[str, ...]:
        """Return the requested metrics of all clips, each once."""
        present = (category for category in CATEGORIES if category in self._categories)
        return tuple(dict.fromkeys(key for category in present for key in self.keys(category)))

    def _ordered(self) -> list[tuple[str, str]]:
        """Keys and versions: the table in its order, then plug-ins by key."""
        return [(key, self._versions[key]) for key in (*METRICS, *sorted(self._versions.keys() - METRICS.keys()))]

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield complete rows in blocks; the metrics of a clip without a resynthesis count as failed."""
        return (known.table(columns) for known in self._blocks() if known is not None)

    def rows(self, columns: Sequence[str]) -> Iterator[ClipRow]:
        """Yield the same rows one by one."""
        for table in self.tables(columns):
            yield from rows_of(table, columns)

    def outcome(self) -> RunOutcome:
        """Count the results of the requested metrics in the table, which is written."""
        result = RunOutcome(self.folder.path, self.info.title, self.info.dataset.name, "score", asked=len(self.clips))
        result.done = self.computed
        result.metrics = {key: MetricCounts() for key in self._asked_keys()}
        columns = ["clip", "category", "status", "stage", "error_type", "error"]
        columns += [f"{key}_{part}" for key in result.metrics for part in ("status", "reason")]
        for block in self.folder.blocks(columns):
            for category in pc.unique(block["category"]).to_pylist():
                _count(result, block.filter(pc.equal(block["category"], category)), self.keys(category))
        result.failed.sort(key=lambda failure: failure.clip)
        lost = sum(failure.stage != "score" for failure in result.failed)
        result.reused = result.asked - result.done - lost
        return result


def _count(result: RunOutcome, block: pa.Table, keys: Sequence[str]) -> None:
    """Add the values of clips that have these metrics to the counts."""
    for row in block.filter(pc.equal(block["status"], "failed")).to_pylist():
        result.failed.append(FailedClip(row["clip"], row["stage"], f"{row['error_type']}: {row['error']}"))
    for key in keys:
        states = block[f"{key}_status"]
        for found in pc.value_counts(states).to_pylist():
            counts = result.metrics[key]
            setattr(counts, found["values"], getattr(counts, found["values"]) + found["counts"])
        own = block.filter(pc.and_(pc.equal(states, "failed"), pc.equal(block["status"], "ok")))
        for row in own.select(["clip", f"{key}_reason"]).to_pylist():
            result.failed.append(FailedClip(row["clip"], "score", f"{key}: {row[f'{key}_reason']}"))
