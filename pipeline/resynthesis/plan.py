"""What a run of the resynth stage will be: codec, dataset, clips, folder, identity; and what is refused before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.options import CodecOptions
from codec_superb.data_manifests import Category, Dataset
from codec_superb.data_manifests.catalogue import is_plugged, manifest_names
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import codec_source, spec_hash
from codec_superb.pipeline.runs.selection import select_clips


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


def refuse_encoders(cards: Sequence[Card]) -> None:
    """Refuse codecs without a decoder, before any work begins."""
    if encoder := next((card for card in cards if card.encode_only), None):
        raise PipelineError(f"{encoder.name} only encodes: it has no resynthesis to score; choose another codec")


def plan_run(
    codec: str, configured: tuple[Card, CodecOptions], spec: str, dataset: Dataset, category: Category | None,
    out: Path, limit: int | None, batch: float | None, *, tokens: bool,
) -> Plan:  # fmt: skip
    """Describe one run, before any work begins."""
    card, options = configured
    folder = RunFolder(out / card.name / dataset.name)
    identity = spec_hash(card, dataset.manifest_hash, codec_source(codec, card))
    opened = DatasetSpec(spec, category, dataset.manifest_hash)
    kept = tokens and card.codebooks is not None
    return Plan(codec, card, opened, dataset, select_clips(dataset, limit), folder, identity, options, batch, kept)


def refuse_output_inside(opened: Sequence[tuple[str, Dataset]], out: Path) -> None:
    """Refuse an output folder inside a dataset's folder, where resyntheses would become clips of the next call."""
    for spec, dataset in opened:
        place = location_of(spec)
        if place is not None and not is_plugged(spec) and out.resolve().is_relative_to(Path(place).resolve()):
            raise PipelineError(f"the output folder {out} lies inside the dataset {dataset.name}; choose another --out")


def refuse_twins(plans: Sequence[Plan]) -> None:
    """Refuse two runs with one run folder, as of two folders of audio with the same name."""
    seen: dict[Path, Plan] = {}
    for plan in plans:
        other = seen.setdefault(plan.folder.path, plan)
        if other is not plan:
            raise PipelineError(
                f"{other.codec} on {other.spec.spec} and {plan.codec} on {plan.spec.spec} are both kept in "
                f"{plan.folder.path}; name each once, or give them different --out folders"
            )


def location_of(spec: str) -> str | None:
    """Return how a dataset that is none of the benchmark's is opened again: an absolute path, or a plug-in's name."""
    if spec in manifest_names():
        return None
    path = Path(spec).expanduser()
    return spec if is_plugged(spec) and not path.is_file() else str(path.absolute())
