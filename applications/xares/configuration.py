"""Configurations of decoders (``decoders.yaml``) and tracks of tasks (``tracks/*.yaml``)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import Field, FiniteFloat, model_validator

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.training.schedule import Positive, Schedule, Share, named, sha256_of_json
from codec_superb.record import Record

LARGEST_SEED = 2**53
"""As far as a number of JSON is exact everywhere."""
ShortName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
"""On one line: results carry it into tables, charts and a database, which takes no NUL."""
Size = Literal[
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"
]
SIZES: tuple[Size, ...] = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
"""Those that must be stated: the library's own ones are of a model of seven billion weights."""


class LowRank(Record):
    """Low-rank weights beside every linear layer but the output's (LoRA)."""

    rank: Positive
    """Columns of the two factors."""
    alpha: Positive
    """The product is scaled by alpha / rank."""
    dropout: Share = 0.0
    """Of the input of the factors, in training."""


class DecoderConfiguration(Schedule):
    """A language model, how it is joined to frames, and how it is trained."""

    decoder: ShortName
    """Name, which results carry."""
    checkpoint: str = ""
    """Of a published language model: a repository or a folder; empty for one that starts from seeded random weights."""
    shape: dict[Size, Positive] = Field(default_factory=dict)
    """Sizes of a model without a checkpoint, by the names of a Llama configuration of transformers."""
    low_rank: LowRank | None = None
    """None where all weights of the language model are trained."""
    pooling: Positive = 1
    """Frames that are averaged to one."""
    standardise: bool = False
    """Whether each number of a frame is scaled by its mean and deviation over the training sounds."""
    longest_s: Annotated[FiniteFloat, Field(gt=0)] = 30.0
    """Seconds of a training sound; of a longer one a part is taken, drawn once."""
    new_tokens: Positive = 150
    """Longest answer."""
    repetition_penalty: Annotated[FiniteFloat, Field(ge=1)] = 1.05
    """By which scores of tokens are divided that the answer has already."""

    @model_validator(mode="after")
    def _one_language_model(self) -> DecoderConfiguration:
        if bool(self.checkpoint) == bool(self.shape):
            raise ValueError(
                f"decoder {self.decoder}: expected checkpoint or shape, got {'both' if self.shape else 'none'}"
            )
        if missing := [name for name in SIZES if self.shape and name not in self.shape]:
            raise ValueError(f"shape: expected {', '.join(SIZES)}, got none of the name {missing[0]}; state it")
        if (
            self.shape
            and "head_dim" not in self.shape
            and self.shape["hidden_size"] % (2 * self.shape["num_attention_heads"])
        ):
            raise ValueError(
                f"shape: expected hidden_size to be an even multiple of num_attention_heads, got {self.shape}"
            )
        return self


class TrackTask(Record):
    """A task of a track: the understanding task of its name says prompt, classes, measure and test datasets."""

    weight: Annotated[FiniteFloat, Field(gt=0)]
    """Share of the training sounds, over the sum of all tasks'."""
    train: tuple[str, ...] = ()
    """Datasets of the program to train on."""
    shards: tuple[str, ...] = ()
    """The publisher's training shards below a folder of data, ``{00..17}`` standing for numbers."""
    fields: tuple[str, ...] = ()
    """Names of the field of their JSON that holds the text, tried in order."""
    classes: Annotated[int, Field(ge=0)] = 0
    """Number of classes that the publisher states; 0 where there are none."""


class Track(Record):
    """Tasks that one decoder learns together."""

    track: ShortName
    """Name."""
    title: str
    """For people."""
    decoder: str
    """Usual configuration."""
    tasks: Annotated[dict[str, TrackTask], Field(min_length=1)]
    """By the name of the understanding task that asks and tries."""
    also: tuple[str, ...] = ()
    """Understanding tasks that decoders are tried by and not trained on; each asks what one of ``tasks`` asks."""

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_of_json(self.model_dump(mode="json"))


def check_seed(seed: int) -> None:
    """Raise ApplicationError for a seed that a record cannot carry."""
    if not 0 <= seed <= LARGEST_SEED:
        raise ApplicationError(f"seed: expected a whole number from 0 to {LARGEST_SEED}, got {seed}")


@cache
def configurations() -> dict[str, DecoderConfiguration]:
    """Return the configurations of decoders by name."""
    text = (resources.files(__package__) / "decoders.yaml").read_text(encoding="utf-8")
    found = [DecoderConfiguration.model_validate(each) for each in yaml.safe_load_all(text)]
    return {each.decoder: each for each in found}


@cache
def tracks() -> dict[str, Track]:
    """Return the tracks by name."""
    files = sorted((resources.files(__package__) / "tracks").iterdir(), key=lambda of: of.name)
    found = [
        Track.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        for file in files
        if file.name.endswith(".yaml")
    ]
    return {each.track: each for each in found}


def track_named(name: str) -> Track:
    """Return a track by its name or its file ``.yaml``. Raises UnknownApplication, ApplicationError for a file."""
    return named(name, tracks(), Track, "track")


def configuration_named(name: str) -> DecoderConfiguration:
    """Return a configuration of a decoder by its name or its file ``.yaml``; errors as :func:`track_named`."""
    return named(name, configurations(), DecoderConfiguration, "decoder")
