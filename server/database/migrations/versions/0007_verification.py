"""Keys, attestations and the queue of the worker that runs submissions again; private datasets and their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "private_datasets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("commitment", sa.String(length=64), nullable=False),
        sa.Column("salt", sa.String(length=64), nullable=False),
        sa.Column("manifest_hash", sa.String(length=64), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("sounds", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.JSON(), nullable=False),
        sa.Column("compared_with", sa.String(length=200), nullable=False),
        sa.Column("rotates", sa.DateTime(timezone=True), nullable=True),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired", sa.DateTime(timezone=True), nullable=True),
        sa.Column("opened", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_private_datasets")),
        sa.UniqueConstraint("name", name=op.f("uq_private_datasets_name")),
    )
    op.create_table(
        "verification_keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verification_keys")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_verification_keys_fingerprint")),
    )
    op.create_table(
        "attestations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("agrees", sa.Boolean(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_attestations_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attestations")),
        sa.UniqueConstraint("sha256", name=op.f("uq_attestations_sha256")),
    )
    op.create_index(op.f("ix_attestations_fingerprint"), "attestations", ["fingerprint"])
    op.create_index(op.f("ix_attestations_submission_id"), "attestations", ["submission_id"])
    op.create_table(
        "private_results",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("private_dataset_id", sa.Integer(), nullable=False),
        sa.Column("category", sa.String(length=16), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("gap", sa.Double(), nullable=True),
        sa.Column("gap_low", sa.Double(), nullable=True),
        sa.Column("gap_high", sa.Double(), nullable=True),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["private_dataset_id"],
            ["private_datasets.id"],
            name=op.f("fk_private_results_private_dataset_id_private_datasets"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_private_results_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_private_results")),
        sa.UniqueConstraint(
            "submission_id",
            "private_dataset_id",
            "category",
            name=op.f("uq_private_results_submission_id_private_dataset_id_category"),
        ),
    )
    op.create_index(op.f("ix_private_results_private_dataset_id"), "private_results", ["private_dataset_id"])
    op.create_index(op.f("ix_private_results_submission_id"), "private_results", ["submission_id"])
    op.create_table(
        "verification_jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("private_dataset_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("clips", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('verify', 'private')", name=op.f("ck_verification_jobs_kind")),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_verification_jobs_state")),
        sa.ForeignKeyConstraint(
            ["private_dataset_id"],
            ["private_datasets.id"],
            name=op.f("fk_verification_jobs_private_dataset_id_private_datasets"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_verification_jobs_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verification_jobs")),
    )
    op.create_index(op.f("ix_verification_jobs_private_dataset_id"), "verification_jobs", ["private_dataset_id"])
    op.create_index(op.f("ix_verification_jobs_state_id"), "verification_jobs", ["state", "id"])
    op.create_index(op.f("ix_verification_jobs_submission_id"), "verification_jobs", ["submission_id"])


def downgrade() -> None:
    """Go back."""
    op.drop_table("verification_jobs")
    op.drop_table("private_results")
    op.drop_table("attestations")
    op.drop_table("verification_keys")
    op.drop_table("private_datasets")
