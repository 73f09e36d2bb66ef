"""Submissions on datasets that are not of the benchmark are custom: shown, never ranked, never a current version.

A program of the schema before would rank them: going back withdraws them, and their status is kept in their document,
from which going forward restores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEPT = "before_withdrawal"
REASON = "custom results, which this version of the service would rank"
_COLUMNS = [sa.column(name, sa.String()) for name in ("id", "status", "reason")]
SUBMISSIONS = sa.table("submissions", *_COLUMNS, sa.column("custom", sa.Boolean()), sa.column("document", sa.JSON()))


def upgrade() -> None:
    """Go forward."""
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("custom", sa.Boolean(), nullable=False, server_default=sa.false()))
    for row in _custom_rows():
        document = dict(row.document)
        before = document.pop(KEPT, {})
        _set(row.id, custom=True, document=document, **(before if row.status == "withdrawn" else {}))


def downgrade() -> None:
    """Go back."""
    for row in _custom_rows():
        if row.status != "withdrawn":
            before = {"status": row.status, "reason": row.reason}
            _set(row.id, status="withdrawn", reason=REASON, document={**row.document, KEPT: before})
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("custom")


def _custom_rows() -> Sequence[Any]:
    columns = [column for column in SUBMISSIONS.c if column.name != "custom"]
    statement = sa.select(*columns).where(SUBMISSIONS.c.document["kind"].as_string() == "custom")
    return op.get_bind().execute(statement).all()


def _set(identity: str, **values: Any) -> None:
    op.get_bind().execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == identity).values(**values))
