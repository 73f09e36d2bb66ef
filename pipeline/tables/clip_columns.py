"""Clip rows as columns: a block of them from what journals hold, and tables of whole row groups from blocks.

A block of rows costs a tenth of what as many models do, in time and in memory, and is held to the same contract:
what does not fit is left to the models, whose errors name the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.tables.clips import (
    FIXED,
    ID_LIMIT,
    REQUIRED,
    ROW_GROUP,
    TEXT_LIMIT,
    clip_schema,
    row_of,
    shorten,
)
from codec_superb.pipeline.tables.rows import SLICE_LIMIT, ClipRow, ResynthesisRow, Status

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 4 * ROW_GROUP
"""Rows of a block: what is in memory of a run, some megabytes."""
_ADMITTED: Mapping[str, frozenset[str]] = {
    "category": frozenset(CATEGORIES),
    "status": frozenset(get_args(Status)),
    "stage": frozenset(get_args(ResynthesisRow.model_fields["stage"].annotation)),
}
_LENGTHS = {"slice": SLICE_LIMIT, "clip": ID_LIMIT, "dataset": ID_LIMIT, "error_type": ID_LIMIT}
_CLUSTER = r"^([0-9a-f]{12})?$"


def block_of(contents: Sequence[Mapping[str, Any]]) -> pa.Table | None:
    """Return the fixed columns of rows as a journal holds them; None where one is not what this version writes."""
    import pyarrow as pa

    schema = clip_schema(())
    if not all(content.keys() == FIXED.keys() for content in contents):
        return None
    try:
        columns = [pa.array([content[field.name] for content in contents], field.type) for field in schema]
        block = pa.Table.from_arrays(columns, schema=schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return _with_short(block, "error") if is_admitted(block) else None


def is_admitted(block: pa.Table, metrics: Sequence[str] = ()) -> bool:
    """Whether rows follow the contract of a clip table, probes apart; texts may be encoded as dictionaries."""
    import pyarrow as pa

    try:
        block.validate(full=True)  # text that is not UTF-8
    except pa.ArrowException:
        return False
    return _is_admitted(block, metrics)


def _is_admitted(block: pa.Table, metrics: Sequence[str]) -> bool:
    import pyarrow.compute as pc

    def all_of(found: Any) -> bool:
        return pc.all(found).as_py() is not False

    def texts(name: str) -> Any:
        return pc.unique(block[name]).cast("string")

    if any(block.schema.get_field_index(name) >= 0 and block[name].null_count for name in REQUIRED):
        return False
    if any(not set(texts(name).to_pylist()) <= admitted for name, admitted in _ADMITTED.items()):
        return False
    present = [name for name in _LENGTHS if name in block.column_names]
    if any((pc.max(pc.utf8_length(texts(name))).as_py() or 0) > _LENGTHS[name] for name in present):
        return False
    if "cluster" in block.column_names and not all_of(pc.match_substring_regex(texts("cluster"), _CLUSTER)):
        return False
    if not all(all_of(pc.is_finite(block[name])) for name in ("encode_s", "decode_s", *metrics)):
        return False
    return all(_is_metric(block, key) for key in metrics)


def _is_metric(block: pa.Table, key: str) -> bool:
    """Whether a metric has a status and a reason, or nothing, and a value where it is ok, and nowhere else."""
    import pyarrow.compute as pc

    status, reason = block[f"{key}_status"], block[f"{key}_reason"]
    if not set(pc.unique(status).to_pylist()) <= {"ok", "undefined", "failed", None}:
        return False
    has = pc.fill_null(pc.equal(status.cast("string"), "ok"), fill_value=False)
    same = pc.equal(pc.is_valid(block[key]), has)
    both = pc.equal(pc.is_valid(status), pc.is_valid(reason))
    return pc.all(pc.and_(same, both)).as_py() is not False


def rows_of(block: pa.Table, metrics: Sequence[str]) -> Iterator[ClipRow]:
    """Yield the rows of a block with these metrics. Raises ClipTableError."""
    for record in block.to_pylist():
        yield row_of(record, metrics, (), record["clip"])


def metric_columns(
    key: str, values: Sequence[Any], states: Sequence[Any], reasons: Sequence[Any]
) -> dict[str, pa.Array]:
    """Return the three columns of a metric, with long reasons cut."""
    import pyarrow as pa

    short = [text if text is None or len(text) <= TEXT_LIMIT else shorten(text) for text in reasons]
    return {
        key: pa.array(values, pa.float64()),
        f"{key}_status": pa.array(states, pa.string()),
        f"{key}_reason": pa.array(short, pa.string()),
    }


def in_row_groups(blocks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of ``blocks`` in whole row groups, of which the last may be shorter."""
    import pyarrow as pa

    left: pa.Table | None = None
    for block in blocks:
        rows = block if left is None or not left.num_rows else pa.concat_tables([left, block])
        whole = rows.num_rows - rows.num_rows % ROW_GROUP
        if whole:
            yield rows.slice(0, whole).combine_chunks()
        left = rows.slice(whole)
    if left is not None and left.num_rows:
        yield left.combine_chunks()


def _with_short(block: pa.Table, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if (pc.max(pc.utf8_length(block[name])).as_py() or 0) <= TEXT_LIMIT:
        return block
    short = pa.array([shorten(text) for text in block[name].to_pylist()], pa.string())
    return block.set_column(block.schema.get_field_index(name), block.schema.field(name), short)
