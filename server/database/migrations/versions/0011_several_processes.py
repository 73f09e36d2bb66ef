"""What several processes share: counts of requests, heartbeats, uploads to be checked, and whom the schema fits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

oldest = "0010"
"""The oldest schema whose programs may run on this one."""


def upgrade() -> None:
    """Go forward."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "rate_hits",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("expires", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rate_hits")),
    )
    op.create_index(op.f("ix_rate_hits_expires"), "rate_hits", ["expires"])
    op.create_index(op.f("ix_rate_hits_key_at"), "rate_hits", ["key", "at"])
    op.create_table(
        "running_processes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("serves", sa.Boolean(), nullable=False),
        sa.Column("checks", sa.Integer(), nullable=False),
        sa.Column("program", sa.String(length=40), nullable=False),
        sa.Column("schema", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("started", moment, nullable=False),
        sa.Column("seen", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_running_processes")),
    )
    op.create_table(
        "check_jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=True),
        sa.Column("file_sha256", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=32), nullable=False),
        sa.Column("taken", moment, nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("created", moment, nullable=False),
        sa.Column("outcome", sa.JSON(), nullable=False),
        sa.CheckConstraint("state IN ('queued', 'running', 'done')", name=op.f("ck_check_jobs_state")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_check_jobs_account_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_jobs")),
    )
    op.create_index(op.f("ix_check_jobs_state_created"), "check_jobs", ["state", "created"])
    op.create_table(
        "schema_support",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_support")),
    )
    op.execute(sa.text("INSERT INTO schema_support (id, revision, oldest) VALUES (1, '0011', '0010')"))


def downgrade() -> None:
    """Go back."""
    for table in ("schema_support", "check_jobs", "running_processes", "rate_hits"):
        op.drop_table(table)
