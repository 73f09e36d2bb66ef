"""Where below a folder of weights those of a codec lie: one rule for ``--weights DIR`` and ``CODEC_SUPERB_WEIGHTS``."""

from __future__ import annotations

import os
from pathlib import Path

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import MissingWeights

VARIABLE = "CODEC_SUPERB_WEIGHTS"
"""Environment variable with a folder of weights by codec, for machines without a hub. A codec that it lacks gets its
weights as without it."""
RANDOM_KEY = "codec_superb_random"
"""Marks weights that nobody trained: a key of ``config.json``, or a file of any content beside other weights."""


def places(card: Card, above: Path) -> list[Path]:
    """Return the folders that may hold the weights of ``card``, in the order in which they are looked at.

    They are those below ``above`` that are named like the codec, like its family, and like the hub repository of its
    weights without the owner, where they exist, and ``above`` itself last: one folder may serve several codecs.
    """
    return [*_below(card, above), above]


def shared_folder(card: Card) -> Path | None:
    """Return the folder of ``card`` below ``$CODEC_SUPERB_WEIGHTS``; None without one, or without the variable.

    Raises MissingWeights where the variable names no folder.
    """
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    above = Path(given).expanduser()
    if not above.is_dir():
        raise MissingWeights(f"{VARIABLE} names {given}, which is no folder; correct it, or unset it")
    return next(iter(_below(card, above)), None)


def _below(card: Card, above: Path) -> list[Path]:
    repository = card.weights.source.rpartition("/")[2] if card.weights else ""
    # dict: a family and its only codec may have one name
    names = dict.fromkeys(filter(None, (card.name, card.family, repository)))
    return [above / name for name in names if (above / name).is_dir()]
