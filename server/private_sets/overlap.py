"""Clips that two private datasets share: from the scores of nearly equal sets follows that of what differs."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from itertools import product

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.server.database.models import PrivateDataset
from codec_superb.server.errors import BadRequest

FEWEST = 20
"""Clips of a category, and behind each metric of its score, below which nothing is kept or shown."""


def keyed(salt: str, sounds: Sequence[str]) -> list[str]:
    """Return HMAC-SHA-256 of hashes of sounds, sorted: without the salt no guess at a clip can be held against them."""
    return sorted({hmac.digest(salt.encode(), sound.encode(), "sha256").hex() for sound in sounds})


def refuse_overlap(session: Session, sounds: Mapping[Category, Sequence[str]]) -> None:
    """Compare a new dataset with all earlier ones, retired ones too, whose scores stay public.

    ``sounds`` has the hashes of the categories that get scores. Raises BadRequest where one has clips of an earlier
    dataset's and fewer than :data:`FEWEST` that the other has not, on either side; the same clips again tell nothing,
    and would tell of one that is there many times: each sound stands once.
    """
    for category, hashes in sounds.items():
        if again := len(hashes) - len(set(hashes)):
            raise BadRequest(
                f"expected each sound of {category} once, got {again} that another clip has too: a score would be that "
                "of the clips that stand many times; leave out all but one of each"
            )
    for earlier in session.scalars(select(PrivateDataset).order_by(PrivateDataset.id)):
        # a clip's values are the same under another category
        for (category, hashes), (theirs, kept) in product(sounds.items(), earlier.sounds.items()):
            new, old = set(keyed(earlier.salt, hashes)), set(kept)
            if new & old and new != old and min(len(new - old), len(old - new)) < FEWEST:
                raise BadRequest(
                    f"expected for {category} none of the {theirs} clips of {earlier.name}, all of them, or {FEWEST} "
                    f"or more that differ on either side; got {len(new & old)} of its clips, {len(new - old)} that it "
                    f"has not and {len(old - new)} of its own left out: the scores of two such sets would tell that of "
                    "a few clips"
                )
