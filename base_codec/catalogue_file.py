"""Read catalogue files: the codecs of a family as data, one YAML file a family.

Form::

    family: opus
    target: codec_superb.base_codec.families.libav:LibavCodec   # module:Class, imported on use
    card:                          # fields of Card that all codecs of the family share
      year: 2012
      frame_samples: 960           # gives frame_rate; with codebooks and their size(s), nominal_kbps as well;
                                   # latency_ms (frame plus delay) where a causal codec does not state it
      causal: true                 # with false, latency_ms must be stated, since no field gives the look-ahead;
                                   # null where the codec needs the whole clip
      settings: {encoder: libopus}
    codecs:                        # by name; a field here wins over the family's, settings are merged
      opus_12k: {nominal_kbps: 12, delay_samples: 310, settings: {bit_rate: 12000}}

Texts may hold ``{kbps}`` (nominal bitrate), ``{khz}``, ``{codebooks}``, any name under ``values``, and
``{version:PACKAGE}`` (the version of an installed package).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from math import log2
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codec_superb import strict_yaml
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CatalogueError
from codec_superb.field_faults import sentences

EXAMPLE = 'card = Card(name="mine", sampling_rate=24000)'
"""The least that a class states, as errors show it."""
_PLACE = re.compile(r"\{(version:)?([A-Za-z0-9_.-]+)\}")


class CatalogueFile(BaseModel):
    """The form of a catalogue file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    family: str
    target: str = Field(pattern=r"^[\w.]+:\w+$")
    card: dict[str, Any] = Field(default_factory=dict)
    codecs: dict[str, dict[str, Any]] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A codec of the catalogue: its card, its class as ``module:Class``, and the file that declares it."""

    card: Card
    target: str
    origin: str
    distribution: str = ""
    """Name and version of the distribution that it comes from; '' for this one."""


def card_from(fields: object, label: str) -> Card:
    """Return the card with these fields. Raises CatalogueError with a sentence for each that is wrong."""
    if not isinstance(fields, dict):
        raise CatalogueError(f"{label}: expected a card, such as {EXAMPLE}, got {type(fields).__name__}")
    try:
        return Card.model_validate(fields)
    except ValidationError as error:
        raise CatalogueError(f"{label}: the card is not valid: {sentences(error)}") from error


def read_catalogue(text: str, origin: str, distribution: str = "") -> list[CatalogueEntry]:
    """Validate one catalogue file. ``origin`` names it in errors.

    Raises :class:`CatalogueError` naming the file, the codec and the field.
    """
    try:
        file = CatalogueFile.model_validate(strict_yaml.load(text))
    except yaml.YAMLError as error:
        raise CatalogueError(f"{origin} is not YAML: {error}") from error
    except ValidationError as error:
        raise CatalogueError(f"{origin} is not a catalogue file: {sentences(error)}") from error
    return [
        CatalogueEntry(_card(file, name, own, origin), file.target, origin, distribution)
        for name, own in file.codecs.items()
    ]


def own_entries() -> Iterator[CatalogueEntry]:
    """Read the catalogue of this package, by file."""
    for file in sorted((Path(__file__).parent / "catalogue").glob("*.yaml")):
        yield from read_catalogue(file.read_text(encoding="utf-8"), file.name)


def merge(entries: Iterable[CatalogueEntry]) -> dict[str, CatalogueEntry]:
    """Collect entries by name. Raises :class:`CatalogueError` showing both targets when a name is taken twice."""
    by_name: dict[str, CatalogueEntry] = {}
    for entry in entries:
        taken = by_name.setdefault(entry.card.name, entry)
        if taken is not entry:
            raise CatalogueError(
                f"two codecs are named {entry.card.name}: {taken.target} in {taken.origin} "
                f"and {entry.target} in {entry.origin}; rename one"
            )
    return by_name


def _card(file: CatalogueFile, name: str, own: Mapping[str, Any], origin: str) -> Card:
    fields = {**file.card, **own, "name": name, "family": file.family}
    # settings are merged one level deep: a codec states only what differs from its family
    fields["settings"] = {**file.card.get("settings", {}), **own.get("settings", {})}
    try:
        _derive(fields)
        values = {"kbps": f"{fields.get('nominal_kbps') or 0:g}", "khz": f"{fields['sampling_rate'] / 1000:g}"}
        values["codebooks"] = str(fields.get("codebooks"))
        values |= {key: str(value) for key, value in fields.pop("values", {}).items()}
        return Card.model_validate({key: _fill(value, values) for key, value in fields.items()})
    except (ValueError, KeyError, TypeError) as error:
        said = sentences(error) if isinstance(error, ValidationError) else str(error)
        raise CatalogueError(f"{origin}: the card of {name} is not valid: {said}") from error


def _derive(fields: dict[str, Any]) -> None:
    """Compute the frame rate from the frame's length, the latency of a causal codec, and the bitrate of tokens.

    Raises ValueError for a codec that is not causal and states no latency.
    """
    frame = fields.pop("frame_samples", None)
    if fields.get("causal") is False and "latency_ms" not in fields:
        raise ValueError(
            "expected latency_ms of a codec that is not causal, got none; state frame plus look-ahead of encoder and "
            "decoder in milliseconds, or null where the codec needs the whole clip"
        )
    if frame is not None:
        rate = fields["sampling_rate"]
        fields.setdefault("frame_rate", rate / frame)
        if fields.get("causal") is True:
            # a causal codec waits for a frame and no longer (decision 13)
            fields.setdefault("latency_ms", round(1000 * (frame + fields["delay_samples"]) / rate, 3))
    if fields.get("codebooks") and "nominal_kbps" not in fields:
        sizes = fields.get("codebook_sizes") or [fields["codebook_size"]] * fields["codebooks"]
        bits = sum(map(log2, sizes))
        fields["nominal_kbps"] = fields["frame_rate"] * bits / 1000


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    """Put ``values`` and package versions into the texts of a card."""
    if not isinstance(value, str):
        return value
    return _PLACE.sub(lambda match: _version(match[2]) if match[1] else values[match[2]], value)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"
