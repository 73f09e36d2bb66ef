"""Listening tests: their sounds, participants and answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "listening_tests",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("opened", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('ab', 'abx', 'mushra', 'acr', 'dcr')", name=op.f("ck_listening_tests_kind")),
        sa.CheckConstraint("state IN ('draft', 'open', 'closed')", name=op.f("ck_listening_tests_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listening_tests")),
    )
    op.create_table(
        "listening_participants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("test_id", sa.String(length=12), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["test_id"], ["listening_tests.id"], name=op.f("fk_listening_participants_test_id_listening_tests")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listening_participants")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_listening_participants_token_sha256")),
    )
    op.create_index(op.f("ix_listening_participants_test_id"), "listening_participants", ["test_id"])
    op.create_table(
        "listening_ratings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("participant_id", sa.Integer(), nullable=False),
        sa.Column("trial", sa.String(length=400), nullable=False),
        sa.Column("condition", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant_id"],
            ["listening_participants.id"],
            name=op.f("fk_listening_ratings_participant_id_listening_participants"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listening_ratings")),
        sa.UniqueConstraint(
            "participant_id", "trial", "condition", name=op.f("uq_listening_ratings_participant_id_trial_condition")
        ),
    )
    op.create_index(op.f("ix_listening_ratings_participant_id"), "listening_ratings", ["participant_id"])
    op.create_table(
        "listening_stimuli",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("test_id", sa.String(length=12), nullable=False),
        sa.Column("clip", sa.String(length=400), nullable=False),
        sa.Column("condition", sa.String(length=200), nullable=False),
        sa.Column("submission_id", sa.String(length=12), nullable=True),
        sa.Column("credit", sa.Text(), nullable=False),
        sa.Column("media_type", sa.String(length=40), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_listening_stimuli_submission_id_submissions")
        ),
        sa.ForeignKeyConstraint(
            ["test_id"], ["listening_tests.id"], name=op.f("fk_listening_stimuli_test_id_listening_tests")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listening_stimuli")),
        sa.UniqueConstraint("test_id", "clip", "condition", name=op.f("uq_listening_stimuli_test_id_clip_condition")),
    )
    op.create_index(op.f("ix_listening_stimuli_submission_id"), "listening_stimuli", ["submission_id"])
    op.create_index(op.f("ix_listening_stimuli_test_id"), "listening_stimuli", ["test_id"])


def downgrade() -> None:
    """Go back."""
    op.drop_table("listening_stimuli")
    op.drop_table("listening_ratings")
    op.drop_table("listening_participants")
    op.drop_table("listening_tests")
