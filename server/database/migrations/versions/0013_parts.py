"""Files that hold rows of submissions in parts, and those that were sent before what describes them.

An earlier program would take the parts for files without a submission and remove them: none may run on this schema.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "submission_parts",
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_submission_parts_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("submission_id", "number", name=op.f("pk_submission_parts")),
    )
    op.create_index(op.f("ix_submission_parts_sha256"), "submission_parts", ["sha256"])
    op.create_table(
        "staged_parts",
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_staged_parts_account_id_accounts")),
        sa.PrimaryKeyConstraint("account_id", "sha256", name=op.f("pk_staged_parts")),
    )
    op.create_index(op.f("ix_staged_parts_received"), "staged_parts", ["received"])
    op.create_index(op.f("ix_staged_parts_sha256"), "staged_parts", ["sha256"])


def downgrade() -> None:
    """Go back; parts then belong to nothing."""
    op.drop_table("staged_parts")
    op.drop_table("submission_parts")
