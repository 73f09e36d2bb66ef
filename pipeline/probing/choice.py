"""Plan a call of ``probe``: which probes apply to which dataset, and which models predict.

Errors of labels are raised before a model is prepared, errors of models before one is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.catalogue import Choice, backend_entry, check, open_backend
from codec_superb.applications.clips import item_of, reference_at
from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.interface import Backend, Item, Model, Samples
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import probe
from codec_superb.applications.task_definitions.messages import Prompt
from codec_superb.applications.understanding.chat import Chat
from codec_superb.applications.understanding.scoring import definition_of, is_tried
from codec_superb.data_manifests import Category, Dataset, open_dataset
from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.data_manifests.folders.labels_csv import LABELS_FILE
from codec_superb.data_manifests.trials import read_trials, trial_lists
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.chain import SecondPlan, identified, planned, portable, second_plan
from codec_superb.pipeline.probing.judging import judge_of
from codec_superb.pipeline.runs.finished import RunGroup, asked_clips
from codec_superb.pipeline.runs.selection import select_clips

DEFAULT_TRIAL_LIST = "veri_test2"
"""Trial list that is used where a dataset has several: VoxCeleb1-O, cleaned."""


@dataclass(frozen=True, slots=True)
class BackendPlan:
    """One backend, its model, and the probes that use its predictions."""

    entry: BackendEntry
    backend: Backend
    model: Model
    """Of the backend; of a chain, its first stage's."""
    probes: tuple[Probe, ...]
    second: SecondPlan | None = None
    """Of a chain, or of a backend that encodes texts too."""
    prompt: Prompt | None = None
    """What a chat is asked; plans of one ``backend`` that differ in it load the model once."""
    loaded: Model | None = None
    """Of a chat: ``model`` without the prompt."""
    shown: Model | None = None
    """As results name it, where that is not ``model``: of the codec of a run, which is no condition."""

    def only(self, keys: frozenset[str]) -> BackendPlan | None:
        """Return the plan restricted to these probes, None where none is left."""
        probes = tuple(row for row in self.probes if row.key in keys)
        return replace(self, probes=probes) if probes else None

    @property
    def references_only(self) -> bool:
        """Whether no probe looks at answers on resyntheses."""
        return all(row.option("sides") == "reference" for row in self.probes)

    def looks_at(self, item: Item) -> bool:
        """Whether any of the probes needs a prediction on this clip."""
        return any(item.category in row.categories and labelled(row, item) for row in self.probes)


class TrialList(NamedTuple):
    """A published trial list; an empty name means that there is none."""

    name: str = ""
    pairs: tuple[tuple[bool, str, str], ...] = ()
    """Whether the speakers are the same, clip id of the enrolment, clip id of the test."""


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """All runs of one dataset, and the labels of their clips."""

    runs: RunGroup
    items: dict[str, Item]
    """Labels by clip id, of all clips of the runs, sorted; of shards, those of all shards."""
    trials: TrialList
    probes: frozenset[str]
    """Keys of the probes that apply to clips of this dataset."""


def labelled(row: Probe, item: Item) -> bool:
    """Whether a clip has the labels that a probe needs, and is of the part that its task is tried on."""
    return all(item.label(need) for need in row.labels) and (
        row.definition is None or is_tried(row.definition.task, item)
    )


def examine(group: RunGroup, choices: Sequence[Choice]) -> ProbeGroup:
    """Find the probes that apply to the clips of a dataset.

    Raises MissingLabels for a dataset whose clips lack what a probe needs, RunFolderError for a run that is not
    finished or whose dataset has changed.
    """
    # a shard may have none of a probe's clips: what is asked of all shards decides
    runs = {tuple(asked_clips(folder, folder.info(), group.dataset)) for folder in group.folders}
    return ProbeGroup(group, *_examine(group.dataset, runs, choices, named=group.named))


