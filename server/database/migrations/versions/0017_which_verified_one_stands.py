"""Which of several verified results of a name that nobody owns stands for it; and which did, at each revision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

oldest = "0013"
"""The oldest schema whose programs may run on this one."""

TABLES = ("submissions", "board_changes")


def upgrade() -> None:
    """Go forward; until the next verdict about a name the newest verified one stands for it, as it did before."""
    for table in TABLES:
        op.add_column(table, sa.Column("behind", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    """Go back."""
    for table in TABLES:
        op.drop_column(table, "behind")
