"""What the service signed, and when: cookies and tokens of forms."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from itsdangerous import BadSignature, URLSafeTimedSerializer

from codec_superb.server.database.models import now

CLOCKS = timedelta(minutes=1)
"""Tolerance for differences between the clocks of several machines."""


def read_stamped(serializer: URLSafeTimedSerializer, value: str, seconds: float) -> tuple[Any, datetime] | None:
    """Return what was signed at most so many seconds ago, and when; None for anything else."""
    try:
        content, signed = serializer.loads(value, return_timestamp=True)
    except BadSignature:
        return None
    # not max_age: itsdangerous refuses the stamp of a machine whose clock is a second ahead
    return (content, signed) if -CLOCKS <= now() - signed <= timedelta(seconds=seconds) else None
