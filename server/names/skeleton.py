"""Folds letters that look alike (Unicode TR39, section 4), so that two names that look the same are found to be equal.

The prototypes are those of ``confusables.txt`` as the package confusable-homoglyphs carries them. More is folded than
by TR39: compatibility forms are decomposed (NFKD, since the file lists some full-width letters alone), case is folded,
``i`` joins ``l`` and ``1``, whose capital looks like them, and letters and digits alone count, with the accents
above a letter. Two signs are read as words, since they tell codecs apart: the plus of AMR-WB+, and any sign between two
digits, as in 1.5 kbps.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

RESERVED = (
    "verified", "self-reported", "official", "maintainer", "moderator", "leaderboard", "Codec-SUPERB",
    "certified", "confirmed", "approved", "endorsed",
)  # fmt: skip
"""Words of badges and of the board: codecs and models are called without them, letters that look alike included."""
FIRSTS = ("winner", "winners", "champion", "champions", "ranked")
"""Words of who is first: whole ones, since they are within others (``low-rank editing``), and not of people, who may be
called so or after something (Frank Edwards, Champion, Laboratory No. 1)."""
_FIRST = re.compile(
    # up to the next sign of a number: what all signs look through takes the square of their number
    r"(?:\b(?:rank|place|number|no)(?![^\W\d])|[#№♯])[^\w#№♯]*0*1(?!\w|[.,]\d)|\bfirst[ -]place\b"
    r"|\b1st(?=\W*$|\W+(?:place|in|of|on|by)\b)"
    r"|\b(?:rank|place|number)[ _-]?(?:one|(?-i:I))(?!\w|[.,]\d)"
    r"|\btop[ _-]?(?:1|one)(?=\W*$|\W+(?:place|codec|overall|in|on|by)\b)",
    re.IGNORECASE,
)
"""Who is first is the board's to say too; ``rank 16``, ``no 1.5``, ``1st-order``, ``top-1 of 8`` say something else."""
_TERMS = re.compile(
    r"(?<![^\W_])unofficial(?![^\W_])|\bwinners?[ -]takes?[ -]all\b|\b(?:band|energy)-ranked\b"
    r"|\bLoRA[ -]rank[ -](?:1|one)\b|\brank[ -](?:1|one)(?=[ -](?:lattice|matrix|tensor|update)\b)",
    re.IGNORECASE,
)
"""Terms with the letters of such words, which claim nothing."""
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+|\d+")
LIMIT = 800
"""Characters of the database's columns; a longer skeleton, of 80 ligatures of whole words, is kept as its SHA-256."""
_MARK = "\u200e"
"""Left-to-right mark, with which the file sets letters of scripts that run to the left apart."""
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u3099\u309a")
"""Marks above a letter that make another one, as in ü and й, and those of kana; others are easily overlooked."""
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:[^\w+]|_)+(?=\d)")


@lru_cache(4096)
def skeleton(text: str) -> str:
    """Return what all texts have in common that look like ``text``; never empty for a text with visible signs."""
    found = _folded(text)
    return found if len(found) <= LIMIT else sha256(found.encode()).hexdigest()


def _folded(text: str) -> str:
    spoken = "".join(_decomposed(text).split())
    spoken = _BETWEEN_DIGITS.sub("dot", spoken).replace("+", "plus")
    folded = "".join(sign for sign in spoken if unicodedata.category(sign)[0] != "P")  # a dash looks like a letter
    for _ in range(2):  # the second time for what a capital's lower case is a look-alike of
        folded = _decomposed("".join(_prototypes().get(letter, letter) for letter in folded).casefold())
    found = "".join(sign for sign in folded if unicodedata.category(sign)[0] in "LMN").replace("i", "l")
    return found or "".join(text.split())


def reserved_word(text: str, *, person: bool = False) -> str:
    """Return the first of :data:`RESERVED` that a text says, or seems to, or a first place; '' for none.

    Of the name of a ``person`` or of people :data:`RESERVED` alone.
    """
    text = _TERMS.sub(" ", text)
    folded = _folded(text)
    said = next((word for word in RESERVED if skeleton(word) in folded), "")
    if said or person:
        return said
    first = _FIRST.search(text) or _FIRST.search(unicodedata.normalize("NFKC", text))  # which makes No of №
    if first:
        return first[0]
    return next((word for word in FIRSTS if skeleton(word) in folded and _says(text, skeleton(word))), "")


def _says(text: str, word: str) -> bool:
    """Whether neighbouring words of a text make up ``word``, a skeleton: ``Win ner`` does, ``Swinnerton`` does not."""
    parts = [skeleton(part) for part in _WORD.findall(text)]
    for first in range(len(parts)):
        joined = ""
        for part in parts[first : first + len(word)]:
            joined += part
            if not word.startswith(joined):
                break
            if joined == word:
                return True
    return False


def _decomposed(text: str) -> str:
    signs = unicodedata.normalize("NFKD", text)
    return "".join(each for each in signs if each in _ACCENTS or not unicodedata.name(each, "").startswith("COMBINING"))


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
