"""The card of a codec that ran elsewhere: what the user states, and what follows from the files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from codec_superb import strict_yaml
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.catalogue_file import card_from
from codec_superb.base_codec.errors import CatalogueError
from codec_superb.base_codec.registry import taken_name
from codec_superb.pipeline.errors import PipelineError

_NAME = re.compile(r"[a-z0-9][a-z0-9_.]*")


class Stated(NamedTuple):
    """What a call states of the codec."""

    name: str | None = None
    file: Path | None = None
    """A YAML file with fields of the card."""
    kbps: float | None = None
    """A bitrate that somebody declares."""
    codebook_sizes: tuple[int, ...] = ()
    """Entries of each codebook, or one number for all of them."""


def read_fields(file: Path | None) -> dict[str, Any]:
    """Return the fields of a card in a YAML file. Raises PipelineError for what is no such file."""
    if file is None:
        return {}
    try:
        fields = strict_yaml.load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PipelineError(f"the card {file} is no YAML: {' '.join(str(error).split())[:200]}") from error
    except OSError as error:
        raise PipelineError(f"cannot read the card {file}: {error.strerror or error}") from error
    got = "an empty file" if fields is None else type(fields).__name__
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        raise PipelineError(f"the card {file}: expected lines such as `licence: MIT`, got {got}")
    return fields


def imported_card(stated: Stated, rate: int, *, codebooks: int | None, measured: bool) -> Card:
    """Return the card of a codec whose files have ``rate`` Hz at most.

    ``codebooks`` is the number of rows of its tokens, None where there are none; ``measured`` says whether each clip's
    bits are known. Raises PipelineError for a card that is not valid, and for a name of the catalogue.
    """
    fields = read_fields(stated.file)
    name = stated.name or fields.get("name")
    if not name:
        raise PipelineError("expected a name for the codec: give --name, such as --name my_codec")
    if fields.get("name", name) != name:
        raise PipelineError(f"--name is {name}, but the card {stated.file} is named {fields['name']}: keep one")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise PipelineError(
            f"expected a name of lower-case letters, digits, _ and dots, such as my_codec, got {str(name)[:80]!r}"
        )
    if told := taken_name(name, "what was made elsewhere", "imported"):
        raise PipelineError(told)
    fields |= {"name": name, "sampling_rate": fields.get("sampling_rate", rate)}
    fields |= _codebooks(stated.codebook_sizes, fields, codebooks)
    fields |= _bit_source(stated, fields, measured=measured)
    try:
        card = card_from(fields, f"--name {name}" if stated.file is None else str(stated.file))
    except CatalogueError as error:
        raise PipelineError(str(error)) from error
    if codebooks is not None and not card.frame_bits:
        raise PipelineError("expected codebooks of 2 entries or more, got 1 in each: such tokens have no bits")
    return card


def _bit_source(stated: Stated, fields: dict[str, Any], *, measured: bool) -> dict[str, Any]:
    if measured:
        return {"bit_source": "measured"}
    if stated.kbps is not None:
        if not (isfinite(stated.kbps) and stated.kbps > 0):
            raise PipelineError(f"expected --kbps above 0, got {stated.kbps:g}")
        if fields.get("nominal_kbps", stated.kbps) != stated.kbps:
            raise PipelineError(f"--kbps is {stated.kbps:g}, but the card states {fields['nominal_kbps']}: keep one")
        return {"nominal_kbps": stated.kbps, "bit_source": "declared"}
    return {"bit_source": "declared" if fields.get("nominal_kbps") else "unknown"}


def _codebooks(sizes: Sequence[int], fields: dict[str, Any], codebooks: int | None) -> dict[str, Any]:
    """Return the fields about codebooks; those that the card states must not contradict the call."""
    own = {"codebooks", "codebook_size", "codebook_sizes"} & fields.keys()
    if not sizes:
        if codebooks is not None and not {"codebook_size", "codebook_sizes"} & own:
            raise PipelineError(
                "expected the entries of the codebooks, without which tokens have no bits: give --codebook-size, such "
                "as --codebook-size 1024, or codebooks and codebook_size in --card"
            )
        return {"codebooks": codebooks} if codebooks is not None and "codebooks" not in own else {}
    if own:
        raise PipelineError("give the codebooks by --codebook-size or in --card, not both")
    if codebooks is None:
        raise PipelineError("--codebook-size is for tokens: lay them beside the files, or give --tokens DIR")
    if min(sizes) < 2:  # noqa: PLR2004 - one entry says nothing
        raise PipelineError(f"expected codebooks of 2 entries or more, got {min(sizes)}")
    if len(set(sizes)) == 1:
        return {"codebooks": codebooks if len(sizes) == 1 else len(sizes), "codebook_size": sizes[0]}
    return {"codebooks": len(sizes), "codebook_sizes": tuple(sizes)}
