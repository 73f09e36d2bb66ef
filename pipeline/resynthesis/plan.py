"""What is asked of the resynth stage: every codec on every dataset, clean and under each condition, as runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.registry import configure
from codec_superb.base_codec.weights import check_options_apply
from codec_superb.data_manifests import Category, Dataset, open_dataset
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset
from codec_superb.pipeline.conditions.record import Condition, suffix_of
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.readiness import is_finished, make_ready
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, refuse_output_inside
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import codec_source, spec_hash, titled
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.runs.shard import Shard, clips_of_shard
from codec_superb.pipeline.workers.devices import Device, refuse_device
from codec_superb.pipeline.workers.progress import Progress


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of all runs of a call."""

    out: Path
    options: CodecOptions
    batch: float | None
    limit: int | None
    only: Mapping[str, Collection[str]] | None
    """By dataset as it was named: the clips to run, in place of ``limit``."""
    category: Category | None
    tokens: bool
    device: Device
    overwrite: bool
    shard: Shard | None = None
    """The part of each run to do; None for all of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One requested run."""

    codec: str
    card: Card
    spec: DatasetSpec
    dataset: Dataset
    clips: Sequence[str]
    folder: RunFolder
    spec_hash: str
    options: CodecOptions
    batch: float | None
    tokens: bool
    """Whether tokens are stored beside the audio."""
    condition: Condition | None = None
    """None for the clean run."""
    named_clips: bool = False
    """Whether ``clips`` were named one by one."""
    shard: Shard | None = None
    """The part of the requested clips that ``clips`` are; None for all."""
    of_all_shards: Sequence[str] = ()
    """The requested clips of all shards together; empty where there is one run."""

    @property
    def asked(self) -> Sequence[str]:
        """The requested clips, of all shards together."""
        return self.of_all_shards or self.clips

    @property
    def title(self) -> str:
        """Codec, with the condition where there is one."""
        return titled(self.card, self.condition)


def plan_runs(
    codecs: Sequence[str], datasets: Sequence[str], conditions: Sequence[Condition], asked: Asked, progress: Progress
) -> list[Plan]:
    """Describe all runs before any work begins: dataset by dataset, codec by codec, the clean one first.

    What their codecs lack is said at once, and missing environments are built. Raises PipelineError, CodecError or
    DatasetError for what cannot be run.
    """
    opened = [(str(spec), open_dataset(spec, category=asked.category)) for spec in datasets]
    clips = {spec: _clips(dataset, spec, asked) for spec, dataset in opened}
    cards = [card_of(codec) for codec in codecs]
    check_options_apply(asked.options, cards)
    refuse_device(asked.device, cards)
    _refuse_encoders(cards)
    folders = {
        card.name: [
            _folder(card, condition, dataset, asked) for _, dataset in opened for condition in (None, *conditions)
        ]
        for card in cards
    }
    unfinished = [
        codec
        for codec, card in zip(codecs, cards, strict=True)
        if asked.overwrite or not all(map(is_finished, folders[card.name]))
    ]
    make_ready(unfinished, asked.options, asked.device, progress)
    configured = {codec: configure(codec, asked.options) for codec in codecs}
    plans = [
        _plan(codec, configured[codec], spec, dataset, condition, asked, clips[spec])
        for spec, dataset in opened
        for codec in codecs
        for condition in (None, *conditions)
    ]
    for spec, dataset in opened:
        refuse_output_inside(spec, dataset, asked.out)
    _refuse_twins(plans)
    _tell_assumed(plans, progress)
    return plans


def _tell_assumed(plans: Sequence[Plan], progress: Progress) -> None:
    """Say of folders and files without a category which one is taken, where a run begins: it decides on the metrics."""
    begun = {plan.dataset.name for plan in plans if plan.folder.exists()}
    for name, dataset in {plan.dataset.name: plan.dataset for plan in plans}.items():
        if name in begun:
            continue
        if isinstance(dataset, FolderDataset) and (category := dataset.assumed_category) is not None:
            progress.message(
                f"{name}: no category is stated, taken as {category}; say --category audio or music if it is not"
            )


def _refuse_encoders(cards: Sequence[Card]) -> None:
    if encoder := next((card for card in cards if card.encode_only), None):
        raise PipelineError(f"{encoder.name} only encodes: it has no resynthesis to score; choose another codec")


def _folder(card: Card, condition: Condition | None, dataset: Dataset, asked: Asked) -> RunFolder:
    name = f"{dataset.name}{asked.shard.suffix if asked.shard else ''}"
    return RunFolder(asked.out / f"{card.name}{suffix_of(condition)}" / name)


def _plan(
    codec: str, configured: tuple[Card, CodecOptions], spec: str, dataset: Dataset, condition: Condition | None,
    asked: Asked, clips: tuple[Sequence[str], Sequence[str]],
) -> Plan:  # fmt: skip
    card, options = configured
    return Plan(
        codec,
        card,
        DatasetSpec(spec, asked.category, dataset.manifest_hash),
        dataset,
        clips[0],
        _folder(card, condition, dataset, asked),
        spec_hash(card, dataset.manifest_hash, codec_source(codec, card), condition),
        options,
        asked.batch,
        asked.tokens and card.codebooks is not None,
        condition,
        asked.only is not None,
        asked.shard,
        clips[1],
    )


def _clips(dataset: Dataset, spec: str, asked: Asked) -> tuple[Sequence[str], Sequence[str]]:
    """Return the clips of the shard, and those of all shards together."""
    selected = select_clips(dataset, asked.limit, None if asked.only is None else asked.only.get(spec, ()))
    return (selected if asked.shard is None else clips_of_shard(dataset, selected, asked.shard)), selected


def _refuse_twins(plans: Sequence[Plan]) -> None:
    """Refuse two runs with one run folder, as of two folders of audio with the same name."""
    seen: dict[Path, Plan] = {}
    for plan in plans:
        other = seen.setdefault(plan.folder.path, plan)
        if other is not plan:
            raise PipelineError(
                f"{other.codec} on {other.spec.spec} and {plan.codec} on {plan.spec.spec} are both kept in "
                f"{plan.folder.path}; name each once, or give them different --out folders"
            )
