"""Known datasets of the service: a state is a manifest hash with its clips, and each dataset has one current state.

Submissions are checked against the current state; results on older states stay.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, undefer

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.manifest import Manifest, PackagesSource
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset, shipped_clips
from codec_superb.server.database.models import Dataset
from codec_superb.server.database.session import bump_revision
from codec_superb.server.datasets.clips import pack_clips, unpack_clips
from codec_superb.server.errors import BadRequest
from codec_superb.server.people.audit import record

BUILTIN = ("mini",)
"""Datasets whose manifest contains hash and clips of the prepared dataset; the facts of the clips lie beside it."""
COMMAND_LINE = "command line"
"""Actor in the audit log for commands of a maintainer."""


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """Description of a dataset from a prepared copy or from its manifest."""

    name: str
    title: str
    licence: str
    known: KnownDataset
    homepage: str | None = None
    citation: str | None = None


def known(session: Session, name: str) -> KnownDataset | None:
    """Return the current state of a dataset; None for a name that the service does not know.

    A function of the name alone, as :func:`codec_superb.pipeline.submission.check.check` takes it, is made with
    ``functools.partial(known, session)``.
    """
    statement = select(Dataset).where(Dataset.name == name, Dataset.current).options(undefer(Dataset.clips))
    row = session.scalars(statement).one_or_none()
    return None if row is None else known_state(row)


def known_state(row: Dataset) -> KnownDataset:
    """Return what is known of one state of a dataset; its clips must have been loaded."""
    return KnownDataset(row.manifest_hash, unpack_clips(row.clips))


def packed_states(session: Session) -> dict[str, tuple[str, bytes]]:
    """Return manifest hash and packed clips of every dataset's current state, for a process without a database."""
    statement = select(Dataset.name, Dataset.manifest_hash, Dataset.clips).where(Dataset.current)
    return {name: (manifest_hash, clips) for name, manifest_hash, clips in session.execute(statement)}


def add(session: Session, facts: DatasetFacts, *, actor: str = COMMAND_LINE) -> bool:
    """Make a state the current one of its dataset; return whether anything changed.

    A known state becomes current again, with the given descriptions. Raises BadRequest for a dataset without clips.
    """
    if not facts.known.clips:
        raise BadRequest(f"{facts.name}: expected a dataset with clips, got none")
    wanted = _values(facts)
    row = session.scalars(
        select(Dataset)
        .where(Dataset.name == facts.name, Dataset.manifest_hash == facts.known.manifest_hash)
        .options(undefer(Dataset.clips))
    ).one_or_none()
    if row is not None and row.current and all(getattr(row, name) == value for name, value in wanted.items()):
        return False
    session.execute(update(Dataset).where(Dataset.name == facts.name).values(current=False))
    if row is None:
        session.add(Dataset(name=facts.name, manifest_hash=facts.known.manifest_hash, current=True, **wanted))
    else:
        for name, value in {**wanted, "current": True}.items():
            setattr(row, name, value)
    record(
        session, actor, "dataset.added", facts.name, manifest_hash=facts.known.manifest_hash, counts=wanted["counts"]
    )
    session.flush()
    bump_revision(session)
    return True


def ensure_builtin(session: Session) -> None:
    """Register the datasets of :data:`BUILTIN`; called when the service starts.

    Several processes may start at once: an IntegrityError means that another one has registered the dataset.
    """
    for name in BUILTIN:
        facts = facts_of_manifest(load_manifest(name))
        if known(session, name) == facts.known:
            continue
        try:
            # a savepoint: in PostgreSQL a failed statement ends the whole transaction otherwise
            with session.begin_nested():
                add(session, facts, actor=f"codec-superb, manifest {name}")
        except IntegrityError:  # another process registered it between the query and the insert
            continue


def facts_of_manifest(manifest: Manifest) -> DatasetFacts:
    """Read hash and clips from a manifest that contains both, and the facts of the clips from the file beside it.

    Raises BadRequest for a manifest without them, whose dataset must be prepared first.
    """
    source = manifest.source
    if not isinstance(source, PackagesSource) or source.manifest_hash is None:
        raise BadRequest(
            f"{manifest.name}: expected a manifest that lists its clips and their hash; prepare or index the dataset "
            f"on this machine, then: codec-superb admin datasets add {manifest.name}"
        )
    clips = {clip.id: KnownClip(group.category) for group in source.groups for clip in group.clips}
    clips |= shipped_clips(manifest.name)
    return DatasetFacts(
        name=manifest.name,
        title=manifest.title,
        licence=manifest.licence,
        known=KnownDataset(source.manifest_hash, clips),
        homepage=manifest.homepage,
        citation=manifest.citation,
    )


def _values(facts: DatasetFacts) -> dict[str, object]:
    counts = Counter(clip.category for clip in facts.known.clips.values())
    return {
        "title": facts.title,
        "licence": facts.licence,
        "homepage": facts.homepage,
        "citation": facts.citation,
        "counts": {category: counts[category] for category in CATEGORIES if counts[category]},
        "clips": pack_clips(facts.known.clips),
    }
