"""How a model is trained: steps, batches, the learning rate and the optimiser, as data; configurations from YAML."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import Field, FiniteFloat, ValidationError

from codec_superb import strict_yaml
from codec_superb.applications.errors import ApplicationError, UnknownApplication
from codec_superb.field_faults import sentences
from codec_superb.record import Record

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
R = TypeVar("R", bound=Record)


class Schedule(Record):
    """Part of the configuration of whatever is trained."""

    steps: Positive
    """Changes of the weights."""
    batch: Positive
    """Sounds, or sequences, a step."""
    accumulate: Positive = 1
    """Parts that a step's sounds are divided into, one after the other, where they do not fit into memory at once."""
    rate: Annotated[FiniteFloat, Field(gt=0)]
    """Learning rate at its highest."""
    warmup: Annotated[int, Field(ge=0)]
    """Steps in which the rate rises from 0; afterwards it falls in a line."""
    final_rate: Share = 0.0
    """Share of the highest rate to which it falls."""
    betas: tuple[Share, Share] = (0.9, 0.999)
    """Of AdamW."""
    epsilon: Annotated[FiniteFloat, Field(gt=0)] = 1e-8
    """Of AdamW."""
    weight_decay: Annotated[FiniteFloat, Field(ge=0)] = 0.01
    """Of AdamW."""
    largest_gradient: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    """Norm to which the gradient is cut."""
    threads: Annotated[int, Field(ge=0)] = 1
    """Of a CPU; 0 for all its cores. Other numbers divide sums otherwise, and the last bits of weights differ."""
    checkpoint_every: Positive = 200
    """Steps between two states on disk."""

    @property
    def sha256(self) -> str:
        """Hash of all that decides about trained weights."""
        return sha256_of_json(self.model_dump(mode="json", exclude={"checkpoint_every", "accumulate"}))

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, which begins at 0: up in a line, then down in a line."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        left = (self.steps - step) / max(1, self.steps - self.warmup)
        return self.rate * (self.final_rate + (1 - self.final_rate) * left)


def sha256_of_json(value: object) -> str:
    """Return the hash of a value as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def named(name: str, known: Mapping[str, R], kind: type[R], what: str) -> R:
    """Return a configuration by its name or its file ``.yaml``. Raises UnknownApplication, ApplicationError."""
    if not name.endswith((".yaml", ".yml")):
        if name not in known:
            raise UnknownApplication(name, known, what)
        return known[name]
    try:
        return kind.model_validate(strict_yaml.load(Path(name).expanduser().read_text(encoding="utf-8")))
    except ValidationError as error:
        raise ApplicationError(f"{name}: {sentences(error)}") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ApplicationError(f"{name}: expected a {what} in YAML: {' '.join(str(error).split())}") from error
