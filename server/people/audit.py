"""Write the audit log, in the transaction of the audited action."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from codec_superb.server.database.models import AuditEntry


def record(session: Session, actor: str, action: str, subject: str, **detail: Any) -> None:
    """Add an entry; ``action`` has the form ``<object>.<event>``, such as ``submission.accepted``."""
    session.add(AuditEntry(actor=actor[:200], action=action, subject=subject[:200], detail=detail))