def check_probes_possible(
    datasets: Sequence[str],
    choices: Sequence[Choice],
    *,
    category: Category | None = None,
    limit: int | None = None,
    judge: str = "",
) -> None:
    """Raise, before the resynthesis, the errors that :func:`~codec_superb.pipeline.probing.stage.probe` would raise.

    Raises MissingLabels for datasets, MissingModel and MissingPackage for backends, whose models are located or
    downloaded, and MissingModel for a judge that is needed and not named, or not configured.
    """
    busy: set[str] = set()
    for spec in datasets:
        dataset = open_dataset(spec, category=category)
        clips = {tuple(select_clips(dataset, limit))}
        busy |= _examine(dataset, clips, choices, named=spec in manifest_names())[2]
    _refuse_idle(busy, choices)
    if reader := judge_of(sorted(busy), judge, None):
        reader.close()
    prepare_all([choice for choice in choices if choice.probe in busy and not is_own(choice)], None)


def is_own(choice: Choice) -> bool:
    """Whether the codec of the run answers for a probe."""
    return probe(choice.probe).option("codec") == "own"


def _examine(
    dataset: Dataset, runs: Iterable[tuple[str, ...]], choices: Sequence[Choice], *, named: bool
) -> tuple[dict[str, Item], TrialList, frozenset[str]]:
    """Check the labels of the clips of each run, and return the fields of ProbeGroup."""
    items = {clip: item_of(dataset.clip(clip)) for clip in sorted(set().union(*runs))}
    rows = [probe(choice.probe) for choice in choices]
    optional = {choice.probe for choice in choices if choice.optional}
    trials = _trials(dataset) if named and any(row.pairs == "trials" for row in rows) else TrialList()
    here = [row for row in rows if any(item.category in row.categories for item in items.values())]
    here = [
        row
        for row in here
        if row.key not in optional
        or (
            dataset.name in (row.datasets or (dataset.name,))
            and _has_labels(dataset, row, _looked_at(row, items.values()))
        )
    ]
    for row in here:
        _refuse_unlabelled(dataset, row, _looked_at(row, items.values()), named=named)
        for clips in runs:
            if fault := check(row.key, _looked_at(row, map(items.__getitem__, clips)), trials.pairs):
                raise MissingLabels(f"{dataset.name}: {row.label} ({row.key}): {fault}")
    return items, trials, frozenset(row.key for row in here)


def _looked_at(row: Probe, items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.category in row.categories]


def _has_labels(dataset: Dataset, row: Probe, items: Sequence[Item]) -> bool:
    return set(row.collections) <= dataset.collections.keys() and any(labelled(row, item) for item in items)


def _refuse_unlabelled(dataset: Dataset, row: Probe, items: Sequence[Item], *, named: bool) -> None:
    if missing := [name for name in row.collections if name not in dataset.collections]:
        raise MissingLabels(
            f"{dataset.name}: {row.label} ({row.key}) needs the collection {missing[0]}, and the dataset has "
            f"{', '.join(sorted(dataset.collections)) or 'none'}: choose a dataset that has it, or leave {row.key} out"
        )
    if any(labelled(row, item) for item in items):
        return
    column = " and ".join(need.removeprefix("extra:") for need in row.labels)
    remedy = (
        "choose a dataset that has it"
        if named
        else f"add the column {column} to {LABELS_FILE} in the folder, then call resynth again"
    )
    raise MissingLabels(
        f"{dataset.name}: {row.label} ({row.key}) needs the label {column}, and none of its "
        f"clips has it ({len(items)} of {' and '.join(row.categories)}): {remedy}, or leave {row.key} out"
    )


def _trials(dataset: Dataset) -> TrialList:
    """Read the published trial list of a named dataset, if it has one."""
    names = trial_lists(dataset.name)
    if not names:
        return TrialList()
    name = DEFAULT_TRIAL_LIST if DEFAULT_TRIAL_LIST in names else names[0]
    return TrialList(name, tuple(read_trials(dataset.name, name)))


