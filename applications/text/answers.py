"""What a generative reader's JSON says: the answer, ``No Answer``, or nothing that can be read."""

from __future__ import annotations

import json

NO_ANSWER = "No Answer"
INVALID = ""
"""An answer that cannot be read; scorers count it as invalid."""


def answer_of_json(text: str) -> str:
    """Return ``answer`` of a JSON object, or ``No Answer``; '' for JSON that does not parse or says something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return INVALID
    if found == NO_ANSWER:
        return NO_ANSWER
    answer = found.get("answer") if isinstance(found, dict) else None
    return answer if isinstance(answer, str) else INVALID
