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
from collections.abc import Callable
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
AGAIN = ("run again",)
"""What the board says of verified results, and of others that they were not: two whole words, since ``run against``,
``core run`` and ``run a gain`` have their letters; nobody is called so."""
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
_SOFT_DOTTED = re.compile("([ijıȷɉɨʝϳіјᶖᶤᶨ])\u0307+")
"""Letters that are drawn without their dot under another one, so that i and U+0307 look like i (Unicode, section 7.1),
and those without one."""
_SMALL_CAPITAL = re.compile("LATIN LETTER SMALL CAPITAL ([A-Z])")
_SMALL_CAPITALS = {"ʍ": "m", "ĸ": "k"}
"""What the file has for the small capitals ᴍ and ᴋ, and for Cyrillic м and к."""
_LATIN = re.compile(r"(?:LATIN|MODIFIER) (?:[A-Z]+ )*?LETTER (?:[A-Z]+ )*?([A-Z])(?: WITH .+)?")
"""Names of letters that a Latin one is the base of: LATIN SMALL LETTER TURNED E, LATIN SMALL LETTER D WITH STROKE."""
_READ = {"ꞓ": "e", "э": "e", "я": "r", "ʌ": "a", "д": "d", "π": "n", "ш": "w", "ω": "w"}
"""Letters of other scripts that are read as Latin ones in a Latin word; ꞓ is what the file has for ε and є."""
_READ_TOO = str.maketrans({"υ": "v", "∇": "v", "ꞅ": "r", "¡": "i"})
"""What is read as one letter in a word and as another, or as a mere sign, in the next: both are looked for."""
_OTHER = "\u4e00"
"""Stands for letters that no word of the board has: a letter as they are."""
_UNSEEN = frozenset({"Cf", "Cn", "Co", "Cs"})
"""Categories of letters without a shape of their own: format, not assigned, private, surrogate."""
_NOT_SPELT = re.compile(r"[^0-9a-z]+")
_LONGEST_SIGN = 6
"""Letters of a sign that is read as letters (№, ㎯); U+FDFA has 18."""
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:[^\w+]|_)+(?=\d)")


@lru_cache(4096)
def skeleton(text: str) -> str:
    """Return what all texts have in common that look like ``text``; never empty for a text with visible signs."""
    found = _folded(text)
    return found if len(found) <= LIMIT else sha256(found.encode()).hexdigest()


def _folded(text: str) -> str:
    return _letters(text) or "".join(text.split())


def _letters(text: str) -> str:
    spoken = "".join(_decomposed(text).split())
    spoken = _BETWEEN_DIGITS.sub("dot", spoken).replace("+", "plus")
    folded = "".join(sign for sign in spoken if unicodedata.category(sign)[0] != "P")  # a dash looks like a letter
    for _ in range(2):  # the second time for what a capital's lower case is a look-alike of
        folded = _decomposed("".join(_prototypes().get(letter, letter) for letter in folded).casefold())
        folded = _SOFT_DOTTED.sub(r"\1", folded)
    return "".join(sign for sign in folded if unicodedata.category(sign)[0] in "LMN").replace("i", "l")


def reserved_word(text: str, *, person: bool = False) -> str:
    """Return the first word of the board that a text says, or seems to, or a first place; '' for none.

    Of the name of a ``person`` or of people :data:`RESERVED` and :data:`AGAIN` alone. Each letter is looked at once,
    and folded once for all texts: a file may have a megabyte of settings, read while others wait to be stored.
    """
    text = _TERMS.sub(" ", text)
    folded = text.translate(_SPELT)
    read = {folded, folded if text.isascii() else text.translate(_READ_TOO).translate(_SPELT)}
    said = next((word for word in RESERVED if any(word.translate(_SPELT) in each for each in read)), "")
    if said:
        return said
    first = _FIRST.search(text) or (None if text.isascii() else _FIRST.search(text.translate(_LEGIBLE)))  # № is No
    if first and not person:
        return first[0]
    found = [word for word in (AGAIN if person else (*AGAIN, *FIRSTS)) if word.translate(_SPELT) in folded]
    # neighbouring words make one up: ``Win ner`` does, ``Swinnerton`` does not
    parts = f" {' '.join(part.translate(_SPELT) for part in _WORD.findall(text))} " if found else ""
    return next((word for word in found if re.search(f" {' *'.join(_pieces(word))} ", parts)), "")


def _pieces(word: str) -> list[str]:
    """Return what may be set apart: the letters of a word, the words of several."""
    return [piece.translate(_SPELT) for piece in (word.split() if " " in word else word)]


class _Letters(dict[int, str]):
    """What each letter is read as, found when it first comes."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kind = unicodedata.category(letter)
        if kind in _UNSEEN:
            return ""
        # of the 100,000 ideographs none is kept
        if kind == "Lo" and letter not in _prototypes() and unicodedata.normalize("NFKD", letter) == letter:
            return _OTHER
        self[code] = found = self._read(letter)
        return found


def _spelt(letter: str) -> str:
    """Return the letters a to z and digits that a letter looks like, for those who read it in a word: no accents."""
    found = _letters("".join(map(_base, _letters(letter))))
    return _NOT_SPELT.sub(_OTHER, "".join(sign for sign in found if unicodedata.category(sign)[0] != "M"))


def _legible(letter: str) -> str:
    """Return the same with signs, spaces, digits and capitals as they are."""
    signs = [sign for sign in unicodedata.normalize("NFKD", letter) if unicodedata.category(sign)[0] != "M"]
    found = "".join(sign.translate(_SPELT) if sign.isalpha() and not sign.isascii() else sign for sign in signs)
    return found if len(found) <= _LONGEST_SIGN else letter


def _base(letter: str) -> str:
    """Return the Latin letter that one with a stroke or a hook, or a turned one, is read as."""
    named = _LATIN.fullmatch(unicodedata.name(letter, ""))
    return _READ.get(letter) or (named[1].lower() if named else letter)


_SPELT = _Letters(_spelt)
_LEGIBLE = _Letters(_legible)


def _decomposed(text: str) -> str:
    return "".join(map(_sign, unicodedata.normalize("NFKD", text)))


@lru_cache(4096)
def _sign(sign: str) -> str:
    """Leave out marks that are easily overlooked; neither NFKD nor the file knows small capitals as Latin letters."""
    name = unicodedata.name(sign, "")
    small = _SMALL_CAPITAL.fullmatch(name)
    if small or sign in _SMALL_CAPITALS:
        return small[1].lower() if small else _SMALL_CAPITALS[sign]
    return "" if name.startswith("COMBINING") and sign not in _ACCENTS else sign


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
