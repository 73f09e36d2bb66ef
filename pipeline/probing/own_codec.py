"""Probes that the codec of the run itself answers (option ``codec=own``): it is opened again, by its name and weights.

A codec that is not here, that gives bytes, or whose weights are others than the run's is *unavailable*: the run keeps
its other probes, and the reason is said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codec_superb.applications.catalogue import Choice, backend_entry, variant_of
from codec_superb.applications.errors import ApplicationError
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError
from codec_superb.base_codec.live import is_live
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.weights import describe_weights
from codec_superb.pipeline.probing.choice import BackendPlan, is_own, prepare_all
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.workers.progress import Progress
from codec_superb.plugins import is_file_name


@dataclass(frozen=True, slots=True)
class OwnCodecs:
    """Plans by the codec of a run."""

    keys: tuple[str, ...] = ()
    """Probes that were asked for."""
    plans: dict[str, tuple[BackendPlan, ...]] = field(default_factory=dict)
    """By the identity of the card; none of an unavailable codec."""
    weights: Path | None = None
    """Where those of the codecs are, in place of those that their cards name."""

    def of(self, info: RunInfo) -> tuple[BackendPlan, ...]:
        """Return the plans for a run."""
        return self.plans.get(_identity(info.card), ())


def prepare_own(
    choices: Sequence[Choice],
    infos: Iterable[RunInfo],
    weights: Path | None,
    progress: Progress,
    codecs: Sequence[str] = (),
) -> OwnCodecs:
    """Find the codec of each run, and say of those that are unavailable why.

    ``codecs`` are those that the runs were made with, as they were named: one of a file is found by that.
    Raises ApplicationError where something else was asked of none of the runs and all are unavailable.
    """
    mine = [choice for choice in choices if is_own(choice)]
    own = OwnCodecs(tuple(choice.probe for choice in mine), weights=weights)
    files = {registry.card(name).name: name for name in codecs if mine and is_file_name(name)}
    reasons: dict[str, str] = {}
    for card in {_identity(info.card): info.card for info in infos}.values() if mine else ():
        try:
            own.plans[_identity(card)] = _plans(card, mine, weights, files)
        except (ApplicationError, CodecError) as error:
            reasons[card.name] = str(error)
            progress.message(f"{card.name}: {', '.join(own.keys)}: unavailable: {error}")
    if mine and len(mine) == len(choices) and not own.plans:
        raise ApplicationError(f"{', '.join(own.keys)}: unavailable: {'; '.join(reasons.values())}")
    return own


def _plans(
    card: Card, choices: Sequence[Choice], weights: Path | None, files: Mapping[str, str]
) -> tuple[BackendPlan, ...]:
    name = files.get(card.name, card.name)
    unnamed = list(dict.fromkeys(choice.backend for choice in choices if not variant_of(choice.backend)))
    if unnamed and name not in registry.names() and name not in files.values() and not is_live(name):
        options = " ".join(f"--backend {spec}:path/to/file.py:NAME" for spec in unnamed)
        raise ApplicationError(f"{card.name} is no codec of the catalogue here: name its file with {options}")
    bound = [
        choice if variant_of(choice.backend) else replace(choice, backend=f"{choice.backend}:{name}")
        for choice in choices
    ]
    for name in {variant_of(choice.backend) for choice in bound}:
        _refuse_another(card, registry.configure(name, CodecOptions(None if weights is None else str(weights)))[0])
    return tuple(_shown(plan) for plan in prepare_all(bound, weights))


def _refuse_another(card: Card, own: Card) -> None:
    before, now = ((its.weights.sha256, its.weights.config_sha256) if its.weights else None for its in (card, own))
    if card.name != own.name:
        raise ApplicationError(f"the run is of {card.name}, not of {own.name}")
    if before != now:
        raise ApplicationError(
            f"the run was made with other weights of {card.name}: {describe_weights(card.weights)}, here "
            f"{describe_weights(own.weights)}; name those with --weights"
        )


def _shown(plan: BackendPlan) -> BackendPlan:
    """Let results name what was done: which codec it was done to is the run's, and no condition of the measurement."""
    name = backend_entry(plan.entry.name).name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return replace(plan, shown=replace(plan.model, name=name, sha256=digest, settings={}))


def _identity(card: Card) -> str:
    return f"{card.name} {card.weights.sha256 if card.weights else ''}"
