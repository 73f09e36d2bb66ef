"""What an answer that is no success looks like to a program, and how the OpenAPI document says so of every path."""

from __future__ import annotations

from typing import Any

from codec_superb.server.http.api_model import ApiModel


class ProblemAnswer(ApiModel):
    """One thing that is wrong with what was sent."""

    path: str
    """The parameter, or the member of a submission file and the place in it."""
    expected: str
    got: str
    how_to_fix: str


class ErrorAnswer(ApiModel):
    """Any answer that is no success."""

    error: str
    """Kind of error."""
    detail: str
    """What was expected, what came, what to do."""
    problems: list[ProblemAnswer]


def error_responses(errors: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    """Document the errors of a path: status to description."""
    return {status: {"model": ErrorAnswer, "description": text} for status, text in errors.items()}


EVERYWHERE: dict[int | str, dict[str, Any]] = {
    **error_responses({
        400: "a parameter does not fit; problems names each",
        404: "nothing of that name is public",
        429: "too many requests; Retry-After says when to go on",
        503: "the service cannot do it right now; Retry-After says when to try again",
    }),
    # Also keeps FastAPI from promising a 422 of its own, which this service does not send.
    "default": {"model": ErrorAnswer, "description": "any other error"},
}  # fmt: skip
"""Answers that every path may give; what a path says itself of a status goes before."""
