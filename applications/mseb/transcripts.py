"""Transcripts in words and in characters, and the spread of an error rate over utterances.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track: Whisper's normaliser of English,
and the basic one for all other languages, also for those that write without spaces, whose sentence is one word then. So
errors are counted in characters beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.normalise import normalised_characters, normalised_words


class Errors(NamedTuple):
    """Lengths of a truth, and the errors of what was heard."""

    words: int
    word_errors: int
    characters: int
    character_errors: int


def errors_of(truth: str, heard: str, language: str | None) -> Errors:
    """Count the errors of a transcript after normalising both sides for the BCP 47 ``language``.

    Worked number: ``This is toast.`` for ``This is a test.`` has 2 errors in 4 words.
    """
    words, given = (normalised_words(text, language) for text in (truth, heard))
    letters, spelt = (normalised_characters(text) for text in (truth, heard))
    return Errors(len(words), count_edits(words, given).errors, len(letters), count_edits(letters, spelt).errors)


def spread(errors: Sequence[float], words: Sequence[float]) -> float:
    """Return the standard deviation of an error rate over utterances, weighted by their words; NaN without words.

    The root of the weighted mean of (errors/words - rate) squared, where the rate is that of the corpus; an utterance
    without words adds its errors to the rate, and nothing else. Worked number: two empty references, one answered by
    four words, and one substitution in four words have the rate 1.25 and the spread 1.
    """
    total = math.fsum(words)
    if not total:
        return math.nan
    rate = math.fsum(errors) / total
    squares = (length * (wrong / length - rate) ** 2 for wrong, length in zip(errors, words, strict=True) if length)
    return math.sqrt(math.fsum(squares) / total)
