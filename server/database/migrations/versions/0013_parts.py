"""Files that hold rows of submissions in parts, and those that were sent before what describes them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from codec_superb.server.database.base import Moment

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

oldest = "0010"
"""The oldest schema whose programs may run on this one."""
