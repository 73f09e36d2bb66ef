"""Chains: a recogniser, and a second stage that encodes its transcripts or answers from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.catalogue import backend_entry, make_second_stage, variant_of
from codec_superb.applications.interface import Backend, Model, SecondStage
from codec_superb.pipeline.probing.predictions import PredictionSet, model_digest


class SecondPlan(NamedTuple):
    """The second stage of a chain."""

    entry: BackendEntry
    stage: SecondStage
    model: Model
    whole: Model
    """Of the chain, as results name it."""


def second_plan(
    spec: str, backend: Backend, entry: BackendEntry, model: Model, weights: Path | None
) -> SecondPlan | None:
    """Prepare the second stage behind a backend; one with a tower for texts is its own, others without have none."""
    if not spec:
        return SecondPlan(entry, backend, model, model) if isinstance(backend, SecondStage) else None
    own = backend_entry(spec)
    stage = make_second_stage(own, variant_of(spec), weights)
    second = identified(portable(stage.prepare()), own)
    return SecondPlan(own, stage, second, chained(model, second))


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
