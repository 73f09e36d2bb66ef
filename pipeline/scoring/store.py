"""What scoring knows of one run: resynthesis rows, values of the current metric versions, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from codec_superb.metrics.table import METRICS, Metric, metrics_for
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import CustomMetric, RunInfo
from codec_superb.pipeline.runs.outcome import FailedClip, MetricCounts, RunOutcome
from codec_superb.pipeline.tables.rows import MetricValue


class ScoreStore:
    """The journals of one run, opened for scoring."""

    def __init__(
        self, folder: RunFolder, asked: Sequence[Metric] | None, stack: ExitStack, *, overwrite: bool = False
    ) -> None:
        """Lock the run and open its journals until ``stack`` ends; ``asked`` None means: by category."""
        stack.enter_context(folder.lock())
        if overwrite:
            folder.forget("score")
        self.folder = folder
        self.info: RunInfo = folder.info()
        self._asked = None if asked is None else tuple(row.key for row in asked)
        self._table = METRICS | {row.key: row for row in asked or ()}
        """Rows that can be computed in this call, by key."""
        kept = {key: version for key, version in self.info.metrics.items() if key in self.info.custom_metrics}
        self._versions = kept | {key: row.version for key, row in self._table.items()}
        """Current versions; of a plug-in that this call does not know, that of its last scoring."""
        self._rows = stack.enter_context(folder.journal("resynth"))
        self._values = stack.enter_context(folder.journal("score"))
        self.clips: Sequence[str] = ()
        self._selected: frozenset[str] = frozenset()
        self.computed = 0
        self.ran: set[str] = set()
        """Keys of the metrics that ran in this call; what was there already is not among them."""

    def keys(self, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the metrics asked for on the clip of ``row``."""
        return metrics_for(row["category"]) if self._asked is None else self._asked

    def table(self, keys: Sequence[str]) -> tuple[Metric, ...]:
        """Return the rows of ``keys``."""
        return tuple(self._table[key] for key in keys)

    def custom(self, keys: Iterable[str]) -> dict[str, CustomMetric]:
        """Describe those of ``keys`` that are not of the benchmark's table."""
        others = [key for key in keys if key not in METRICS]
        return {k: CustomMetric.of(self._table[k]) if k in self._table else self.info.custom_metrics[k] for k in others}

    def select(self, clips: Sequence[str]) -> None:
        """Say which clips the run was asked for, sorted."""
        self.clips, self._selected = clips, frozenset(clips)

    def __contains__(self, clip: str) -> bool:
        return clip in self._selected

    def row(self, clip: str) -> dict[str, Any]:
        """Return what resynth wrote about a clip."""
        row = self._rows.last(clip)
        if row is None:
            raise RunFolderError(f"{self._rows.path} says nothing about {clip!r}; call resynth again")
        return row

    def resyntheses(self) -> list[tuple[str, str | None]]:
        """Return clip and SHA-256 of the resynthesis of each clip, as the table has them."""
        return [(clip, self.row(clip)["resynthesis_sha256"]) for clip in self.clips]

    def scorable(self) -> int:
        """Count the clips that have a resynthesis to score."""
        return sum(self.row(clip)["status"] == "ok" for clip in self.clips)

    def missing(self, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the keys to compute; a metric that crashed is tried again, one that is undefined is not."""
        if row["status"] != "ok":
            return ()
        known = self._known(row)
        return tuple(key for key in self.keys(row) if known.get(key, {}).get("status", "failed") == "failed")

    def record(self, clip: str, values: dict[str, MetricValue]) -> None:
        """Append values to the journal with the versions of their definitions."""
        row = self.row(clip)
        metrics = {
            key: {"version": self._versions[key], **value.model_dump(mode="json")} for key, value in values.items()
        }
        self._values.append({"clip": clip, "sha256": row["resynthesis_sha256"], "metrics": metrics})
        self.computed += 1
        self.ran |= values.keys()

    def columns(self) -> dict[str, str]:
        """Return key and version of the metrics of the table: those asked for, and earlier ones that still hold."""
        asked = {key for clip in self.clips for key in self.keys(self.row(clip))}
        kept = {key for key, version in self.info.metrics.items() if self._versions.get(key) == version}
        return {key: version for key, version in self._ordered() if key in asked | kept}

    def _ordered(self) -> list[tuple[str, str]]:
        """Keys and versions: the table in its order, then plug-ins by key."""
        return [(key, self._versions[key]) for key in (*METRICS, *sorted(self._versions.keys() - METRICS.keys()))]

    def rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield complete rows, sorted by clip; the metrics of a clip without a resynthesis count as failed."""
        for clip in self.clips:
            row = self.row(clip)
            if row["status"] == "ok":
                known = self._known(row)
                metrics = {key: known[key] for key in columns if key in known}
            else:
                reason = f"no resynthesis: {row['stage']}: {row['error']}"
                metrics = {key: {"status": "failed", "value": None, "reason": reason} for key in columns}
            yield {**row, "metrics": metrics}

    def outcome(self) -> RunOutcome:
        """Count what came out for the metrics asked for."""
        result = RunOutcome(
            self.folder.path, self.info.card.name, self.info.dataset.name, "score", asked=len(self.clips)
        )
        result.done = self.computed
        for row in self.rows(list(self._versions)):
            if row["status"] == "failed":
                result.failed.append(FailedClip(row["clip"], row["stage"], f"{row['error_type']}: {row['error']}"))
            for key in self.keys(row):
                _count(result, row, key)
        lost = sum(failure.stage != "score" for failure in result.failed)
        result.reused = result.asked - result.done - lost
        return result

    def _known(self, row: dict[str, Any]) -> dict[str, Any]:
        """Merge the journal's values that belong to this resynthesis and to the current definitions."""
        known: dict[str, Any] = {}
        for entry in self._values.entries(row["clip"]):
            if entry["sha256"] != row["resynthesis_sha256"]:
                continue
            for key, value in entry["metrics"].items():
                if value["version"] == self._versions.get(key):
                    known[key] = {name: value[name] for name in ("status", "value", "reason")}
        return known


def _count(result: RunOutcome, row: dict[str, Any], key: str) -> None:
    """Add one value to the counts."""
    value = row["metrics"][key]
    counts = result.metrics.setdefault(key, MetricCounts())
    setattr(counts, value["status"], getattr(counts, value["status"]) + 1)
    if value["status"] == "failed" and row["status"] == "ok":
        result.failed.append(FailedClip(row["clip"], "score", f"{key}: {value['reason']}"))
