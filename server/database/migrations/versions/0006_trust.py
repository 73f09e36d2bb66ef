"""Submissions with warnings are held, what was accepted is self-reported; families have owners, titles are unique.

A program of the schema before knows neither: going back makes the held ones pending.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SUBMISSIONS = sa.table(
    "submissions",
    sa.column("status", sa.String()),
    sa.column("account_id", sa.Integer()),
    sa.column("received", sa.DateTime(timezone=True)),
    sa.column("public_since", sa.DateTime(timezone=True)),
)


def upgrade() -> None:
    """Go forward."""
    _rename({"published": "self-reported"}, ("pending", "held", "self-reported", "verified", "withdrawn"))
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("public_since", sa.DateTime(timezone=True), nullable=True))
    # what came with a token was public at once; a withdrawn anonymous file may never have been
    shown = (SUBMISSIONS.c.status != "pending") & (
        SUBMISSIONS.c.account_id.is_not(None) | (SUBMISSIONS.c.status != "withdrawn")
    )
    op.execute(sa.update(SUBMISSIONS).where(shown).values(public_since=SUBMISSIONS.c.received))
    with op.batch_alter_table("codecs") as batch:
        batch.add_column(sa.Column("skeleton", sa.String(length=800), nullable=True))
        batch.add_column(sa.Column("title_skeleton", sa.String(length=800), nullable=True))
        batch.create_unique_constraint(op.f("uq_codecs_skeleton"), ["skeleton"])
        batch.create_unique_constraint(op.f("uq_codecs_title_skeleton"), ["title_skeleton"])
    op.create_table(
        "families",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("skeleton", sa.String(length=800), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["accounts.id"], name=op.f("fk_families_owner_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_families")),
        sa.UniqueConstraint("name", name=op.f("uq_families_name")),
        sa.UniqueConstraint("skeleton", name=op.f("uq_families_skeleton")),
    )
    op.create_index(op.f("ix_families_owner_id"), "families", ["owner_id"])


def downgrade() -> None:
    """Go back."""
    with op.batch_alter_table("codecs") as batch:
        batch.drop_constraint(op.f("uq_codecs_title_skeleton"), type_="unique")
        batch.drop_constraint(op.f("uq_codecs_skeleton"), type_="unique")
        batch.drop_column("title_skeleton")
        batch.drop_column("skeleton")
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("public_since")
    _rename({"self-reported": "published", "held": "pending"}, ("pending", "published", "verified", "withdrawn"))
    op.drop_table("families")


def _rename(names: dict[str, str], allowed: tuple[str, ...]) -> None:
    with op.batch_alter_table("submissions") as batch:
        batch.drop_constraint(op.f("ck_submissions_status"), type_="check")
    for before, after in names.items():
        op.execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.status == before).values(status=after))
    with op.batch_alter_table("submissions") as batch:
        batch.create_check_constraint(op.f("ck_submissions_status"), f"status IN {allowed}")
