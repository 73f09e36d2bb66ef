"""Resolve codecs, datasets, applications and conditions of the command line: names, shell patterns, files, lists."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.errors import MissingDependency, UnknownCodec
from codec_superb.cli.console import note
from codec_superb.pipeline.conditions.record import Condition, parse_condition
from codec_superb.pipeline.errors import PipelineError


def codec_names(given: Sequence[str]) -> list[str]:
    """Resolve patterns such as ``opus_*`` against the registry; other names are returned unchanged, once each.

    Of a pattern's codecs those are left out that lack a library of the system. Raises UnknownCodec when a pattern
    matches nothing, MissingDependency where nothing is left.
    """
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


def dataset_specs(given: Sequence[str]) -> list[str]:
    """Return datasets as given, but all audio files among them, and those that ``-`` lists, as one.

    Raises DatasetError.
    """
    from codec_superb.data_manifests.folders.files_dataset import gather_files

    return gather_files(given, sys.stdin.buffer)


def dataset_spec(given: str) -> str:
    """Return one dataset as given, ``-`` as the list of files on standard input. Raises DatasetError."""
    return dataset_specs([given])[0]


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
