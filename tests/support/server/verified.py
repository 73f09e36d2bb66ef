"""Statements about a submission that was run again, without running one."""

from __future__ import annotations

from typing import Any

from codec_superb.pipeline.verification.draw import seed_of
from codec_superb.pipeline.verification.statement import ClipVerdict, DatasetVerdict, Difference, Machine, Statement

FILE = "7" * 64
NONCE = "01" * 32
_PESQ = Difference(quantity="pesq", submitted=3.5, found=2.5, allowed=0.001)


def statement(*, differs: bool = False, **changes: Any) -> Statement:
    """Make a statement about two of forty clips of ``mini``; of those that differ one clip has another PESQ."""
    file = changes.get("file_sha256", FILE)
    verdict: Any = "differs" if differs else "agrees"
    second = ClipVerdict(
        dataset="mini", clip="b", verdict=verdict, same_sound=True, differences=(_PESQ,) if differs else ()
    )
    usual: dict[str, Any] = {
        "file_sha256": file, "rows_sha256": "6" * 64, "codec": "opus_12k", "nonce": NONCE, "seed": seed_of(file, NONCE),
        "datasets": (DatasetVerdict(name="mini", manifest_hash="5" * 64, clips=40, drawn=2),),
        "clips": (ClipVerdict(dataset="mini", clip="a", verdict="agrees", same_sound=True), second),
        "tolerances": {}, "compared": ("bits", "pesq"), "made": "2026-01-02T03:04:05+00:00", "verdict": verdict,
        "machine": Machine(
            tool_version="1", commit=None, dirty=None, python="CPython 3.11.2", platform="Linux", processor="x86_64",
            device="cpu", packages={"numpy": "2.0"},
        ),
    }  # fmt: skip
    return Statement(**(usual | changes))
