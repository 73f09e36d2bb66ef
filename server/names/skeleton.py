"""Folds letters that look alike (Unicode TR39, section 4), so that two names that look the same are found to be equal.

The prototypes are those of ``confusables.txt`` as the package confusable-homoglyphs carries them. Three things fold
more than TR39 does: compatibility forms are decomposed (NFKD, since the file lists some full-width letters alone), case
is folded, and ``i`` joins ``l`` and ``1``, whose capital looks like them.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

LIMIT = 800
"""Characters of the database's columns; a longer skeleton, of 80 ligatures of whole words, is kept as its SHA-256."""
_MARK = "\u200e"
"""Left-to-right mark, with which the file sets letters of scripts that run to the left apart."""


@lru_cache(4096)
def skeleton(text: str) -> str:
    """Return what all texts have in common that look like ``text``; never empty for a text with visible letters."""
    folded = _decomposed(text)
    for _ in range(2):  # the second time for what a capital's lower case is a look-alike of
        folded = _decomposed("".join(_prototypes().get(letter, letter) for letter in folded).casefold())
    found = "".join(folded.split()).replace("i", "l")
    return found if len(found) <= LIMIT else sha256(found.encode()).hexdigest()


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", text)


@cache
def _prototypes() -> dict[str, str]:
    """Return the prototype of each letter that has another one.

    The package's table has each pair twice, from either side. A prototype is paired with many letters, and each other
    letter with its prototype alone; of two that are paired with each other alone the one of several characters is the
    prototype, or the first in Unicode.
    """
    text = files("confusable_homoglyphs").joinpath("confusables.json").read_text("utf-8")
    pairs = {name.strip(_MARK): [pair["c"].strip(_MARK) for pair in found] for name, found in json.loads(text).items()}
    found = {}
    for letter, others in pairs.items():
        if len(letter) != 1 or len(others) != 1:
            continue
        (other,) = others
        if len(pairs[other]) > 1 or len(other) > 1 or other < letter:
            found[letter] = other
    return found
