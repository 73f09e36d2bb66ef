"""The result of ``xares run`` as a record: what it writes with ``--json``, and what a board imports.

One record is one encoder whose frames decoders of several seeds were trained on, in one mode, on one track. A board
shows it beside its source.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from codec_superb.applications.xares.configuration import LARGEST_SEED, configurations, tracks
from codec_superb.metrics.results import Score
from codec_superb.record import WHOLE, Record

SCHEMA_VERSION: Literal[1] = 1
MATCHED, REFERENCES, SHUFFLED = "matched ", "references", "shuffled labels"
LONGEST = 300
"""Letters of the name that a board keeps it under."""
_OWN_DIGITS = 8

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
"""A name on one line: it goes into tables, charts and a database, which takes no NUL."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
SLOWEST, FASTEST = 1e-6, 1e9
Rate = Annotated[FiniteFloat, Field(ge=SLOWEST, le=FASTEST)]
"""What a logarithmic axis can show; nothing real is beyond."""


class EncoderRate(Record):
    """What an encoder hands to the language model, which costs nothing in a score."""

    frames_per_s: Rate | None = None
    numbers_per_s: Rate | None = None
    """Frames a second times numbers of a frame, as they come; a decoder may average frames."""
    bits_per_s: Rate | None = None
    """Nominal, of a codec as encoder; None for others, and for latents that are not quantised."""


class Heard(Record):
    """A codec whose sound was tried."""

    codec: Name
    """With its condition, where there is one."""
    title: Name
    family: Name
    kbps: Rate | None = None
    """Measured on the clips of the run; None where bits are not known."""


class Reading(Record):
    """One figure of one task on references, or on the sound of one codec."""

    task: Name
    """Key of the probe."""
    version: Name
    """Of the probe's definition: figures of two versions are never compared."""
    figure: Name
    dataset: Name
    heard: Heard | None = None
    """None for references."""
    decoding: Literal["greedy", "constrained"]
    """What the decoder writes, or the likeliest class."""
    by_seed: dict[Seed, FiniteFloat]
    """Value of each decoder, in the figure's unit; a decoder without any answer has none."""
    clips: Score
    """Value and 95 % interval by clips of the first decoder."""
    n: Annotated[int, Field(ge=0)]
    """Clips that take part."""
    failed: Annotated[int, Field(ge=0)]
    """Clips without an answer."""

    @property
    def codec(self) -> str:
        """Name of the codec; '' for references."""
        return "" if self.heard is None else self.heard.codec

    @property
    def mean(self) -> float:
        """Mean over decoders; NaN without any value."""
        return float(np.mean(list(self.by_seed.values()))) if self.by_seed else float("nan")

    @model_validator(mode="after")
    def _true_to_itself(self) -> Reading:
        value, low, high = self.clips.value, self.clips.low, self.clips.high
        if value is not None and value not in self.by_seed.values():
            raise ValueError(f"{self.where}: expected clips.value to be that of a seed, got {value:g}")
        if (low is not None and high is not None and low > high) or (value is None and self.n):
            raise ValueError(f"{self.where}: expected an interval and a value over {self.n} clips, got {self.clips!r}")
        return self

    @property
    def where(self) -> str:
        """Return what it is, for messages."""
        return f"{self.figure} on {self.dataset}, {self.codec or REFERENCES}, {self.decoding}"


class TrainedDecoder(Record):
    """One decoder; its key is the identity of all that decides about its weights."""

    seed: Seed
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class XaresResult(Record):
    """One encoder on one track."""

    schema_version: Annotated[Literal[1], WHOLE] = SCHEMA_VERSION
    encoder: Name
    encoder_sha256: Digest
    codec: Heard | None = None
    """The codec whose latents or tokens are the frames; None for any other encoder."""
    rate: EncoderRate
    track: Name
    track_sha256: Digest
    decoder: Name
    configuration_sha256: Digest
    language_model: Name
    language_model_sha256: Digest | Literal[""]
    """'' for weights that a seed decides."""
    mode: Annotated[str, Field(max_length=200, pattern=rf"^({REFERENCES}|{SHUFFLED}|{MATCHED}[^\x00-\x1f\x7f-\x9f]+)$")]
    """What decoders were trained on: references, the sound of a codec, or labels of other clips, a control."""
    random: bool
    """Whether encoder or language model has untrained weights that nothing trains: the figures say nothing."""
    decoders: Annotated[tuple[TrainedDecoder, ...], Field(min_length=1, max_length=100)]
    """The first is the one whose intervals are given."""
    figures: Annotated[tuple[Reading, ...], Field(min_length=1, max_length=10_000)]

    @model_validator(mode="after")
    def _whole(self) -> XaresResult:
        if len(self.name) > LONGEST:
            raise ValueError(f"expected names of at most {LONGEST} letters together, got {len(self.name)}")
        seeds = [each.seed for each in self.decoders]
        if len(set(seeds)) < len(seeds):
            raise ValueError("expected each seed once among the decoders")
        seen: set[tuple[str, ...]] = set()
        for of in self.figures:
            if (place := (of.figure, of.dataset, of.codec, of.decoding)) in seen:
                raise ValueError(f"{of.where}: expected each figure once, got it twice")
            seen.add(place)
            if others := sorted(of.by_seed.keys() - set(seeds)):
                raise ValueError(f"{of.where}: expected seeds of its decoders, got {others[0]}")
        return self

    @property
    def track_label(self) -> str:
        """Name of the track; one of the sender's own says so, whatever its name."""
        return _label(self.track, self.track_sha256, {name: of.sha256 for name, of in tracks().items()})

    @property
    def decoder_label(self) -> str:
        """Name of the decoder's configuration, likewise."""
        known = {name: of.sha256 for name, of in configurations().items()}
        return _label(self.decoder, self.configuration_sha256, known)

    @property
    def name(self) -> str:
        """What a board lists it under: another record of this name takes its place."""
        return f"{self.encoder}; track {self.track_label}; decoder {self.decoder_label}; {self.mode}"


def _label(name: str, sha256: str, known: dict[str, str]) -> str:
    return name if known.get(name) == sha256 else f"{name} (own, {sha256[:_OWN_DIGITS]})"
