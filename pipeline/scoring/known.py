"""What is known of a block of a run's clips: their rows, and the values of the journal that are still valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.tables.clip_columns import metric_columns
from codec_superb.pipeline.tables.clips import clip_schema
from codec_superb.pipeline.tables.rows import ScoreLine

if TYPE_CHECKING:
    import pyarrow as pa

Values = list[dict[str, Any] | None]
"""The value of each clip as the journal holds it, None for none."""


@dataclass(frozen=True, slots=True)
class Known:
    """A block of clips."""

    rows: pa.Table
    """The fixed columns of a clip table."""
    clips: Sequence[str]
    ok: Sequence[bool]
    """Whether each clip has a resynthesis."""
    hashes: Sequence[str | None]
    """SHA-256 of each resynthesis."""
    values: Mapping[str, Values]
    """By metric key; a key without a value is absent."""

    @classmethod
    def of(cls, rows: pa.Table, journal: Journal[ScoreLine], versions: Mapping[str, str]) -> Known:
        """Take the values that belong to these resyntheses and to definitions of these versions.

        RunFolderError for a line that is not what this version writes.
        """
        clips, hashes = rows["clip"].to_pylist(), rows["resynthesis_sha256"].to_pylist()
        values: dict[str, Values] = {}
        for place, line in journal.contents(clips):
            if not _is_line(line):  # of an older version, or damaged, which raises
                line = journal.checked(line).model_dump()  # noqa: PLW2901
            # later lines win; values of an older definition or another resynthesis are ignored, not deleted
            if line["sha256"] == hashes[place]:
                for key, value in line["metrics"].items():
                    if value["version"] == versions.get(key):
                        values.setdefault(key, [None] * len(clips))[place] = value
        return cls(rows, clips, [status == "ok" for status in rows["status"].to_pylist()], hashes, values)

    def is_open(self, place: int, key: str) -> bool:
        """Whether a metric is to be computed: failed ones are tried again, undefined ones are not."""
        known = self.values[key][place] if key in self.values else None
        return known is None or known["status"] == "failed"

    def backends(self, keys: Iterable[str]) -> dict[str, set[str]]:
        """Return the implementations behind the values of ``keys``, of those that have several."""
        return {
            key: {value["backend"] for value, ok in zip(found, self.ok, strict=True) if ok and value}
            for key in keys
            if (found := self.values.get(key))
        }

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Return the rows with these metrics; those of a clip without a resynthesis count as failed."""
        import pyarrow as pa

        made = {name: self.rows[name] for name in self.rows.column_names}
        errors = zip(self.ok, self.rows["stage"].to_pylist(), self.rows["error"].to_pylist(), strict=True)
        lost = [None if ok else f"no resynthesis: {stage}: {error}" for ok, stage, error in errors]
        failed = [None if reason is None else {"status": "failed", "value": None, "reason": reason} for reason in lost]
        nothing: Values = [None] * len(self.clips)
        for key in columns:
            found = [no or value for no, value in zip(failed, self.values.get(key, nothing), strict=True)]
            made |= metric_columns(key, *([value and value[part] for value in found] for part in _PARTS))
        schema = clip_schema(columns)
        return pa.Table.from_arrays([made[name] for name in schema.names], schema=schema)


_PARTS = ("value", "status", "reason")
_VALUE = frozenset({*_PARTS, "version", "backend"})


def _is_line(line: Mapping[str, Any]) -> bool:
    """Whether a line has the form of a :class:`ScoreLine`."""
    return line.keys() == {"clip", "sha256", "metrics"} and all(
        value.keys() == _VALUE
        and value["status"] in {"ok", "undefined", "failed"}
        and (isinstance(value["value"], float) or (value["value"] is None and value["status"] != "ok"))
        for value in line["metrics"].values()
    )
