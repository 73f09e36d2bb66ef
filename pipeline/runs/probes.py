"""The probes that a run's table holds: ``score`` keeps them as long as no resynthesis has changed, ``resynth`` drops them.

``run.json`` is what counts: columns and pairs of a probe that it does not name are of a process that was killed while
it wrote them. So a probe leaves ``run.json`` before its columns or pairs change, and comes back after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import ProbeInfo, RunInfo


def kept_probes(
    folder: RunFolder, info: RunInfo, resyntheses: Iterable[tuple[str, str | None]]
) -> dict[str, ProbeInfo]:
    """Return the probes that hold for these clips and resyntheses (SHA-256), in the order of the table."""
    if not info.probes or not folder.has_table() or folder.resyntheses() != list(resyntheses):
        return {}
    return info.probes


def drop_probes(folder: RunFolder, info: RunInfo) -> RunInfo:
    """Take the probes out of ``run.json`` and remove the pairs, before the table is written without them."""
    if not info.probes:
        return info
    info = info.model_copy(update={"probes": {}})
    folder.write_info(info)
    folder.write_pairs(())
    return info


def with_probes(folder: RunFolder, rows: Iterable[dict[str, Any]], keys: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield ``rows`` with the probes of the table that is there, whose rows are of the same clips in the same order."""
    chosen = tuple(keys)
    if not chosen:
        yield from rows
        return
    for row, old in zip(rows, folder.rows(), strict=True):
        probes = {key: old.probes[key].model_dump(mode="json") for key in chosen if key in old.probes}
        yield {**row, "probes": probes}
