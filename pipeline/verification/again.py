"""Run drawn clips of a submission again by the stages of every run: resynthesise, score, probe."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codec_superb.applications.backends import BACKENDS, CODEC
from codec_superb.applications.catalogue import PROTOCOLS
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.table import PROBES
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError
from codec_superb.base_codec.options import CodecOptions
from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.data_manifests.errors import DatasetError, DatasetNotPrepared
from codec_superb.metrics.errors import MetricError
from codec_superb.metrics.table import METRICS, metrics_for
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import Provenance, is_imported
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.schema import Submission, SubmittedDataset
from codec_superb.pipeline.submission.scrub import scrub_all
from codec_superb.pipeline.submission.statements import may_be_stated
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.workers.devices import Device
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import Progress

_SOMEBODYS = frozenset({"command", "endpoint", "endpoint-chat"})
"""Backends that call a program or a server that the user names."""
DESCRIPTIVE = frozenset({
    "title", "version", "standard", "year", "licence", "paper", "homepage", "training_data", "parameters",
    "requirements", "extra", "system", "isolation", "bitrate_note", "level_note", "nominal_tolerance", "cpu_only",
    "weights", "settings", "latency_ms", "causal",
})  # fmt: skip
"""Fields of a card that say something about a codec and change no sample; weights and settings are compared apart."""


class CannotRun(PipelineError):
    """The codec, its weights or a dataset are not here: nothing can be said about the file."""


class NothingSaid(CannotRun):
    """Drawn clips were run and sound otherwise, as on another machine: another draw might have agreed."""


class NotPrepared(CannotRun):
    """A dataset of the benchmark is not on this machine; the text names the command that fetches it."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """With what a submission is run again."""

    out: Path
    """Folder of the runs; what is there already is not computed again."""
    codec: str | None = None
    """``file.py:NAME`` of a codec that is not of the catalogue; None for the catalogue's of the card's name."""
    datasets: Sequence[str] = ()
    """Folders or manifests of datasets that are not of the benchmark."""
    device: Device = "auto"
    weights: str | None = None
    """As ``CodecOptions.weights``."""
    probes: bool = True
    """Whether probes are run where the file has their numbers."""


@dataclass(slots=True)
class Made:
    """What came out."""

    rows: dict[tuple[str, str], ClipRow] = field(default_factory=dict)
    """By dataset and clip."""
    stamps: dict[str, Provenance] = field(default_factory=dict)
    """Of the resynthesis, by dataset."""
    probes: dict[str, set[str]] = field(default_factory=dict)
    """Probes whose numbers can be compared, by dataset."""
    folders: dict[str, RunFolder] = field(default_factory=dict)
    """Where it lies, by dataset."""
    left_out: list[str] = field(default_factory=list)
    """What cannot be compared, with the reason."""

    @property
    def card(self) -> Card:
        """Return the card of the codec that ran here."""
        return next(iter(self.folders.values())).info().card


def run_again(
    submission: Submission,
    rows: Iterable[ClipRow],
    drawn: Mapping[str, Collection[str]],
    how: Rerun,
    pool: Executor,
    progress: Progress,
) -> Made:
    """Run the drawn clips of each dataset with the codec that the card names, and return their rows.

    ``rows`` are the submitted ones: each of their metrics is computed again.

    Raises CannotRun with a sentence for a codec, weights, or a dataset that are not here or are others, and
    PipelineError for a run that went wrong.
    """
    codec = _codec_of(submission, how)
    specs = {dataset.name: _dataset_of(dataset, how) for dataset in submission.datasets}
    conditions = [submission.condition] if submission.condition else []
    clips = {spec: drawn[name] for name, spec in specs.items()}
    try:
        outcomes = resynthesise(
            [codec], list(specs.values()), out=how.out, conditions=conditions, device=how.device,
            options=options_of(submission.codec, how), clips=clips, progress=progress, executor=pool,
        )  # fmt: skip
        runs = [run for run in (RunFolder(of.path) for of in outcomes) if run.info().condition == submission.condition]
        for run in runs:
            refuse_another(submission.codec, run.info().card, own=submission.codec.name not in registry.names())
        score([run.path for run in runs], metrics=_asked(submission, rows), progress=progress, executor=pool)
    except (CodecError, DatasetError, MetricError) as error:
        raise CannotRun(str(error)) from error
    made = Made()
    made.left_out += [f"{key}: a metric of a plug-in" for key in submission.metrics if key not in METRICS]
    by_name = {dataset.name: dataset for dataset in submission.datasets}
    for run in runs:
        info = run.info()
        made.probes[info.dataset.name] = set()
        if how.probes:
            _probe(run, by_name[info.dataset.name], made, how, pool, progress)
        made.folders[info.dataset.name] = run
        made.rows |= {(row.dataset, row.clip): row for row in run.rows()}
        made.stamps[info.dataset.name] = next(of for of in run.info().provenance if of.stage == "resynth")
    return made


def _asked(submission: Submission, rows: Iterable[ClipRow]) -> list[str] | None:
    """Return the metrics to compute on every clip; None for those of its category where the rows have no others."""
    keys = [key for key in submission.metrics if key in METRICS]
    usual = set(keys) == {key for key, metric in METRICS.items() if metric.default}
    own = all(row.metrics.keys() & METRICS.keys() <= {*metrics_for(row.category)} for row in rows)
    return None if usual and own else keys


def _codec_of(submission: Submission, how: Rerun) -> str:
    """Return the codec to run. Raises CannotRun."""
    name = submission.codec.name
    if how.codec is not None:
        own = registry.card(how.codec).name
        if own != name:
            raise CannotRun(f"expected the codec {name}, of which the file is, got {own}; name its file with --codec")
        return how.codec
    if is_imported(stamp for dataset in submission.datasets for stamp in dataset.provenance):
        raise CannotRun(f"{name}: its sound was made elsewhere and imported: there is no codec to run")
    if name not in registry.names():  # never a file that somebody names in a card
        raise CannotRun(f"{name} is no codec of the catalogue here: name its file with --codec path/to/file.py:NAME")
    return name


def _dataset_of(dataset: SubmittedDataset, how: Rerun) -> str:
    """Return the dataset to open, in the state of the file. Raises CannotRun."""
    own = {_opened_name(spec): spec for spec in how.datasets}
    if dataset.name not in own and dataset.name not in manifest_names():
        raise CannotRun(f"{dataset.name} is no dataset of the benchmark: name its folder with --dataset")
    spec = own.get(dataset.name, dataset.name)
    try:
        here = open_dataset(spec).manifest_hash
    except DatasetNotPrepared as error:
        raise NotPrepared(str(error)) from error
    except DatasetError as error:
        raise CannotRun(str(error)) from error
    if here != dataset.manifest_hash:
        raise CannotRun(
            f"{dataset.name}: expected the state {dataset.manifest_hash[:12]}, of which the file is, got {here[:12]}; "
            "prepare that state of the dataset"
        )
    return spec


def _opened_name(spec: str) -> str:
    try:
        return open_dataset(spec).name
    except DatasetError as error:
        raise CannotRun(str(error)) from error


def options_of(card: Card, how: Rerun) -> CodecOptions:
    """Return the options by which the card was run: precision, a declared bitrate, a found delay."""
    dtype = card.settings.get("dtype", "float32")
    return CodecOptions(
        weights=how.weights,
        dtype=dtype if dtype in ("float32", "bfloat16", "float16") else "float32",
        compile=bool(card.settings.get("compile", False)),
        kbps=card.nominal_kbps if card.bit_source == "declared" else None,
        delay=card.delay_samples if card.delay_source == "found" else None,
    )


def refuse_another(submitted: Card, here: Card, *, own: bool = False) -> None:
    """Raise CannotRun where the codec that ran here is not that of the file's card.

    What ``pack --card`` may add to the card of one's ``own`` code is the submitter's word, as is all that describes.
    """
    one, other = _sounding(submitted), _sounding(here)
    fields = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    counts = {"frame_rate"} if here.codebooks is not None else set()  # what a board takes for tokens a second
    if fields := [name for name in fields if not (own and name not in counts and may_be_stated(here, name))]:
        shown = "; ".join(f"{name} {one.get(name)!r} in the file, {other.get(name)!r} here" for name in fields[:3])
        raise CannotRun(f"{submitted.name}: the file's card is of another codec than the one here: {shown}")


def _sounding(card: Card) -> dict[str, object]:
    """Return what decides on a codec's sound and bits, without paths of a machine."""
    fields = {name: value for name, value in card.identity().items() if name not in DESCRIPTIVE}
    # a path of somebody's machine is no identity of weights; their hash is
    weights = card.weights and (card.weights.sha256, card.weights.config_sha256)
    return fields | {"settings": scrub_all(card.settings), "weights": weights}


