"""The score stage's view of one run: resynthesis rows, values of current metric versions, and the missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from codec_superb.metrics.table import METRICS, Metric, metrics_for
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import CustomMetric, RunInfo
from codec_superb.pipeline.runs.outcome import FailedClip, MetricCounts, RunOutcome
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ResynthesisRow, ScoreLine, VersionedValue


class ScoreStore:
    """The journals of one run, opened for scoring."""

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
        self._rows = stack.enter_context(folder.resynth_journal())
        self._values = stack.enter_context(folder.score_journal())
        self.clips: Sequence[str] = ()
        self._selected: frozenset[str] = frozenset()
        self.computed = 0
        self.ran: set[str] = set()
        """Keys of the metrics that were computed in this call."""

    def keys(self, row: ResynthesisRow) -> tuple[str, ...]:
        """Return the requested metrics of the clip of ``row``."""
        return metrics_for(row.category) if self._asked is None else self._asked

    def table(self, keys: Sequence[str]) -> tuple[Metric, ...]:
        """Return the rows of ``keys``."""
        return tuple(self._table[key] for key in keys)

    def custom(self, keys: Iterable[str]) -> dict[str, CustomMetric]:
        """Describe those of ``keys`` that are not of the benchmark's table."""
        others = [key for key in keys if key not in METRICS]
        return {k: CustomMetric.of(self._table[k]) if k in self._table else self.info.custom_metrics[k] for k in others}

    def select(self, clips: Sequence[str]) -> None:
        """Set the requested clips of the run, sorted."""
        self.clips, self._selected = clips, frozenset(clips)

    def __contains__(self, clip: str) -> bool:
        return clip in self._selected

    def row(self, clip: str) -> ResynthesisRow:
        """Return the resynth row of a clip."""
        row = self._rows.last(clip)
        if row is None:
            raise RunFolderError(f"{self._rows.path} has no row for {clip!r}; call resynth again")
        return row

    def resyntheses(self) -> list[tuple[str, str | None]]:
        """Return clip and SHA-256 of the resynthesis of each clip, as the table has them."""
        return [(clip, self.row(clip).resynthesis_sha256) for clip in self.clips]

    def scorable(self) -> int:
        """Count the clips that have a resynthesis to score."""
        return sum(self.row(clip).status == "ok" for clip in self.clips)

    def missing(self, row: ResynthesisRow) -> tuple[str, ...]:
        """Return the keys to compute; failed metrics are retried, undefined ones are not."""
        if row.status != "ok":
            return ()
        known = self._known(row)
        return tuple(key for key in self.keys(row) if key not in known or known[key].status == "failed")

    def record(self, clip: str, values: dict[str, MetricValue], backends: Mapping[str, str]) -> None:
        """Append values to the journal with the versions of their definitions and the implementations that ran."""
        versioned = {
            key: VersionedValue(version=self._versions[key], backend=backends.get(key, ""), **value.model_dump())
            for key, value in values.items()
        }
        self._values.append(ScoreLine(clip=clip, sha256=self.row(clip).resynthesis_sha256, metrics=versioned))
        self.computed += 1
        self.ran |= values.keys()

    def backends(self) -> dict[str, str]:
        """Return the implementations behind the values of the metrics that ran in this call, of those with several.

        A run that was interrupted and went on with another implementation has both, separated by a comma.
        """
        found: dict[str, set[str]] = {key: set() for key in sorted(self.ran)}
        for clip in self.clips:
            for key, value in self._known(self.row(clip)).items():
                if key in found and value.backend:
                    found[key].add(value.backend)
        return {key: ", ".join(sorted(names)) for key, names in found.items() if names}

    def columns(self) -> dict[str, str]:
        """Return key and version of the table's metrics: the requested ones, and earlier ones of the same version."""
        asked = {key for clip in self.clips for key in self.keys(self.row(clip))}
        kept = {key for key, version in self.info.metrics.items() if self._versions.get(key) == version}
        return {key: version for key, version in self._ordered() if key in asked | kept}

    def _ordered(self) -> list[tuple[str, str]]:
        """Keys and versions: the table in its order, then plug-ins by key."""
        return [(key, self._versions[key]) for key in (*METRICS, *sorted(self._versions.keys() - METRICS.keys()))]

    def rows(self, columns: Sequence[str]) -> Iterator[ClipRow]:
        """Yield complete rows, sorted by clip; the metrics of a clip without a resynthesis count as failed."""
        for clip in self.clips:
            row = self.row(clip)
            if row.status == "ok":
                known = self._known(row)
                yield ClipRow.of(row, {key: known[key] for key in columns if key in known})
            else:
                lost = MetricValue(status="failed", reason=f"no resynthesis: {row.stage}: {row.error}")
                yield ClipRow.of(row, dict.fromkeys(columns, lost))

    def outcome(self) -> RunOutcome:
        """Count the results of the requested metrics."""
        result = RunOutcome(self.folder.path, self.info.title, self.info.dataset.name, "score", asked=len(self.clips))
        result.done = self.computed
        for row in self.rows(list(self._versions)):
            if row.status == "failed":
                result.failed.append(FailedClip(row.clip, row.stage, f"{row.error_type}: {row.error}"))
            for key in self.keys(row):
                _count(result, row, key)
        lost = sum(failure.stage != "score" for failure in result.failed)
        result.reused = result.asked - result.done - lost
        return result

    def _known(self, row: ResynthesisRow) -> dict[str, VersionedValue]:
        """Merge the journal's values that belong to this resynthesis and to the current definitions."""
        known: dict[str, VersionedValue] = {}
        for line in self._values.entries(row.clip):
            if line.sha256 == row.resynthesis_sha256:
                # later lines win; values of an older definition or another resynthesis are ignored, not deleted
                known |= {key: value for key, value in line.metrics.items() if value.version == self._versions.get(key)}
        return known


def _count(result: RunOutcome, row: ClipRow, key: str) -> None:
    """Add one value to the counts."""
    value = row.metrics[key]
    counts = result.metrics.setdefault(key, MetricCounts())
    setattr(counts, value.status, getattr(counts, value.status) + 1)
    if value.status == "failed" and row.status == "ok":
        result.failed.append(FailedClip(row.clip, "score", f"{key}: {value.reason}"))
