"""Statements about a submission that was run again, without running one, and the clips that they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session
from support.pipeline.stats import draw_rows, sha
from support.server.compare import block

from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.draw import draw, seed_of
from codec_superb.pipeline.verification.statement import ClipVerdict, DatasetVerdict, Difference, Machine, Statement
from codec_superb.server.database.models import Attestation, ClipBlock, Submission

FILE = "7" * 64
NONCE = "01" * 32
_PESQ = Difference(quantity="pesq", submitted=3.5, found=2.5, allowed=0.001)


ROWS = draw_rows(1, 60)
"""Clips of the submissions of these tests on ``mini``: twenty of each category."""


def keep_clips(session: Session, identity: str, rows: Sequence[ClipRow] = ROWS) -> None:
    """Store the clips of a submission."""
    keys = sorted({key for row in rows for key in row.metrics})
    session.add(ClipBlock(submission_id=identity, dataset="mini", rows=len(rows), data=block(rows, keys)))
    document = session.get_one(Submission, identity).document
    assert document["clips_sha256"] == sha("clips")


def attest(session: Session, identity: str, *compared: str, left_out: Sequence[str] = (), agrees: bool = True) -> None:
    """Store an attestation of what was compared, without clips: what a badge covers follows from it."""
    told = {"compared": list(compared), "left_out": list(left_out)}
    row = Attestation(
        submission_id=identity, fingerprint="f" * 64, sha256=hashlib.sha256(identity.encode()).hexdigest(),
        agrees=agrees, document={"statement": told},
    )  # fmt: skip
    session.add(row)


def statement(*, differs: bool = False, **changes: Any) -> Statement:
    """Make a statement about the drawn clips of ``mini``; of those that differ the first has another PESQ."""
    file = changes.get("file_sha256", FILE)
    verdict: Any = "differs" if differs else "agrees"
    drawn = draw(ROWS, seed_of(file, NONCE), changes.pop("drawn", None))["mini"]
    clips = [ClipVerdict(dataset="mini", clip=clip, verdict="agrees", same_sound=True) for clip in drawn]
    if differs:
        clips[0] = clips[0].model_copy(update={"verdict": "differs", "differences": (_PESQ,)})
    usual: dict[str, Any] = {
        "file_sha256": file, "rows_sha256": sha("clips"), "codec": "opus_12k", "nonce": NONCE,
        "seed": seed_of(file, NONCE), "clips": tuple(clips),
        "datasets": (DatasetVerdict(name="mini", manifest_hash=sha("mini"), clips=len(ROWS), drawn=len(drawn)),),
        "tolerances": {}, "compared": ("bits", "pesq"), "made": "2026-01-02T03:04:05+00:00", "verdict": verdict,
        "machine": Machine(
            tool_version="1", commit=None, dirty=None, python="CPython 3.11.2", platform="Linux", processor="x86_64",
            device="cpu", packages={"numpy": "2.0"},
        ),
    }  # fmt: skip
    return Statement(**(usual | changes))
