"""Write the results of probes into the table of a finished run, in the order that ``runs/probes.py`` explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.probing.scoring import ProbeResult
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import Provenance, RunInfo
from codec_superb.pipeline.runs.provenance import supersede
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue


def put_probes(folder: RunFolder, results: Sequence[ProbeResult], stamp: Provenance | None) -> RunInfo:
    """Write results into the table of a finished run; each replaces an earlier result of its probe."""
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


def _rows(folder: RunFolder, kept: Iterable[str], new: Mapping[str, Mapping[str, ProbeValue]]) -> Iterator[ClipRow]:
    """Yield the rows of the table with the retained and the new probes."""
    for row in folder.rows():
        probes = {key: row.probes[key] for key in kept if key in row.probes}
        probes |= {key: values[row.clip] for key, values in new.items() if row.clip in values}
        yield row.model_copy(update={"probes": probes})


def _ordered(keys: Iterable[str]) -> list[str]:
    """Sort probes in the order of the probe table."""
    chosen = set(keys)
    return [key for key in PROBES if key in chosen]
