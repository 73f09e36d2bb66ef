"""Resolve codecs, applications and conditions of the command line: names, shell patterns, files, comma lists."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from codec_superb.base_codec.errors import MissingDependency, UnknownCodec
from codec_superb.cli.console import note
from codec_superb.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from codec_superb.pipeline.conditions.record import Condition


def codec_names(given: Sequence[str]) -> list[str]:
    """Resolve patterns such as ``opus_*`` against the registry; other names are returned unchanged, once each.

    Of a pattern's codecs those are left out that lack a library of the system. Raises UnknownCodec when a pattern
    matches nothing, MissingDependency where nothing is left.
    """
    from codec_superb.base_codec import registry

    chosen: dict[str, None] = {}
    for name in given:
        if any(sign in name for sign in "*?[") and ".py:" not in name:
            matches = [known for known in registry.names() if fnmatchcase(known, name)]
            if not matches:
                raise UnknownCodec(f"no codec matches {name!r}; `codec-superb codecs list` shows all names")
            chosen.update(dict.fromkeys(usable(matches)))
        else:
            chosen[name] = None
    if given and not chosen:
        raise MissingDependency(f"{', '.join(given)}: none of these codecs can run here; install what they need")
    return list(chosen)


def usable(names: Sequence[str]) -> list[str]:
    """Leave out codecs whose library or program of the system is not installed, with one line for each of these."""
    from codec_superb.base_codec import registry, system

    cards = [registry.card(name) for name in names]
    for sentence in system.missing_of(cards):
        note(f"left out: {sentence}")
    return [name for name, card in zip(names, cards, strict=True) if not system.missing(card)]


def conditions_of(given: Sequence[str] | None, reference: Literal["clean", "input"]) -> list[Condition]:
    """Read the names of conditions, each once. Raises PipelineError for an unknown one, or a reference without any."""
    from codec_superb.pipeline.conditions.record import parse_condition

    if not given and reference != "clean":
        raise PipelineError("--reference input needs a --condition: a clean run's input is the original")
    return list(dict.fromkeys(parse_condition(name, reference) for name in given or ()))


def application_names(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names (``asr,asv``); each name is returned once, in order."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names)))
