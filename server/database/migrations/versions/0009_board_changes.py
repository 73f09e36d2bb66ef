"""What became public at which revision, from which a state of the board can be shown again.

At which revision the rows of an older database became public is not known: they are written down as of the revision
that it has now, with the time of their last decision, so that this is its first state that can be cited.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CHANGES = sa.table("board_changes", *(sa.column(name) for name in ("revision", "submission_id", "status", "at")))
SUBMISSIONS = sa.table("submissions", *(sa.column(name) for name in ("id", "status", "received", "decided")))
REVISION = sa.table("revision", sa.column("number"))


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "board_changes",
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_board_changes_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("revision", "submission_id", name=op.f("pk_board_changes")),
    )
    op.create_index(op.f("ix_board_changes_submission_id"), "board_changes", ["submission_id"])
    now_public = sa.select(
        sa.select(REVISION.c.number).scalar_subquery(),
        SUBMISSIONS.c.id,
        SUBMISSIONS.c.status,
        sa.func.coalesce(SUBMISSIONS.c.decided, SUBMISSIONS.c.received),
    ).where(SUBMISSIONS.c.status.in_(("self-reported", "verified")))
    op.execute(CHANGES.insert().from_select(["revision", "submission_id", "status", "at"], now_public))


def downgrade() -> None:
    """Go back."""
    op.drop_table("board_changes")
