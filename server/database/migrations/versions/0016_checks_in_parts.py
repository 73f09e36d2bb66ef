"""How many parts the file of a waiting check names, once it was looked at; such checks have a queue of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

oldest = "0013"
"""The oldest schema whose programs may run on this one."""


def upgrade() -> None:
    """Go forward; a program before this one takes checks of both kinds."""
    op.add_column("check_jobs", sa.Column("parts", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Go back."""
    op.drop_column("check_jobs", "parts")
