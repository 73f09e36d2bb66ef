"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_at"), ["at"], unique=False)

    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("manifest_hash", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=1000), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("homepage", sa.Text(), nullable=True),
        sa.Column("citation", sa.Text(), nullable=True),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("clips", sa.LargeBinary(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("name", "manifest_hash", name=op.f("uq_datasets_name_manifest_hash")),
    )
    with op.batch_alter_table("datasets", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_datasets_name"), ["name"], unique=False)

    op.create_table(
        "revision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revision")),
    )
    op.create_table(
        "codecs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["accounts.id"], name=op.f("fk_codecs_owner_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_codecs")),
        sa.UniqueConstraint("name", name=op.f("uq_codecs_name")),
    )
    with op.batch_alter_table("codecs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_codecs_owner_id"), ["owner_id"], unique=False)

    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("secret_sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_tokens_account_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("secret_sha256", name=op.f("uq_tokens_secret_sha256")),
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tokens_account_id"), ["account_id"], unique=False)

    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("codec_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("file_sha256", sa.String(length=64), nullable=False),
        sa.Column("file_size", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=True),
        sa.Column("submitter", sa.String(length=200), nullable=False),
        sa.Column("contact", sa.String(length=200), nullable=True),
        sa.Column("received", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created", sa.String(length=40), nullable=False),
        sa.Column("card", sa.JSON(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("clips", sa.Integer(), nullable=False),
        sa.Column("ok", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.Column("decided_by", sa.String(length=200), nullable=True),
        sa.Column("decided", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'published', 'verified', 'withdrawn')", name=op.f("ck_submissions_status")
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_submissions_account_id_accounts")),
        sa.ForeignKeyConstraint(["codec_id"], ["codecs.id"], name=op.f("fk_submissions_codec_id_codecs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
        sa.UniqueConstraint("codec_id", "version", name=op.f("uq_submissions_codec_id_version")),
        sa.UniqueConstraint("file_sha256", name=op.f("uq_submissions_file_sha256")),
    )
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_submissions_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_submissions_codec_id"), ["codec_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_submissions_status_codec_id"), ["status", "codec_id"], unique=False)

    op.create_table(
        "clip_blocks",
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_clip_blocks_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("submission_id", "dataset", name=op.f("pk_clip_blocks")),
    )
    op.create_table(
        "results",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=False),
        sa.Column("category", sa.String(length=16), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("datasets", sa.JSON(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("clips", sa.Integer(), nullable=False),
        sa.Column("ok", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("kbps", sa.Double(), nullable=True),
        sa.Column("tokens_per_second", sa.Double(), nullable=True),
        sa.Column("compression_ratio", sa.Double(), nullable=True),
        sa.Column("encode_rtf", sa.Double(), nullable=True),
        sa.Column("decode_rtf", sa.Double(), nullable=True),
        sa.Column("largest_lag", sa.Integer(), nullable=True),
        sa.Column("clipped_samples", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_results_submission_id_submissions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
        sa.UniqueConstraint(
            "submission_id", "category", "dataset", name=op.f("uq_results_submission_id_category_dataset")
        ),
    )

    op.execute("INSERT INTO revision (id, number) VALUES (1, 0)")


def downgrade() -> None:
    """Go back."""
    op.drop_table("results")
    op.drop_table("clip_blocks")
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_submissions_status_codec_id"))
        batch_op.drop_index(batch_op.f("ix_submissions_codec_id"))
        batch_op.drop_index(batch_op.f("ix_submissions_account_id"))

    op.drop_table("submissions")
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_tokens_account_id"))

    op.drop_table("tokens")
    with op.batch_alter_table("codecs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_codecs_owner_id"))

    op.drop_table("codecs")
    op.drop_table("revision")
    with op.batch_alter_table("datasets", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_datasets_name"))

    op.drop_table("datasets")
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_at"))

    op.drop_table("audit")
    op.drop_table("accounts")
