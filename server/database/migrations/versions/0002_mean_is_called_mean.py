"""The mean of a metric is called ``mean`` in ``results.metrics``, as in submissions; it was called ``value``."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

RESULTS = sa.table("results", sa.column("id", sa.Integer()), sa.column("metrics", sa.JSON()))
AT_ONCE = 1000
"""Rows in memory: a full leaderboard has fifty thousand, each of some ten metrics."""


def upgrade() -> None:
    """Go forward."""
    _rename("value", "mean")


def downgrade() -> None:
    """Go back."""
    _rename("mean", "value")


def _rename(old: str, new: str) -> None:
    """Rename a field of every metric of every result; the others stay as they are."""
    connection, last = op.get_bind(), 0
    update = sa.update(RESULTS).where(RESULTS.c.id == sa.bindparam("row")).values(metrics=sa.bindparam("renamed"))
    while rows := connection.execute(
        sa.select(RESULTS).where(RESULTS.c.id > last).order_by(RESULTS.c.id).limit(AT_ONCE)
    ).all():
        renamed = [
            {
                "row": row.id,
                "renamed": {
                    key: {new if name == old else name: number for name, number in estimate.items()}
                    for key, estimate in row.metrics.items()
                },
            }
            for row in rows
        ]
        connection.execute(update, renamed)
        last = rows[-1].id
