"""Choose spoken queries for the report: what was heard after each codec, and what was found for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codec_superb.applications.table import PROBES
from codec_superb.web.rows import HeardQuery, RetrievalExample

if TYPE_CHECKING:
    from codec_superb.applications.results import ProbeInfo
    from codec_superb.data_manifests import Dataset
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.tables.rows import ClipRow

EXAMPLES = 4
"""Queries a task and dataset."""
KBPS = 32
_LONGEST = 160
"""Characters of a document that are shown."""


class _Task(NamedTuple):
    """A retrieval task on a dataset, with the codecs that were run on the same model."""

    info: ProbeInfo
    dataset: Dataset
    codecs: tuple[tuple[Results, Mapping[str, ClipRow]], ...]
    """Results, and their rows by clip on which the task is ok."""


def choose_examples(results: Sequence[Results], number: int = EXAMPLES) -> list[RetrievalExample]:
    """Return, of each retrieval task, the queries that the most codecs lost: right on the original, wrong after them.

    Only run folders hold what was heard: codecs from submission files are left out.
    """
    return [example for task in _tasks(results) for example in _examples(task, number)]


def _tasks(results: Sequence[Results]) -> Iterable[_Task]:
    from codec_superb.cli.report_listening import local_datasets

    local = [entry for entry in results if all(of.source.is_dir() for of in entry.datasets)]
    datasets = local_datasets(local)
    seen: dict[tuple[str, str, str], list[Results]] = {}
    infos: dict[tuple[str, str, str], ProbeInfo] = {}
    for entry in local:
        for of in entry.datasets:
            for info in of.probes:
                known = PROBES.get(info.probe)
                if known is not None and known.group == "retrieval" and of.info.name in datasets:
                    key = (of.info.name, info.probe, info.model_sha256)
                    seen.setdefault(key, []).append(entry)
                    infos[key] = info
    for key, entries in seen.items():
        codecs = tuple((entry, _scored(entry, key[0], key[1])) for entry in entries)
        yield _Task(infos[key], datasets[key[0]], codecs)


def _scored(entry: Results, dataset: str, probe: str) -> dict[str, ClipRow]:
    return {
        row.clip: row
        for row in entry.rows
        if row.dataset == dataset and probe in row.probes and row.probes[probe].status == "ok"
    }


def _examples(task: _Task, number: int) -> Iterable[RetrievalExample]:
    probe = task.info.probe
    shared = sorted(set.intersection(*(set(rows) for _, rows in task.codecs)))

    def lost(clip: str) -> int:
        entries = [rows[clip].probes[probe] for _, rows in task.codecs]
        return sum(entry.reference["rank"] == 1 and entry.resynthesis["rank"] != 1 for entry in entries)

    chosen = sorted(shared, key=lambda clip: (-lost(clip), clip))[:number]
    rows = {rows[clip].probes[probe].reference["top"] for _, rows in task.codecs for clip in chosen}
    rows |= {rows[clip].probes[probe].resynthesis["top"] for _, rows in task.codecs for clip in chosen}
    names = _names(task, {int(row) for row in rows})
    for clip in chosen:
        yield _example(task, clip, names)


def _names(task: _Task, rows: set[int]) -> dict[int, str]:
    """Return what stands in the rows of the collection, numbered from 1."""
    collection = task.dataset.collection(PROBES[task.info.probe].option("collection"))
    found = ((number, row) for number, row in enumerate(collection.rows(), start=1) if number in rows)
    return {number: _short(row.title or row.text) for number, row in found}


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _example(task: _Task, clip: str, names: Mapping[int, str]) -> RetrievalExample:
    from codec_superb.pipeline.runs.audio_store import read_audio
    from codec_superb.pipeline.runs.dataset_access import load_mono
    from codec_superb.pipeline.runs.folder import RunFolder
    from codec_superb.pipeline.submission.listening import is_redistributable
    from codec_superb.pipeline.submission.samples import ogg_opus

    probe, its = PROBES[task.info.probe], task.dataset.clip(clip)
    heard = is_redistributable(its.licence)
    first = task.codecs[0][1][clip].probes[probe.key]
    versions = [
        HeardQuery(
            "", _on_reference(task, clip), names.get(int(first.reference["top"]), ""), int(first.reference["rank"]),
            ogg_opus(*load_mono(its), KBPS) if heard else b"",
        )
    ]  # fmt: skip
    for entry, rows in task.codecs:
        source = entry.dataset(task.dataset.name)
        if source is None:
            continue
        folder, of = RunFolder(source.source), rows[clip]
        values = of.probes[probe.key].resynthesis
        sound = b""
        if heard:
            sound = ogg_opus(*read_audio(folder.audio_path(clip), of.resynthesis_sha256 or ""), KBPS)
        text = _on_resynthesis(task, folder, of)
        found = names.get(int(values["top"]), "")
        versions.append(HeardQuery(entry.card.name, text, found, int(values["rank"]), sound))
    wanted = dict(its.labels.extra).get(probe.option("label"), "").replace("\n", ", ")
    return RetrievalExample(
        clip,
        task.dataset.name,
        probe.label,
        its.labels.text or "",
        _short(wanted),
        its.attribution,
        its.licence,
        versions,
    )


def _on_resynthesis(task: _Task, folder: object, row: ClipRow) -> str:
    """Return what the first stage of the chain heard, from the journal of the run."""
    from codec_superb.pipeline.runs.folder import RunFolder

    assert isinstance(folder, RunFolder)
    digest = task.info.settings.get("first_sha256")
    with folder.probe_journal() as journal:
        lines = [line for line in journal.entries(row.clip) if line.sha256 == row.resynthesis_sha256]
    return next((line.text for line in reversed(lines) if line.model == digest and line.text is not None), "")


def _on_reference(task: _Task, clip: str) -> str:
    from codec_superb.pipeline.probing.reference_predictions import file_of
    from codec_superb.pipeline.runs.journal import Journal
    from codec_superb.pipeline.tables.rows import PredictionLine

    path: Path = file_of(task.dataset.manifest_hash, str(task.info.settings.get("first_sha256")))
    with suppress(OSError), Journal(path, PredictionLine) as journal:
        line = journal.last(clip)
        return line.text or "" if line is not None else ""
    return ""
