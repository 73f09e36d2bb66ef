"""``pack``: one codec's finished runs become one submission file, the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.registry import names
from codec_superb.base_codec.weights import has_checkpoint
from codec_superb.data_manifests import Dataset
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.field_faults import sentences
from codec_superb.metrics.results import Operations
from codec_superb.pipeline.aggregates.evidence import only_probes
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.output_file import write_output
from codec_superb.pipeline.runs.folder import AnyRun, Run, open_run
from codec_superb.pipeline.runs.info import Provenance, RunInfo, is_imported, spec_hash
from codec_superb.pipeline.submission.archive import FILE_LIMIT, write_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.check_numbers import counts_of
from codec_superb.pipeline.submission.listening import PackedSample, choose_samples
from codec_superb.pipeline.submission.parts.reading import MAX_ROWS, PartSource
from codec_superb.pipeline.submission.parts.writing import in_order, remove_others, written_parts
from codec_superb.pipeline.submission.schema import (
    CLIPS_NAME,
    PAIRS_NAME,
    SUBMISSION_NAME,
    VECTORS_NAME,
    Sample,
    Submission,
    SubmittedDataset,
    Submitter,
    clips_digest,
    format_of,
)
from codec_superb.pipeline.submission.scrub import scrub, scrub_all
from codec_superb.pipeline.submission.statements import completed, what_is_missing
from codec_superb.pipeline.tables.pairs import write_pairs
from codec_superb.pipeline.tables.rows import CountsRow, FramesRow, KeptRow
from codec_superb.pipeline.tables.stored_rows import StoredRows
from codec_superb.pipeline.tables.vectors import write_vectors
from codec_superb.plugins import PluginWarning


@dataclass(frozen=True, slots=True)
class _Run:
    """The parts of a run that are packed."""

    folder: AnyRun
    info: RunInfo
    rows: StoredRows
    pairs: tuple[KeptRow, ...]
    """Sorted; trials and ranks before frames."""


def pack(
    runs: Sequence[AnyRun | Place],
    out: Path,
    *,
    submitter: Submitter | None = None,
    samples: int = 0,
    datasets: Mapping[str, Dataset] | None = None,
    any_licence: bool = False,
    card: Path | None = None,
    public: bool = False,
    most_rows: int = MAX_ROWS,
) -> Path:
    """Write the submission of one codec's runs, a dataset each, to ``out`` and return it.

    Of more than ``most_rows`` rows, or more than :data:`~codec_superb.pipeline.submission.archive.FILE_LIMIT` bytes,
    the rows lie in parts beside it (:func:`~codec_superb.pipeline.submission.parts.reading.part_name`), which are
    written before it.

    ``samples`` listening samples (at most :data:`~codec_superb.pipeline.submission.schema.SAMPLES`) are taken from
    clips whose licence allows it, with ``any_licence`` from all of them, for a file that stays on this machine; they
    need the datasets' audio, from ``datasets`` (by name) where the caller has them open, else opened as the run did.
    ``card`` is a YAML file that states what the codec's card does not; for a ``public`` board a card must state
    everything. ``created`` is the time of the last stage, so packing twice gives the same bytes.

    Raises SubmissionError, saying what to do: a run that is not scored, runs of different codecs, of a codec or a probe
    with random weights, of one dataset twice, or of named and custom datasets together; a file that fails its check.
    RunFolderError for a folder that is no run. An existing ``out`` is replaced only by a whole file.
    """
    opened = sorted((_open(run) for run in runs), key=lambda run: run.info.dataset.name)
    _refuse(opened)
    shown = completed(opened[0].info.card, card)
    imported = is_imported(stamp for run in opened for stamp in run.info.provenance)
    if public and (told := what_is_missing(shown, imported=imported)):
        raise SubmissionError(told)
    folders = [str(Path.home()), *(str(run.folder.path.resolve().parent) for run in opened)]
    folders += [run.info.dataset.location or "" for run in opened]
    rows = StoredRows.joined(run.rows for run in opened).with_texts(lambda text: scrub(text, folders))
    members = _tables(opened)
    hashes = {name: hashlib.sha256(table).hexdigest() for name, table in members.items()}
    sources = [(run.folder, run.info) for run in opened]
    chosen = choose_samples(sources, rows, samples, datasets or {}, any_licence=any_licence)
    try:
        submission = Submission(
            submitter=submitter,
            samples=tuple(listening.sample for listening in chosen),
            clips_sha256="0" * 64,
            pairs_sha256=hashes.get(PAIRS_NAME),
            vectors_sha256=hashes.get(VECTORS_NAME),
            codec=_public_card(shown, folders),
            **_described(opened, rows, folders),
        )
    except ValidationError as error:
        raise SubmissionError(f"the runs cannot be described as a submission: {sentences(error)}") from error
    return _write(out, submission, rows, members | _sound(chosen), most_rows)


def _tables(runs: Sequence[_Run]) -> dict[str, bytes]:
    """Write pairs and frames where a probe keeps some."""
    tables: dict[str, bytes] = {}
    kept = [row for run in runs for row in run.pairs]
    if found := [row for row in kept if not isinstance(row, FramesRow)]:
        pairs = io.BytesIO()
        write_pairs(pairs, found)
        tables[PAIRS_NAME] = pairs.getvalue()
    if frames := [row for row in kept if isinstance(row, FramesRow)]:
        vectors = io.BytesIO()
        write_vectors(vectors, frames)
        tables[VECTORS_NAME] = vectors.getvalue()
    return tables


def _described(runs: Sequence[_Run], rows: StoredRows, folders: Sequence[str]) -> dict[str, Any]:
    """Collect the fields of the submission that follow from its runs."""
    clips = {run.info.dataset.name: run.info.dataset.clips for run in runs}
    described = tuple(_dataset(run, folders) for run in runs)
    return {
        "kind": "custom" if runs[0].info.dataset.location else "named",
        "created": max(stamp.started for run in runs for stamp in run.info.provenance),
        "condition": runs[0].info.condition,
        "datasets": described,
        "metrics": _metrics(runs),
        "custom_metrics": dict(sorted(pair for run in runs for pair in run.info.custom_metrics.items())),
        "aggregates": aggregate(
            rows,
            metrics=list(_metrics(runs)),
            expected=clips,
            pairs=[pair for run in runs for pair in run.pairs],
            backends={(dataset.name, info.probe): info.backend for dataset in described for info in dataset.probes},
        ),
    }


def _metrics(runs: Sequence[_Run]) -> dict[str, str]:
    return dict(sorted((key, version) for run in runs for key, version in run.info.metrics.items()))


def _open(run: AnyRun | Place) -> _Run:
    folder = run if isinstance(run, Run) else open_run(run)
    info = folder.info()
    if info.status != "scored":
        raise SubmissionError(f"{folder.path}: expected a scored run, got one that is {info.status}; call score first")
    ours = {key: found for key, found in info.probes.items() if key in PROBES and _can_be_read(key, found)}
    if others := sorted(info.probes.keys() - ours.keys()):
        text = "probes of plug-ins in Python are not packed: whoever receives them cannot compute their figures again"
        warnings.warn(f"{folder.path}: without {', '.join(others)}: {text}", PluginWarning, stacklevel=3)
        info = info.model_copy(update={"probes": ours})
    rows, pairs = only_probes(folder.stored_rows(), folder.pairs(), info.probes)
    # the same runs give the same bytes
    ordered = sorted(pairs, key=_place)
    return _Run(folder, info, rows, tuple(ordered))


def _can_be_read(key: str, info: ProbeInfo) -> bool:
    """Whether receivers can compute the figures of a probe again: of the program's own, or a task that is data."""
    return info.definition is not None or not PROBES[key].origin


