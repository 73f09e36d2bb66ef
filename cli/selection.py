"""Resolve codecs, applications and conditions of the command line: names, kinds, patterns, files, comma lists."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, get_args

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.card import Kind
from codec_superb.base_codec.errors import MissingDependency, UnknownCodec
from codec_superb.cli.console import note
from codec_superb.pipeline.conditions.record import Condition, parse_condition
from codec_superb.pipeline.errors import PipelineError

KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of codecs, which stand for all codecs of the kind."""


def codec_names(given: Sequence[str]) -> list[str]:
    """Resolve patterns such as ``opus_*``, and kinds, against the registry; other names stay as they are, once each.

    Of a pattern's or kind's codecs those are left out that lack a library of the system. Raises UnknownCodec when a
    pattern matches nothing, MissingDependency where nothing is left.
    """
    chosen: dict[str, None] = {}
    for name in given:
        is_pattern = any(sign in name for sign in "*?[") and ".py:" not in name
        if is_pattern or name in KINDS:
            matches = [known for known in registry.names() if _fits(known, name)]
            if not matches:
                raise UnknownCodec(f"no codec matches {name!r}; `codec-superb codecs list` shows all names")
            chosen.update(dict.fromkeys(usable(matches)))
        else:
            chosen[name] = None
    if given and not chosen:
        raise MissingDependency(f"{', '.join(given)}: none of these codecs can run here; install what they need")
    return list(chosen)


def _fits(codec: str, wanted: str) -> bool:
    return registry.card(codec).kind == wanted if wanted in KINDS else fnmatchcase(codec, wanted)


def usable(names: Sequence[str]) -> list[str]:
    """Leave out codecs whose library or program of the system is not installed, with one line for each of these."""
    kept, told = [], dict[str, list[str]]()
    for name in names:
        card = registry.card(name)
        if sentence := system.missing(card):
            told.setdefault(sentence.removeprefix(f"{name} "), []).append(name)
        else:
            kept.append(name)
    for sentence, lacking in told.items():
        note(f"left out: {', '.join(lacking)} {sentence}")
    return kept


def conditions_of(given: Sequence[str] | None, reference: Literal["clean", "input"]) -> list[Condition]:
    """Read the names of conditions, each once. Raises PipelineError for an unknown one, or a reference without any."""
    if not given and reference != "clean":
        raise PipelineError("--reference input needs a --condition: a clean run's input is the original")
    return list(dict.fromkeys(parse_condition(name, reference) for name in given or ()))


def application_names(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names (``asr,asv``); each name is returned once, in order."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names)))
