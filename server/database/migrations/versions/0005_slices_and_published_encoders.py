"""Application metrics of recording conditions (slices), and published results of encoders that maintainers import.

A program of the schema before refuses an application metric with a slice, and has no table for encoders. Going back
puts the metrics of slices aside in their document, takes the field from the others, and keeps the encoders in the audit
log; going forward restores both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEPT = "slices"
"""Where a document keeps the metrics of slices, with their places, while the schema is older."""
ACTION = "published.kept"
AT_ONCE = 100
SUBMISSIONS = sa.table("submissions", sa.column("id", sa.String()), sa.column("document", sa.JSON()))
ENCODERS = sa.table(
    "published_encoders",
    sa.column("id", sa.Integer()),
    sa.column("encoder", sa.String()),
    sa.column("source", sa.Text()),
    sa.column("added", sa.DateTime(timezone=True)),
    sa.column("results", sa.JSON()),
)
AUDIT = sa.table(
    "audit",
    sa.column("id", sa.Integer()),
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("actor", sa.String()),
    sa.column("action", sa.String()),
    sa.column("subject", sa.String()),
    sa.column("detail", sa.JSON()),
)


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "published_encoders",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("encoder", sa.String(length=300), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published_encoders")),
        sa.UniqueConstraint("encoder", name=op.f("uq_published_encoders_encoder")),
    )
    _bring_back_encoders()
    _change_documents(_with_slices)


def downgrade() -> None:
    """Go back."""
    _change_documents(_without_slices)
    for row in op.get_bind().execute(sa.select(ENCODERS).order_by(ENCODERS.c.id)).all():
        detail = {"id": row.id, "encoder": row.encoder, "source": row.source, "results": row.results}
        entry = {"at": row.added, "actor": "migration", "action": ACTION, "subject": row.encoder[:200]}
        op.get_bind().execute(sa.insert(AUDIT).values(**entry, detail=detail))
    op.drop_table("published_encoders")


def _bring_back_encoders() -> None:
    bind = op.get_bind()
    for row in bind.execute(sa.select(AUDIT).where(AUDIT.c.action == ACTION).order_by(AUDIT.c.id)).all():
        bind.execute(sa.insert(ENCODERS).values(**row.detail, added=row.at))
        bind.execute(sa.delete(AUDIT).where(AUDIT.c.id == row.id))


def _with_slices(document: dict[str, Any]) -> dict[str, Any]:
    kept = document.pop(KEPT, None)
    if kept is None:
        return document
    found = [{**entry, "slice": ""} for entry in document["applications"]]
    for place, entry in kept:
        found.insert(place, entry)
    return {**document, "applications": found}


def _without_slices(document: dict[str, Any]) -> dict[str, Any]:
    entries: Sequence[dict[str, Any]] = document.get("applications") or ()
    if not any("slice" in entry for entry in entries):
        return document
    kept = [[place, entry] for place, entry in enumerate(entries) if entry.get("slice")]
    plain = [{name: value for name, value in entry.items() if name != "slice"} for entry in entries]
    without = [entry for entry, old in zip(plain, entries, strict=True) if not old.get("slice")]
    return {**document, "applications": without, KEPT: kept}


def _change_documents(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the documents, a few at a time: each has the metrics of a whole submission."""
    bind = op.get_bind()
    identities = bind.execute(sa.select(SUBMISSIONS.c.id).order_by(SUBMISSIONS.c.id)).scalars().all()
    for start in range(0, len(identities), AT_ONCE):
        chosen = SUBMISSIONS.c.id.in_(identities[start : start + AT_ONCE])
        for row in bind.execute(sa.select(SUBMISSIONS).where(chosen)).all():
            changed = change(dict(row.document))
            if changed != row.document:
                update = sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == row.id)
                bind.execute(update.values(document=changed))