def _place(row: KeptRow) -> tuple[bool, str, str, str, float, float]:
    if isinstance(row, FramesRow):
        return True, row.probe, row.clip, "", 0.0, 0.0
    if isinstance(row, CountsRow):
        return False, row.probe, row.clip, "", 0.0, 0.0
    return False, row.probe, row.left, row.right, row.reference, row.resynthesis


def _is_changed(info: RunInfo) -> bool:
    """Whether a card differs from the codec that was run, for example by its name; only of the program's own codecs."""
    name = info.card.name
    ours = name in names() and has_checkpoint(card_of(name))
    return ours and info.spec_hash != spec_hash(info.card, info.dataset.manifest_hash, condition=info.condition)


def _refuse(runs: Sequence[_Run]) -> None:
    """Refuse runs that cannot form one submission."""
    if not runs:
        raise SubmissionError("expected at least one run, got none")
    first = runs[0].info
    weights = first.card.weights
    if weights is not None and weights.source == "random":
        raise SubmissionError(f"{first.card.name} has random weights: a score of untrained weights is not published")
    versions: dict[str, str] = {}
    for run, previous in zip(runs, [None, *runs], strict=False):
        info, where = run.info, run.folder.path
        _refuse_other_codec(run, first)
        if previous and info.dataset.name == previous.info.dataset.name:
            raise SubmissionError(f"{where}: expected each dataset once, got {info.dataset.name} twice")
        if bool(info.dataset.location) != bool(first.dataset.location):
            raise SubmissionError(
                f"{where}: datasets of the benchmark and custom ones are never compared: pack them apart"
            )
        if _is_changed(info):
            raise SubmissionError(f"{where}: run.json was changed: expected the card that was run; run it again")
        if info.dataset.only is not None:
            raise SubmissionError(f"{where}: its clips were chosen one by one: run the dataset, or a part by --limit")
        if not info.provenance:
            raise SubmissionError(f"{where}: expected a stamp of each stage in run.json, got none; run it again")
        if len(run.rows) != info.dataset.selected:
            raise SubmissionError(f"{where}: expected {info.dataset.selected} rows, got {len(run.rows)}; run it again")
        _refuse_versions(run, versions)
        _refuse_random(run)


