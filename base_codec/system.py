"""What a codec needs of the system: a shared library or a program that pip does not install.

Nothing is looked for while a catalogue is read. What was found is kept for the process; a program or library that is
installed meanwhile is found by the next one.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from codec_superb.base_codec.card import Card, SystemNeed
from codec_superb.base_codec.errors import MissingDependency

FOLDERS = (Path("/opt/homebrew/lib"), Path("/usr/local/lib"))
"""Where Homebrew puts libraries; the loader of another Python than Homebrew's does not look there."""


@functools.cache
def find(need: SystemNeed) -> str:
    """Return the library's name for the loader, or the program's path; '' where it is not installed."""
    if need.kind == "program":
        return shutil.which(need.name) or ""
    near = (folder / f"lib{need.name}{suffix}" for folder in FOLDERS for suffix in (".dylib", ".so"))
    return ctypes.util.find_library(need.name) or next((str(file) for file in near if file.exists()), "")


def missing(card: Card) -> str:
    """Return the sentence that says what ``card`` lacks and which packages bring it; '' where it lacks nothing."""
    return "".join(missing_of([card]))


def missing_of(cards: Iterable[Card]) -> list[str]:
    """Return such a sentence for each library or program that is not installed, with all of ``cards`` that need it."""
    lacking: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        if card.system is not None and not find(card.system):
            lacking.setdefault((card.system.kind, card.system.name), []).append(card)
    return [_sentence([card.name for card in its], its[0].system) for its in lacking.values() if its[0].system]


def _sentence(names: Sequence[str], need: SystemNeed) -> str:
    what = "program" if need.kind == "program" else "library"
    packages = "; ".join(f"{system}: {package}" for system, package in need.packages.items())
    verb = "needs" if len(names) == 1 else "need"
    return f"{', '.join(names)} {verb} the {what} {need.name}, which is not installed; its packages are {packages}"


def found(card: Card) -> str:
    """Return the name or path of what ``card`` needs of the system. Raises MissingDependency where it is missing."""
    sentence = missing(card)
    if card.system is None or sentence:
        raise MissingDependency(sentence or f"{card.name}: expected a card that names what it needs of the system")
    return find(card.system)


def library(card: Card) -> ctypes.CDLL:
    """Load the shared library that ``card`` names. Raises MissingDependency with the packages that bring it."""
    name = found(card)
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise MissingDependency(f"{card.name}: {name} cannot be loaded ({error}): install its package again") from error
