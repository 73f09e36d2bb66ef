"""Published results of encoders that maintainers import.

A program of the schema before has no table for them: going back keeps them in the audit log, from which going forward
restores them. (Application metrics of recording conditions need no change: they are a part of the document that an
older program does not look at.)
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ACTION = "published.kept"
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
    bind = op.get_bind()
    for row in bind.execute(sa.select(AUDIT).where(AUDIT.c.action == ACTION).order_by(AUDIT.c.id)).all():
        bind.execute(sa.insert(ENCODERS).values(**row.detail, added=row.at))
    bind.execute(sa.delete(AUDIT).where(AUDIT.c.action == ACTION))


def downgrade() -> None:
    """Go back."""
    bind = op.get_bind()
    for row in bind.execute(sa.select(ENCODERS).order_by(ENCODERS.c.id)).all():
        detail = {name: getattr(row, name) for name in ("encoder", "source", "results")}
        entry = {"at": row.added, "actor": "migration", "action": ACTION, "subject": row.encoder[:200]}
        bind.execute(sa.insert(AUDIT).values(**entry, detail=detail))
    op.drop_table("published_encoders")
