"""Private datasets as maintainers keep them: registered, retired, opened. Paths and secrets stay in their rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.server.database.models import Dataset, PrivateDataset, VerificationJob, now
from codec_superb.server.database.session import bump_revision
from codec_superb.server.errors import BadRequest, Conflict, NotFound
from codec_superb.server.people.audit import record
from codec_superb.server.private_sets.overlap import FEWEST, keyed, refuse_overlap

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def add(
    session: Session,
    name: str,
    path: str,
    *,
    counts: Mapping[Category, int],
    seconds: Mapping[Category, float],
    sounds: Mapping[Category, Sequence[str]],
    salt: str,
    manifest_hash: str,
    commitment: str,
    compared_with: str,
    rotates: datetime | None,
    actor: str,
) -> PrivateDataset:
    """Register a private dataset. Of its facts all but path, salt, sounds and manifest hash is public from now on.

    Raises BadRequest for a name that is none or that a dataset has, for a dataset without a category of
    :data:`FEWEST` clips, for a public dataset that is unknown or has no such category, a rotation that is past,
    and for clips that an earlier dataset nearly has (:mod:`codec_superb.server.private_sets.overlap`).
    """
    if not _NAME.fullmatch(name):
        raise BadRequest(f"expected a name of lower-case letters, digits, dots, - and _, got {name!r}; it is public")
    if find(session, name) is not None or session.scalars(select(Dataset.id).where(Dataset.name == name)).first():
        raise BadRequest(f"a dataset is called {name} already: expected another name")
    public = session.scalars(select(Dataset).where(Dataset.name == compared_with, Dataset.current)).one_or_none()
    if public is None:
        raise BadRequest(f"expected a public dataset of the board to compare with, got {compared_with!r}")
    enough = [category for category, number in counts.items() if number >= FEWEST]
    if not enough:
        raise BadRequest(
            f"expected a category with {FEWEST} clips or more, got {_words(counts)}: fewer would say much of each"
        )
    if not any(public.counts.get(category) for category in enough):
        raise BadRequest(
            f"expected clips of {' or '.join(public.counts)}, as {compared_with} has; got {_words(counts)}"
        )
    if rotates is not None and rotates <= now():
        raise BadRequest(f"expected a date to come for --rotates, got {rotates.date()}")
    refuse_overlap(session, {category: sounds[category] for category in enough})
    made = PrivateDataset(
        name=name, path=path, commitment=commitment, salt=salt, manifest_hash=manifest_hash, counts=dict(counts),
        sounds={category: keyed(salt, hashes) for category, hashes in sounds.items()},
        # whole seconds, and none of a small group: the duration of a category of one clip would be that clip's
        seconds={category: round(seconds[category]) for category in enough},
        compared_with=compared_with, rotates=rotates,
    )  # fmt: skip
    session.add(made)
    record(session, actor, "private.added", name, commitment=commitment, counts=dict(counts))
    session.flush()
    bump_revision(session)
    return made


def retire(session: Session, name: str, *, actor: str) -> PrivateDataset:
    """End the use of a private dataset: its results stay, waiting jobs are given up, and it may be opened.

    Raises NotFound, Conflict where it is retired already.
    """
    found = find_or_not_found(session, name)
    if found.retired is not None:
        raise Conflict(f"{name} was retired on {found.retired.date()} already")
    found.retired = now()
    waiting = select(VerificationJob).where(
        VerificationJob.private_dataset_id == found.id, VerificationJob.state == "queued"
    )
    for job in session.scalars(waiting):
        job.state, job.finished, job.message = "failed", now(), f"{name} was retired"
    record(session, actor, "private.retired", name)
    bump_revision(session)
    return found


def reveal(session: Session, name: str, *, actor: str) -> PrivateDataset:
    """Make salt and manifest hash public, so that anybody who gets the clips can check the commitment.

    Raises NotFound, Conflict for one that is in use: a guess at its clips could be held against the hash.
    """
    found = find_or_not_found(session, name)
    if found.retired is None:
        raise Conflict(f"expected a retired dataset, got {name}, which is in use: retire it first")
    if found.opened is None:
        found.opened = now()
        record(session, actor, "private.opened", name, salt=found.salt, manifest_hash=found.manifest_hash)
        bump_revision(session)
    return found


def find(session: Session, name: str) -> PrivateDataset | None:
    """Find one by its name."""
    return session.scalars(select(PrivateDataset).where(PrivateDataset.name == name)).one_or_none()


def find_or_not_found(session: Session, name: str) -> PrivateDataset:
    """Find one by its name. Raises NotFound."""
    found = find(session, name)
    if found is None:
        raise NotFound(f"no private dataset is called {name!r}; `codec-superb admin private list` shows them")
    return found


def _words(counts: Mapping[Category, int]) -> str:
    return ", ".join(f"{number} {category}" for category, number in counts.items()) or "no clips"