def _probe(
    run: RunFolder, dataset: SubmittedDataset, made: Made, how: Rerun, pool: Executor, progress: Progress
) -> None:
    """Run the probes of the file one by one; what cannot be compared is noted with the reason."""
    whole = run.info().dataset.selected == dataset.selected
    for info in dataset.probes:
        row = PROBES.get(info.probe)
        if row is None and info.definition is not None:
            why = "a task that this program does not ship"
        elif row is None or row.version != info.version:
            why = "another version of its definition"
        elif not is_plain_backend(info.backend):
            why = f"{info.backend} is no model of the catalogue by its name"
        elif row.pairs == "frames":
            why = "its frames are not compared"
        elif (row.pairs or row.joint) and not whole:
            why = "its numbers need all clips of the dataset (--all)"
        else:
            why = _probed(run, info.probe, _spec_of(info.backend), how, pool, progress)
        made_here = run.info().probes.get(info.probe)
        if not why and made_here is not None:
            if (made_here.model_sha256, made_here.settings) != (info.model_sha256, info.settings):
                why = f"{info.backend} is another model here, or has other settings"
            else:
                made.probes[dataset.name].add(info.probe)
        if why:
            made.left_out.append(f"{dataset.name}, {info.probe}: {why}"[:1000].replace("\0", "\ufffd"))


