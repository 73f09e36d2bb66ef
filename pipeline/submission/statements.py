"""What a card does not state: said in one message, and completed from a file without touching the codec's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from codec_superb import strict_yaml
from codec_superb.base_codec.card import NOT_STATED, Card
from codec_superb.base_codec.catalogue_file import card_from
from codec_superb.base_codec.errors import CatalogueError
from codec_superb.pipeline.errors import SubmissionError

_EXAMPLES = {
    "version": ("which implementation was run", '"1.0"'),
    "kind": ("classical, neural or lossless", "neural"),
    "standard": ("the document that defines it, or none", "none"),
    "year": ("when that was first published", "2026"),
    "nominal_kbps": ("the bitrate that its authors state", "6"),
    "causal": ("whether it can run on a stream; where it can, latency_ms too", "false"),
    "delay_samples": ("the delay of encoder and decoder, at its own rate; a run finds it", "0"),
    "licence": ("of code and weights", '"code: MIT; weights: MIT"'),
    "paper": ("what is to be cited, or none yet", "none yet"),
    "homepage": ("where it is published", '"https://example.org/my-codec"'),
}
"""Field to what it says and an example of it, as YAML."""
_MAY_BE_STATED = frozenset(_EXAMPLES) - {"delay_samples"} | {
    "title", "family", "latency_ms", "frame_rate", "parameters", "training_data", "bitrate_note", "nominal_tolerance",
    "level_note",
}  # fmt: skip
"""Fields that describe a codec and change no row of its runs."""


def unstated(card: Card, *, imported: bool = False) -> list[str]:
    """Return the fields that a public board shows and a card does not state.

    ``imported``: of sound that was resynthesised elsewhere, from which no delay was removed here.
    """
    # a measured bitrate needs no nominal one
    needed = _EXAMPLES.keys() - ({"nominal_kbps"} if card.bit_source == "measured" else set())
    needed -= {"delay_samples"} if imported else set()
    return [name for name in card.missing_statements() if name in needed]


def what_is_missing(card: Card, *, imported: bool = False) -> str:
    """Return one message about all of these, with an example to copy; '' for nothing."""
    missing = unstated(card, imported=imported)
    if not missing:
        return ""
    said = "; ".join(f"{name} ({_EXAMPLES[name][0]})" for name in missing)
    example = "\n".join(f"  {name}: {_EXAMPLES[name][1]}" for name in missing)
    return (
        f"{card.name}: a public board shows what a codec is, and its card does not state {said}. State them in its "
        f"card, or write them into a file, such as card.yaml, and pack again with --card card.yaml:\n{example}"
    )


def completed(card: Card, file: Path | None) -> Card:
    """Return the card with the statements of a YAML file, which never change what was run.

    Raises SubmissionError with a sentence for each field that is wrong, unknown, or stated otherwise already.
    """
    if file is None:
        return card
    stated = _read(file)
    for name, value in stated.items():
        if name not in Card.model_fields:
            raise SubmissionError(f"{file}: {name} is no field of a card; it takes {', '.join(sorted(_MAY_BE_STATED))}")
        own = getattr(card, name)
        if own != value and not may_be_stated(card, name):
            raise SubmissionError(
                f"{file}: {name} is {NOT_STATED if own is None else own} on the card of the run, got {value}: a file "
                "completes a card and changes no row; leave it out, or correct the codec's card and make the run again"
            )
    try:
        return card_from(card.model_dump() | stated, str(file))
    except CatalogueError as error:
        raise SubmissionError(str(error)) from error


def may_be_stated(card: Card, name: str) -> bool:
    """Whether a file may state a field: it changes no row, and is empty, its default, or follows from the name."""
    if name not in _MAY_BE_STATED:
        return False
    own = getattr(card, name)
    follows = {"title": card.name, "family": card.name.replace(".", "_")}
    return own in (None, NOT_STATED, follows.get(name)) or own == Card.model_fields[name].default


def _read(file: Path) -> dict[str, Any]:
    try:
        stated = strict_yaml.load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SubmissionError(f"{file} cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(stated, dict) or not all(isinstance(name, str) for name in stated):
        raise SubmissionError(f"{file}: expected fields of a card, such as `licence: MIT`, a line each")
    return stated
