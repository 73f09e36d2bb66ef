"""The probes of a run's table: put in by ``probe``, kept by ``score`` as long as no resynthesis has changed.

``run.json`` is what counts: columns and pairs of a probe that it does not name are of a process that was killed while
it wrote them. So a probe leaves ``run.json`` before its columns or pairs change, and comes back after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.probe_scoring import ProbeResult
from codec_superb.pipeline.provenance import supersede
from codec_superb.pipeline.rows import ProbeValue
from codec_superb.pipeline.run_folder import RunFolder
from codec_superb.pipeline.run_info import ProbeInfo, Provenance, RunInfo


def put_probes(folder: RunFolder, results: Sequence[ProbeResult], stamp: Provenance | None) -> RunInfo:
    """Put results into the table of a finished run, each in the place of an earlier one of its probe."""
    info = folder.info()
    new = {result.info.probe: result for result in results}
    kept = {key: of for key, of in info.probes.items() if key not in new}
    if kept != info.probes:
        info = info.model_copy(update={"probes": kept})
        folder.write_info(info)
    pairs = [pair for pair in folder.pairs() if pair.probe in kept]
    folder.write_pairs([*pairs, *(pair for result in results for pair in result.pairs)])
    values = {key: result.values for key, result in new.items()}
    folder.write_rows(_rows(folder, kept, values), list(info.metrics), _ordered({*kept, *new}))
    probes = kept | {key: result.info for key, result in new.items()}
    stamps = info.provenance if stamp is None else supersede(info.provenance, stamp)
    info = info.model_copy(update={"probes": {key: probes[key] for key in _ordered(probes)}, "provenance": stamps})
    folder.write_info(info)
    return info


def _rows(
    folder: RunFolder, kept: Iterable[str], new: Mapping[str, Mapping[str, ProbeValue]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table with the probes kept and the new ones."""
    for row in folder.rows():
        probes = {key: row.probes[key] for key in kept if key in row.probes}
        probes |= {key: values[row.clip] for key, values in new.items() if row.clip in values}
        yield row.model_copy(update={"probes": probes}).model_dump(mode="json")


def _ordered(keys: Iterable[str]) -> list[str]:
    """Sort probes as their table does."""
    chosen = set(keys)
    return [key for key in PROBES if key in chosen]


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
