"""Probe results in a run's table: ``score`` keeps them while no resynthesis has changed, ``resynth`` drops them.

``run.json`` is authoritative: columns and pairs of a probe that it does not name come from a process that was killed
while writing them. A probe is therefore removed from ``run.json`` before its columns or pairs change, and added again
afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.tables.rows import ClipRow


def kept_probes(folder: RunFolder, info: RunInfo) -> dict[str, ProbeInfo]:
    """Return the probes that are valid for the run's table, in the order of the table of probes.

    A table with other resyntheses is written by ``resynth``, ``import`` or ``merge``, which drop them.
    Probes of plug-ins that this process does not know are left out: their columns cannot be written.
    """
    if not folder.has_table():
        return {}
    return {key: found for key, found in info.probes.items() if key in PROBES}


def drop_probes(folder: RunFolder, info: RunInfo) -> RunInfo:
    """Remove the probes from ``run.json`` and their pairs, before the table is written without them."""
    if not info.probes:
        return info
    info = info.model_copy(update={"probes": {}})
    folder.write_info(info)
    folder.write_pairs(())
    return info


def with_probes(folder: RunFolder, rows: Iterable[ClipRow], keys: Iterable[str]) -> Iterator[ClipRow]:
    """Yield ``rows`` with the probes of the existing table, whose rows are of the same clips in the same order."""
    chosen = tuple(keys)
    if not chosen:
        yield from rows
        return
    for row, old in zip(rows, folder.rows(), strict=True):
        yield row.model_copy(update={"probes": {key: old.probes[key] for key in chosen if key in old.probes}})