def is_plain_backend(spec: str) -> bool:
    """Whether a file names models that this program ships or its probes take by default, in a chain or alone.

    A path, a repository, a command or an address is somebody's: it would be loaded or called as the file says.
    """
    usual = {row.backend for row in PROBES.values() if not row.origin}
    usual |= {backend for chosen in PROTOCOLS.values() for backend in chosen.values()}
    known = {part for backend in usual for part in backend.split("+")} | (BACKENDS.keys() - _SOMEBODYS)
    known |= {f"{row.name}:{variant}" for row in BACKENDS.values() for variant in row.variants}
    return spec in _named() or all(part in known or _is_of_codec(part) for part in spec.split("+"))


def _named() -> Mapping[str, str]:
    return {row.named: row.name for row in BACKENDS.values() if row.named}


def _is_of_codec(part: str) -> bool:
    backend, _, codec = part.partition(":")
    return backend in BACKENDS and BACKENDS[backend].model == CODEC and codec in registry.names()


def _spec_of(backend: str) -> str:
    """Return how a plain backend is named to run it: its usual model by its name alone."""
    usual = {f"{row.name}:{row.variants[0]}": row.name for row in BACKENDS.values() if row.variants}
    return _named().get(backend) or "+".join(usual.get(part, part) for part in backend.split("+"))


def _probed(run: RunFolder, key: str, backend: str, how: Rerun, pool: Executor, progress: Progress) -> str:
    """Run a probe; return why that is not possible here, '' where it is."""
    try:
        probe([run.path], applications=[key], backends=[backend], device=how.device, progress=progress, executor=pool)
    except (ApplicationError, DatasetError) as error:  # a model, a package or what it learns from is not here
        return str(error)
    return ""
