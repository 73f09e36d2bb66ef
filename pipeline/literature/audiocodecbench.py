"""The published perplexities of AudioCodecBench: language models on the tokens of codecs.

They are of models that somebody else trained and of codecs with other numbers of codebooks, so they are no
:class:`PublishedTable` and enter no board of codecs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from codec_superb.pipeline.literature.read import read_description, read_figures


class PublishedPerplexity(NamedTuple):
    """One codec on one dataset."""

    codec: str
    """As the source names it."""
    perplexity: float
    """Over all codebooks."""
    codebooks: tuple[float, ...]
    """Of each, from the first."""


@cache
def perplexities_about() -> Mapping[str, Any]:
    """Read what the source is."""
    return read_description("audiocodecbench")


@cache
def perplexities(table: str) -> tuple[PublishedPerplexity, ...]:
    """Read the rows of a table as they were published."""
    return tuple(_row(line) for line in read_figures("audiocodecbench_ppl") if line["table"] == table)


def _row(line: Mapping[str, str]) -> PublishedPerplexity:
    books = [line[f"codebook_{book}"] for book in range(1, 9)]
    return PublishedPerplexity(line["codec"], float(line["perplexity"]), tuple(float(book) for book in books if book))
