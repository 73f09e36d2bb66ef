"""Submissions under a condition (lost packets, noise, …) are shown apart, never ranked, never a current version.

A program of the schema before would rank them: going back withdraws them, and their status is kept in their document,
from which going forward restores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEPT = "before_withdrawal_of_condition"
REASON = "results under a condition, which this version of the service would rank"
_COLUMNS = [sa.column(name, sa.String()) for name in ("id", "status", "reason")]
SUBMISSIONS = sa.table("submissions", *_COLUMNS, sa.column("condition", sa.String()), sa.column("document", sa.JSON()))


def upgrade() -> None:
    """Go forward."""
    with op.batch_alter_table("submissions") as batch:
        batch.add_column(sa.Column("condition", sa.String(100), nullable=False, server_default=""))
    for row in _rows():
        document = dict(row.document)
        before = document.pop(KEPT, {})
        restored = {name: before[name] for name in ("status", "reason") if name in before}
        label = before.get("condition") or document["condition"]["name"]
        _set(row.id, condition=label, document=document, **(restored if row.status == "withdrawn" else {}))


def downgrade() -> None:
    """Go back."""
    conditions = dict(op.get_bind().execute(sa.select(SUBMISSIONS.c.id, SUBMISSIONS.c.condition)).all())
    for row in _rows():
        # one that is withdrawn already stays so
        before = {} if row.status == "withdrawn" else {"status": row.status, "reason": row.reason}
        kept = {KEPT: {**before, "condition": conditions[row.id]}}
        _set(row.id, document={**row.document, **kept}, **({"status": "withdrawn", "reason": REASON} if before else {}))
    with op.batch_alter_table("submissions") as batch:
        batch.drop_column("condition")


def _rows() -> Sequence[Any]:
    columns = [column for column in SUBMISSIONS.c if column.name != "condition"]
    name = SUBMISSIONS.c.document["condition"]["name"].as_string()
    return op.get_bind().execute(sa.select(*columns).where(name.is_not(None))).all()


def _set(identity: str, **values: Any) -> None:
    op.get_bind().execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == identity).values(**values))
