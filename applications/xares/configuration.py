"""Configurations of decoders (``decoders.yaml``) and tracks of tasks (``tracks/*.yaml``)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated

import yaml
from pydantic import Field

from codec_superb.applications.training.schedule import Positive, Schedule, Share, named, sha256_of_json
from codec_superb.record import Record


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

    decoder: str
    """Name, which results carry."""
    checkpoint: str = ""
    """Of a published language model: a repository or a folder; empty for one that starts from seeded random weights."""
    shape: dict[str, int] = Field(default_factory=dict)
    """Sizes of a model without a checkpoint, by the names of a Llama configuration of transformers."""
    low_rank: LowRank | None = None
    """None where all weights of the language model are trained."""
    pooling: Positive = 1
    """Frames that are averaged to one."""
    standardise: bool = False
    """Whether each number of a frame is scaled by its mean and deviation over the training sounds."""
    longest_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds of a training sound; of a longer one a part is taken, drawn once."""
    new_tokens: Positive = 150
    """Longest answer."""
    repetition_penalty: Annotated[float, Field(ge=1)] = 1.05
    """By which scores of tokens are divided that the answer has already."""


class TrackTask(Record):
    """A task of a track: the understanding task of its name says prompt, classes, measure and test datasets."""

    weight: Annotated[float, Field(gt=0)]
    """Share of the training sounds, over the sum of all tasks'."""
    train: tuple[str, ...] = ()
    """Datasets of the program to train on."""
    shards: tuple[str, ...] = ()
    """The publisher's training shards below a folder of data, ``{00..17}`` standing for numbers."""
    fields: tuple[str, ...] = ()
    """Names of the field of their JSON that holds the text, tried in order."""
    classes: int = 0
    """Number of classes that the publisher states; 0 where there are none."""


class Track(Record):
    """Tasks that one decoder learns together."""

    track: str
    """Name."""
    title: str
    """For people."""
    decoder: str
    """Usual configuration."""
    tasks: dict[str, TrackTask]
    """By the name of the understanding task that asks and tries."""
    also: tuple[str, ...] = ()
    """Understanding tasks that decoders are tried by and not trained on; each asks what one of ``tasks`` asks."""

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_of_json(self.model_dump(mode="json"))


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
