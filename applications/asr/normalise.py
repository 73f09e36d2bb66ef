"""Normalises transcripts so that spelling variants, numerals and punctuation do not count as errors.

English: the normaliser of Whisper (Radford et al. 2023, appendix C), from the package whisper-normalizer. Chinese,
Japanese and Korean: characters after NFKC and lower-casing, without spaces, punctuation and symbols; numbers written in
digits, and simplified against traditional characters, stay different. Any other language, and a clip whose language is
not known: the basic normaliser of Whisper, which lower-cases and drops punctuation, symbols and combining marks, so
that in scripts that write vowels as marks (Hindi, Thai) some errors are not seen.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from importlib.metadata import version
from typing import Literal, NamedTuple

Unit = Literal["words", "characters"]
_IN_CHARACTERS = frozenset({"zh", "cmn", "yue", "wuu", "nan", "hak", "gan", "hsn", "lzh", "ja", "ko"})
"""Chinese with its larger varieties, Japanese, Korean."""
_NOT_COUNTED = "ZPSC"
"""First letters of Unicode categories: separators, punctuation, symbols, control characters."""


class Normalised(NamedTuple):
    """A transcript as it is compared."""

    units: tuple[str, ...]
    """Words or characters."""
    unit: Unit

    @property
    def says_something(self) -> bool:
        """Whether there is a letter or a digit; Whisper's English normaliser may leave a lone full stop."""
        return any(letter.isalnum() for unit in self.units for letter in unit)


def language_of(tag: str | None) -> str:
    """Return the primary subtag of a BCP 47 tag in lower case, ``und`` where there is none."""
    return (tag or "").strip().replace("_", "-").partition("-")[0].lower() or "und"


def unit_of(tag: str | None) -> Unit:
    """Return the unit (words or characters) of a language's error rate."""
    return "characters" if language_of(tag) in _IN_CHARACTERS else "words"


def normalise(text: str, tag: str | None) -> Normalised:
    """Normalise a transcript in the language of the BCP 47 ``tag``; None is a language that is not known."""
    unit = unit_of(tag)
    return Normalised(normalised_characters(text) if unit == "characters" else normalised_words(text, tag), unit)


def normalised_words(text: str, tag: str | None) -> tuple[str, ...]:
    """Return the words of a text by the normaliser of Whisper for its language, whatever the unit of that language."""
    normaliser = _english() if language_of(tag) == "en" else _basic()
    return tuple(normaliser(text).split())


def normaliser_name(tag: str | None) -> str:
    """Return the name of a language's normaliser, for results."""
    if unit_of(tag) == "characters":
        return "characters after NFKC, in lower case, without spaces, punctuation and symbols"
    kind = "English" if language_of(tag) == "en" else "basic"
    return f"Whisper {kind} (whisper-normalizer {version('whisper-normalizer')})"


def normalised_characters(text: str) -> tuple[str, ...]:
    """Return the characters of a text after NFKC, in lower case, without spaces, punctuation and symbols."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    kept = "".join(letter for letter in plain if unicodedata.category(letter)[0] not in _NOT_COUNTED)
    return tuple(unicodedata.normalize("NFKC", kept))  # a mark may now stand beside the letter that it belongs to


@functools.cache
def _english() -> Callable[[str], str]:
    from whisper_normalizer.english import EnglishTextNormalizer

    normaliser: Callable[[str], str] = EnglishTextNormalizer()
    return normaliser


@functools.cache
def _basic() -> Callable[[str], str]:
    from whisper_normalizer.basic import BasicTextNormalizer

    normaliser: Callable[[str], str] = BasicTextNormalizer()
    return normaliser
