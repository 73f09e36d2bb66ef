"""A database has a name, which its vault of files keeps: the files of another one are not swept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

oldest = "0013"
"""The oldest schema whose programs may run on this one."""


def upgrade() -> None:
    """Go forward; the first program that looks draws the name."""
    op.create_table(
        "database_identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_database_identity")),
    )


def downgrade() -> None:
    """Go back."""
    op.drop_table("database_identity")
