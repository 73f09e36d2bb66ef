"""Which files a process sees, where those of an upload lie that waits for its check, and by which token it came."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

oldest = "0010"
"""The oldest schema whose programs may run on this one."""


def upgrade() -> None:
    """Go forward; what an older program writes has neither, and is not compared."""
    for table in ("running_processes", "check_jobs"):
        with op.batch_alter_table(table) as batch:
            batch.add_column(sa.Column("files", sa.String(length=64), nullable=False, server_default=""))
    with op.batch_alter_table("check_jobs") as batch:
        batch.add_column(sa.Column("token_id", sa.Integer(), nullable=True))
        batch.create_foreign_key(op.f("fk_check_jobs_token_id_tokens"), "tokens", ["token_id"], ["id"])


def downgrade() -> None:
    """Go back."""
    with op.batch_alter_table("check_jobs") as batch:
        batch.drop_constraint(op.f("fk_check_jobs_token_id_tokens"), type_="foreignkey")
        batch.drop_column("token_id")
    for table in ("running_processes", "check_jobs"):
        with op.batch_alter_table(table) as batch:
            batch.drop_column("files")
