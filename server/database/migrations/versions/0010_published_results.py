"""Imported results of any kind in one table: of MSEB's encoders as before, and of models that hear and answer.

A program of the schema before has a table for encoders alone: going back keeps the others in the audit log, from which
going forward restores them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ACTION = "published.results_kept"
COMMON = ("source", "added", "results")


def _table(name: str, *names: str) -> sa.TableClause:
    return sa.table(
        name,
        sa.column("id", sa.Integer()),
        *(sa.column(each, sa.String()) for each in names),
        sa.column("source", sa.Text()),
        sa.column("added", sa.DateTime(timezone=True)),
        sa.column("results", sa.JSON()),
    )


RESULTS = _table("published_results", "kind", "name")
ENCODERS = _table("published_encoders", "encoder")
AUDIT = sa.table(
    "audit",
    sa.column("id", sa.Integer()),
    sa.column("at", sa.DateTime(timezone=True)),
    *(sa.column(name, sa.String()) for name in ("actor", "action", "subject")),
    sa.column("detail", sa.JSON()),
)


def _create(name: str, columns: list[sa.Column[str]], unique: list[str]) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.Integer(), nullable=False),
        *columns,
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{name}")),
        sa.UniqueConstraint(*unique, name=op.f(f"uq_{name}_{'_'.join(unique)}")),
    )


def upgrade() -> None:
    """Go forward."""
    kind, name = (
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(300), nullable=False),
    )
    _create("published_results", [kind, name], ["kind", "name"])
    bind = op.get_bind()
    for row in bind.execute(sa.select(ENCODERS).order_by(ENCODERS.c.id)).all():
        values = {each: getattr(row, each) for each in COMMON}
        bind.execute(sa.insert(RESULTS).values(kind="mseb", name=row.encoder, **values))
    for row in bind.execute(sa.select(AUDIT).where(AUDIT.c.action == ACTION).order_by(AUDIT.c.id)).all():
        bind.execute(sa.insert(RESULTS).values(**row.detail, added=row.at))
    bind.execute(sa.delete(AUDIT).where(AUDIT.c.action == ACTION))
    op.drop_table("published_encoders")


def downgrade() -> None:
    """Go back."""
    _create("published_encoders", [sa.Column("encoder", sa.String(length=300), nullable=False)], ["encoder"])
    bind = op.get_bind()
    for row in bind.execute(sa.select(RESULTS).order_by(RESULTS.c.id)).all():
        if row.kind == "mseb":
            values = {each: getattr(row, each) for each in COMMON}
            bind.execute(sa.insert(ENCODERS).values(encoder=row.name, **values))
            continue
        detail = {each: getattr(row, each) for each in ("kind", "name", "source", "results")}
        entry = {"at": row.added, "actor": "migration", "action": ACTION, "subject": row.name[:200]}
        bind.execute(sa.insert(AUDIT).values(**entry, detail=detail))
    op.drop_table("published_results")
