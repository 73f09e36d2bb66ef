"""Turn a text into token ids; one that is longer than its encoder takes is divided into even parts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import MissingModel, PredictionFailed

MAX_CHARACTERS = 2**20
"""Longest text that is embedded: at 256 tokens a part it has some thousand parts, minutes of computing."""


def check_text(text: str) -> None:
    """Raise PredictionFailed for a text that no encoder is given: too long, or no Unicode."""
    if len(text) > MAX_CHARACTERS:
        raise PredictionFailed(f"expected a text of at most {MAX_CHARACTERS} characters, got {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PredictionFailed(
            f"expected Unicode text, got half a surrogate pair at character {error.start}"
        ) from error


class Tokeniser:
    """The tokeniser of a checkpoint, from its ``tokenizer.json``."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        """Read it. Raises MissingModel where it is none."""
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare exceptions
            raise MissingModel(f"{file.name} cannot be read as a tokeniser: {error}; fetch it again") from error
        # The file carries settings of its makers' last use: MiniLM's pads every text to 128 tokens.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._added = int(self._tokenizer.num_special_tokens_to_add(False))
        self._room = max_tokens - self._added

    def parts(self, text: str) -> list[list[int]]:
        """Return the ids of each part, special tokens included; the lengths of parts differ by one at most.

        Raises PredictionFailed for a text that is refused, see :func:`check_text`.
        """
        check_text(text)
        ids: list[int] = self._tokenizer.encode(text).ids
        own = len(ids) - self._added
        if own <= self._room:
            return [ids]
        return self._divided(text, own, -(-own // self._room))

    def _divided(self, text: str, own: int, count: int) -> list[list[int]]:
        bare: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        # What stands before and after the text's own tokens is the same for each part.
        whole: list[int] = self._tokenizer.encode(text).ids
        before = next(place for place in range(self._added + 1) if whole[place : place + own] == bare)
        head, tail = whole[:before], whole[before + own :]
        ends = [own * number // count for number in range(count + 1)]
        return [[*head, *bare[start:end], *tail] for start, end in pairwise(ends)]