def _refuse_other_codec(run: _Run, first: RunInfo) -> None:
    """Refuse a run of another codec, or of the same under another condition."""
    info, where = run.info, run.folder.path
    if info.card.identity() != first.card.identity():
        got = info.card.name if info.card.name != first.card.name else "another card of the same name"
        raise SubmissionError(f"{where}: expected runs of one codec, {first.card.name}; got {got}: pack it apart")
    if info.condition != first.condition:
        clean = [f"{of.title}{'' if of.condition else ', clean'}" for of in (first, info)]
        raise SubmissionError(f"{where}: expected runs under one condition, {clean[0]}; got {clean[1]}: pack it apart")


def _refuse_random(run: _Run) -> None:
    """Refuse figures of untrained weights, which say nothing about a codec."""
    for key, used in run.info.probes.items():
        if used.random:
            raise SubmissionError(
                f"{run.folder.path}: {key} was run with {used.backend}, whose weights are untrained (random): "
                f"its figures are not published; run probe --application {key} with trained weights, then pack"
            )


def _refuse_versions(run: _Run, versions: dict[str, str]) -> None:
    """Add the run's metrics to ``versions``; SubmissionError when one has another version there."""
    for key, version in run.info.metrics.items():
        if versions.setdefault(key, version) != version:
            other = versions[key]
            raise SubmissionError(f"{run.folder.path}: {key} has version {version}, elsewhere {other}: score again")


def _public_card(card: Card, folders: Sequence[str]) -> Card:
    data = card.model_dump()
    return Card.model_validate(
        data | {name: scrub_all(data[name], folders) for name in ("weights", "settings", "version", "training_data")}
    )


def _dataset(run: _Run, folders: Sequence[str]) -> SubmittedDataset:
    stamps = tuple(Provenance.model_validate(scrub_all(stamp.model_dump(), folders)) for stamp in run.info.provenance)
    probes = tuple(_public_info(info, folders) for info in run.info.probes.values())
    return SubmittedDataset.of(
        run.info.dataset,
        spec_hash=run.info.spec_hash,
        probes=tuple(sorted(probes, key=lambda info: info.probe)),
        provenance=stamps,
        operations=_operations(run.info.operations, folders),
        **counts_of(run.rows),
    )


def _public_info(info: ProbeInfo, folders: Sequence[str]) -> ProbeInfo:
    # the definition of a task stays as its author wrote it: its hash is part of what it is
    public = scrub_all(info.model_dump(exclude={"definition"}), folders)
    return ProbeInfo.model_validate({**public, "definition": info.definition})


def _operations(found: Operations | None, folders: Sequence[str]) -> Operations | None:
    return found and Operations.model_validate(scrub_all(found.model_dump(), folders))


def _sound(chosen: Sequence[PackedSample]) -> dict[str, bytes]:
    sound: dict[str, bytes] = {}
    for listening in chosen:
        sample: Sample = listening.sample
        sound |= {sample.reference: listening.reference, sample.resynthesis: listening.resynthesis}
    return sound


def _write(out: Path, submission: Submission, rows: StoredRows, members: Mapping[str, bytes], most_rows: int) -> Path:
    """Write one file, or the parts and then the file that describes them."""
    if len(rows) <= most_rows:
        clips = io.BytesIO()
        rows.write(clips)
        one = _zipped(submission, {CLIPS_NAME: clips.getvalue(), **members})
        if one.getbuffer().nbytes <= FILE_LIMIT:
            _refuse_faulty(one, None)
            write_output(out, one.getvalue())
            remove_others(out, 0)
            return out
    with written_parts(out, submission, in_order(rows), most_rows) as (parts, places):
        manifest = _zipped(submission.model_copy(update={"parts": parts}), members)
        _refuse_faulty(manifest, lambda _, index: places[index])
    write_output(out, manifest.getvalue())
    remove_others(out, len(parts))
    return out


def _zipped(submission: Submission, members: Mapping[str, bytes]) -> io.BytesIO:
    clips = members.get(CLIPS_NAME)
    sums = hashlib.sha256(clips).hexdigest() if clips is not None else clips_digest(submission.parts)
    sealed = submission.model_copy(update={"format": format_of(members), "clips_sha256": sums}).seal()
    packed = io.BytesIO()
    write_archive(packed, {SUBMISSION_NAME: sealed.to_json(), **members})
    return packed


def _refuse_faulty(packed: io.BytesIO, parts: PartSource | None) -> None:
    """Refuse here, where it can be mended, what a leaderboard would refuse: it is not written."""
    report = check(packed, parts=parts)
    if not report.ok:
        faults = "\n".join(f"  {p.path}: expected {p.expected}, got {p.got}" for p in report.problems[:10])
        raise SubmissionError(f"the runs give a submission with {len(report.problems)} problems:\n{faults}")