def with_clips(groups: Iterable[ProbeGroup], choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices whose probes have clips in some dataset.

    Raises MissingLabels for a probe without any that was asked for by itself, or where no task of a benchmark has some.
    """
    busy = {key for group in groups for key in group.probes}
    _refuse_idle(busy, choices)
    return [choice for choice in choices if choice.probe in busy]


def _refuse_idle(busy: set[str], choices: Sequence[Choice]) -> None:
    optional = [choice.probe for choice in choices if choice.optional]
    if optional and not busy & set(optional):
        needs = sorted({need for key in optional for need in probe(key).needs})
        meant = sorted({name for key in optional for name in probe(key).datasets})
        where = f", or these are no datasets of theirs ({', '.join(meant[:5])}…)" if meant else ""
        raise MissingLabels(
            f"no clip has the labels or collections that any of {len(optional)} tasks needs ({', '.join(needs)})"
            f"{where}: choose a dataset that has some, or name a task by its key; see codec-superb applications"
        )
    for choice in choices:
        if choice.probe not in busy and not choice.optional:
            row = probe(choice.probe)
            raise MissingLabels(
                f"{row.label} ({row.key}) needs clips of {' and '.join(row.categories)}, and none of the runs has any"
            )


def prepare_all(choices: Sequence[Choice], weights: Path | None) -> list[BackendPlan]:
    """Locate the models of all backends, so that errors of any are raised before the first is used."""
    by_backend: dict[str, list[Probe]] = {}
    for choice in choices:
        by_backend.setdefault(choice.backend, []).append(probe(choice.probe))
    asked = []
    for spec, rows in [(planned(spec), rows) for spec, rows in by_backend.items()]:
        backend = open_backend(spec.first, weights)
        entry = backend_entry(spec.first)
        model = identified(portable(backend.prepare()), entry)
        if isinstance(backend, Chat):
            asked += _chat_plans(entry, backend, model, rows)
            continue
        second = second_plan(spec, backend, entry, model, weights)
        asked.append(BackendPlan(entry, backend, model, tuple(rows), second))
    return asked


def _chat_plans(entry: BackendEntry, chat: Chat, model: Model, rows: Sequence[Probe]) -> list[BackendPlan]:
    """Return a plan for each prompt; tasks that ask the same share their answers."""
    by_prompt: dict[str, tuple[Prompt, list[Probe]]] = {}
    for row in rows:
        prompt = definition_of(row).prompt(chat.family)
        by_prompt.setdefault(prompt.sha256, (prompt, []))[1].append(row)
    return [
        BackendPlan(entry, chat, _asking(model, digest), tuple(of), prompt=prompt, loaded=model)
        for digest, (prompt, of) in by_prompt.items()
    ]


def _asking(model: Model, prompt_sha256: str) -> Model:
    """Return the identity of a chat that is asked one prompt."""
    return replace(model, settings={**model.settings, "prompt_sha256": prompt_sha256})


def train(asked: BackendPlan, group: ProbeGroup, device: str) -> Model:
    """Train a trainable backend on the references of the whole dataset, and return its model."""
    backend = asked.backend
    if type(backend).train is Backend.train:
        return asked.model
    dataset = group.runs.dataset
    items = [item_of(dataset.clip(clip)) for clip in dataset.clip_ids()]
    mine = [item for item in items if any(item.category in row.categories for row in asked.probes)]
    load = _loader(dataset, backend.rate) if group.runs.shard is None else _no_training
    return portable(backend.train(mine, load, asked.model, device))


def _no_training(clip: str) -> Samples:
    raise PipelineError(
        f"a model that is trained on the references of the whole dataset ({clip}, …) is trained once, not in each "
        "shard: merge the shards of one codec and probe that run, then probe the other shards; or leave this probe out"
    )


def _loader(dataset: Dataset, rate: int) -> Callable[[str], Samples]:
    return lambda clip: reference_at(dataset.clip(clip), rate)
