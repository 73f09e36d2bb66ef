"""Choose spoken queries for the report: what was heard after each codec, and what was found for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from codec_superb.applications.table import PROBES
from codec_superb.web.retrieval_examples import HeardQuery, RetrievalExample

if TYPE_CHECKING:
    from codec_superb.applications.results import ProbeInfo
    from codec_superb.data_manifests import Dataset
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.tables.rows import ClipRow

EXAMPLES = 4
"""Queries a task and dataset."""
KBPS = 32
FIRST = "first_sha256"
"""Setting of a chain with the identity of its first stage."""
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
    heard = [_on_references(task), *(_on_resyntheses(task, entry, rows) for entry, rows in task.codecs)]
    for clip in chosen:
        yield _example(task, clip, names, [texts.get(clip, "") for texts in heard])


def _names(task: _Task, rows: set[int]) -> dict[int, str]:
    """Return what stands in the rows of the collection, numbered from 1."""
    collection = task.dataset.collection(PROBES[task.info.probe].option("collection"))
    found = ((number, row) for number, row in enumerate(collection.rows(), start=1) if number in rows)
    return {number: _short(row.title or row.text) for number, row in found}


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _example(task: _Task, clip: str, names: Mapping[int, str], heard: Sequence[str]) -> RetrievalExample:
    """Put an example together; ``heard`` has the transcript of the original, then one for each codec."""
    from codec_superb.pipeline.runs.audio_store import read_audio
    from codec_superb.pipeline.runs.dataset_access import load_mono
    from codec_superb.pipeline.runs.folder import open_run
    from codec_superb.pipeline.submission.listening import is_redistributable
    from codec_superb.pipeline.submission.samples import ogg_opus

    probe, its = PROBES[task.info.probe], task.dataset.clip(clip)
    audible = is_redistributable(its.licence)
    first = task.codecs[0][1][clip].probes[probe.key]
    versions = [
        HeardQuery(
            "", heard[0], names.get(int(first.reference["top"]), ""), int(first.reference["rank"]),
            ogg_opus(*load_mono(its), KBPS) if audible else b"",
        )
    ]  # fmt: skip
    for (entry, rows), text in zip(task.codecs, heard[1:], strict=True):
        source = entry.dataset(task.dataset.name)
        if source is None:
            continue
        folder, of = open_run(source.source), rows[clip]
        values = of.probes[probe.key].resynthesis
        sound = b""
        if audible:
            sound = ogg_opus(*read_audio(folder.audio_path(clip), of.resynthesis_sha256 or ""), KBPS)
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


def _on_resyntheses(task: _Task, entry: Results, rows: Mapping[str, ClipRow]) -> dict[str, str]:
    """Return what the first stage of the chain heard after a codec, by clip, from the journal of the run."""
    from codec_superb.pipeline.runs.folder import open_run

    source, digest = entry.dataset(task.dataset.name), task.info.settings.get(FIRST)
    if source is None or digest is None:
        return {}
    current = {clip: row.resynthesis_sha256 for clip, row in rows.items()}
    return {
        line.clip: line.text
        for line in open_run(source.source).predictions()
        if line.text is not None and line.model == digest and line.sha256 == current.get(line.clip, "")
    }


def _on_references(task: _Task) -> dict[str, str]:
    """Return what it heard of the originals, by clip."""
    from codec_superb.pipeline.probing.reference_predictions import file_of
    from codec_superb.pipeline.runs.journal import read_journal
    from codec_superb.pipeline.tables.rows import PredictionLine

    digest = task.info.settings.get(FIRST)
    if digest is None:
        return {}
    lines = read_journal(file_of(task.dataset.manifest_hash, str(digest)), PredictionLine)
    return {line.clip: line.text for line in lines if line.text is not None}
