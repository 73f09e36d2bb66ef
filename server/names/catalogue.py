"""Names of the program's own catalogue: nobody owns them, and anybody submits under them with the catalogue's card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.catalogue_file import own_entries
from codec_superb.server.names.skeleton import skeleton

OF_THE_RUN = frozenset({"version", "weights", "settings"})
"""Fields of a card that each run fills in: the installed library, the weights that were opened, the precision."""
_NUMBER = re.compile(
    r"(?<![\w.])(?:\d{1,9}(?:\.\d{1,9}){0,3}(?:\.?(?:a|b|rc|post|dev)\d{1,9})?(?:\+(?:cpu|cu\d{2,4}|rocm\d[\d.]{0,7}|g?[0-9a-f]{7,12}))?"
    r"|[0-9a-f]{7,40}|\(not installed\))(?![\w.+-])",
    re.ASCII,
)
"""A version as packages have them, a commit, or what stands there without the package."""


@cache
def cards() -> Mapping[str, Card]:
    """Return the cards of the catalogue by name; some 0.2 s the first time."""
    return {entry.card.name: entry.card for entry in own_entries()}


@cache
def families() -> Mapping[str, str]:
    """Return the families of the catalogue by skeleton."""
    return {skeleton(card.family): card.family for card in cards().values()}


def look_alike(text: str) -> str:
    """Return the codec of the catalogue whose name or title looks like ``text``; '' for none."""
    return _by_skeleton().get(skeleton(text), "")


@cache
def _by_skeleton() -> Mapping[str, str]:
    return {skeleton(text): card.name for card in cards().values() for text in (card.name, card.title)}


def differences(card: Card) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields in which ``card`` is not the catalogue's of the same name, with the value there and here.

    Settings may be added to, such as a precision; a delay that the catalogue leaves open is each run's own. The version
    has the catalogue's words with numbers of its own: nobody compares it when a file is run again.
    """
    listed = cards()[card.name]
    open_fields = OF_THE_RUN | ({"delay_samples", "delay_source"} if listed.delay_samples is None else frozenset())
    for name in sorted(Card.model_fields.keys() - open_fields):
        expected, got = getattr(listed, name), getattr(card, name)
        if expected != got:
            yield name, expected, got
    if _NUMBER.sub("", listed.version) != _NUMBER.sub("", card.version):
        yield "version", listed.version, card.version or "nothing"
    if not listed.settings.items() <= card.settings.items():
        yield "settings", listed.settings, card.settings
