"""The salient terms of a transcript: its rarest words by inverse document frequency.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track: ln(articles / articles with the
word) over Wikipedia, words in lower case. Those tables are not published; a dataset may carry one (collection ``idf``),
else the frequencies of the package wordfreq stand in its place (Speer, wordfreq 3.1, data CC BY-SA 4.0).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from codec_superb.applications.asr.normalise import language_of
from codec_superb.applications.asr.word_times import Word
from codec_superb.applications.errors import MissingPackage
from codec_superb.missing_package import not_installed

MOST = 3
"""Terms of an utterance."""
_BY_PREFIX = frozenset({"ja"})
"""Languages written without spaces whose terms are the longest prefixes in the table."""
_IN_WORDS = "'’-"
"""What may stand inside a word, besides letters, marks and digits."""


Rarity = Callable[[str], float | None]
"""How rare a word in lower case is, its inverse document frequency in natural logarithms; None: not known."""


def salient_terms(words: Sequence[Word], rarity: Rarity, language: str | None, most: int = MOST) -> list[Word]:
    """Return the ``most`` rarest terms, the rarest first, with the times of their words.

    A word of no known rarity is none. A term that comes twice counts once, where it comes first; of two as rare the
    earlier one. Text is in lower case without the punctuation around it.
    """
    found = _by_prefix(words, rarity) if language_of(language) in _BY_PREFIX else _by_token(words, rarity)
    first: dict[str, tuple[float, Word]] = {}
    for rare, word in found:
        first.setdefault(word.text, (rare, word))
    ranked = sorted(first.values(), key=lambda entry: -entry[0])[:most]
    return [word._replace(confidence=rare * word.confidence) for rare, word in ranked]


def _by_token(words: Sequence[Word], rarity: Rarity) -> Iterator[tuple[float, Word]]:
    for word in words:
        for token in _tokens(word.text.lower()):
            if (rare := rarity(token)) is not None:
                yield rare, word._replace(text=token)


def _tokens(text: str) -> list[str]:
    # vowel signs of Indic scripts are marks, which the \\w of regular expressions leaves out
    plain = (one if unicodedata.category(one)[0] in "LMN" or one in _IN_WORDS else " " for one in text)
    return [token for part in "".join(plain).split() if (token := part.strip(_IN_WORDS))]


def _by_prefix(words: Sequence[Word], rarity: Rarity) -> Iterator[tuple[float, Word]]:
    """Yield, for each letter, the longest term of the table that begins there; it may begin and end inside a word."""
    spelt = [(letter, word) for word in words for letter in word.text.lower() if not letter.isspace()]
    text = "".join(letter for letter, _ in spelt)
    for start in range(len(text)):
        for end in range(min(len(text), start + _LONGEST), start, -1):
            if (rare := rarity(text[start:end])) is None:
                continue
            parts = list(dict.fromkeys(word for _, word in spelt[start:end]))
            mean = math.fsum(word.confidence for word in parts) / len(parts)
            yield rare, Word(text[start:end], parts[0].start, parts[-1].end, mean)
            break


_LONGEST = 32
"""Letters of a term at most."""


def from_table(table: Mapping[str, float]) -> Rarity:
    """Return the rarity of a table of inverse document frequencies by word."""
    lowered: dict[str, float | None] = {word.lower(): value for word, value in table.items()}

    def rarity(word: str) -> float | None:
        return lowered.get(word)

    return rarity


def from_wordfreq(language: str | None) -> Rarity:
    """Return the rarity by wordfreq: minus the logarithm of a word's frequency, None for a word it does not know.

    A language that it lacks has no rarity at all. Raises MissingPackage with the install command.
    """
    return _wordfreq(language_of(language))


@cache
def _wordfreq(language: str) -> Rarity:
    try:
        import wordfreq
    except ModuleNotFoundError as error:
        raise MissingPackage(not_installed("mseb_segmentation", error.name, extra="mseb")) from error
    if language not in wordfreq.available_languages():
        return lambda _: None
    # looked up as it is: wordfreq's own tokenizer of Japanese and Korean needs further packages
    frequencies: Mapping[str, float] = wordfreq.get_frequency_dict(language)

    def rarity(word: str) -> float | None:
        frequency = frequencies.get(word, 0.0)
        return -math.log(frequency) if frequency > 0 else None

    return rarity
