"""Chains: a recogniser, and a second stage that encodes its transcripts or answers from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.catalogue import backend_entry, make_second_stage, stages, variant_of
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Backend, Model, SecondStage
from codec_superb.applications.text.nearest import Search, read_search
from codec_superb.pipeline.probing.predictions import PredictionSet, model_digest

ENCODERS = {"text", "joint"}
"""Roles of models whose vectors of texts are searched."""
_OPTION = re.compile(r"(?:^|,)(\w+)=[^,=/]*$")


class SecondPlan(NamedTuple):
    """The second stage of a chain."""

    entry: BackendEntry
    stage: SecondStage
    model: Model
    whole: Model
    """Of the chain, as results name it."""
    search: Search = Search()
    """How it finds rows of a collection; no part of the identity of its vectors."""


class PlannedSpec(NamedTuple):
    """A model as the user named it, divided."""

    first: str
    second: str
    """'' where one model was named."""
    search: Search


def planned(spec: str) -> PlannedSpec:
    """Divide a chain, and take the options of the search from the encoder of texts, whichever of the two it is.

    Raises ApplicationError, and MissingPackage with the install command.
    """
    first, second = stages(spec)
    encoder = second or first
    if not set(backend_entry(encoder).probes) & ENCODERS:
        return PlannedSpec(first, second, Search())
    variant = variant_of(encoder)
    rest, search = read_search(variant)
    _check_no_option(encoder.removesuffix(variant).removesuffix(":"), rest)
    named = encoder.removesuffix(variant) + rest
    return PlannedSpec(first, named, search) if second else PlannedSpec(named, "", search)


def _check_no_option(name: str, rest: str) -> None:
    """Raise ApplicationError for an option behind the name of an encoder of texts that is none of the search's."""
    stray = _OPTION.search(rest)
    if stray and not Path(rest).expanduser().exists():
        raise ApplicationError(f"{name} has no option {stray[1]!r}; there are: {', '.join(Search._fields)}")


def second_plan(
    spec: PlannedSpec, backend: Backend, entry: BackendEntry, model: Model, weights: Path | None
) -> SecondPlan | None:
    """Prepare the second stage behind a backend; one with a tower for texts is its own, others without have none."""
    if not spec.second:
        return SecondPlan(entry, backend, model, model, spec.search) if isinstance(backend, SecondStage) else None
    own = backend_entry(spec.second)
    stage = make_second_stage(own, variant_of(spec.second), weights)
    second = identified(portable(stage.prepare()), own)
    return SecondPlan(own, stage, second, chained(model, second), spec.search)


def chained(first: Model, second: Model) -> Model:
    """Return the identity of a chain: both names, a hash over both models, and the settings of both."""
    own = {f"second_{name}": value for name, value in second.settings.items()}
    digest = model_digest(first)
    return Model(
        f"{first.name}+{second.name}",
        hashlib.sha256(f"{digest} {model_digest(second)}".encode()).hexdigest(),
        {**first.settings, "first_sha256": digest, **own},
        random=first.random or second.random,
    )


def identified(model: Model, entry: BackendEntry) -> Model:
    """Let the code of a plug-in take part in the identity of its model: what an edited file answers is another's."""
    if not entry.origin:
        return model
    return replace(model, settings={**model.settings, "plugin": entry.sha256 or entry.origin})


def portable(model: Model) -> Model:
    """Return the model with its settings as a plain dictionary, so that it can be pickled for a worker."""
    return replace(model, settings=dict(model.settings))


def transcripts(side: PredictionSet) -> Mapping[str, str]:
    """Return what was heard on one side, by clip id; predictions that are no texts are left out."""
    return {clip: found for clip, found in side.predictions.items() if isinstance(found, str)}
