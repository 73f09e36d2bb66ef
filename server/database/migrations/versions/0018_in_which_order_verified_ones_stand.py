"""In which order several verified results of a name that nobody owns stand, now and at each revision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

oldest = "0013"
"""The oldest schema whose programs may run on this one."""

TABLES = ("submissions", "board_changes")


def upgrade() -> None:
    """Go forward; until the next verdict about a name the newest of those behind is first, as it was before."""
    for table in TABLES:
        op.add_column(table, sa.Column("place", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Go back."""
    for table in TABLES:
        op.drop_column(table, "place")
