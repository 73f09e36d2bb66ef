"""Whether the file of a staged part is in its place, which each list of them asked the store for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

oldest = "0013"
"""The oldest schema whose programs may run on this one."""


def upgrade() -> None:
    """Go forward; of the rows of an earlier program the file is nearly always there."""
    op.add_column("staged_parts", sa.Column("here", sa.Boolean(), server_default=sa.true(), nullable=False))


def downgrade() -> None:
    """Go back."""
    op.drop_column("staged_parts", "here")
