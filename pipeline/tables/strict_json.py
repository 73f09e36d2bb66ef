"""Strict JSON (RFC 8259) as submissions, attestations and results hold it: same data, same bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from codec_superb import strict_json
from codec_superb.pipeline.errors import SubmissionError


def dumps(data: Any) -> bytes:
    """Write data as UTF-8 JSON with sorted names; SubmissionError for NaN or Infinity."""
    try:
        # sorted names and fixed spaces: a document has one form, and so one hash
        text = json.dumps(data, allow_nan=False, ensure_ascii=False, sort_keys=True, indent=1)
    except ValueError as error:
        raise SubmissionError(f"expected finite numbers only: {error}") from error
    return text.encode() + b"\n"


def loads(data: bytes) -> Any:
    """Read strict JSON; SubmissionError for anything that a strict reader elsewhere would read in another way."""
    try:
        return strict_json.loads(data)
    except strict_json.StrictJsonError as error:
        raise SubmissionError(str(error)) from error


def digest(data: Any) -> str:
    """SHA-256 of the data as :func:`dumps` writes them."""
    return hashlib.sha256(dumps(data)).hexdigest()
