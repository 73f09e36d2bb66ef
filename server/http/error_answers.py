"""The JSON schema of error answers, and their documentation for every path in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from codec_superb.server.http.api_model import ApiModel


class ProblemAnswer(ApiModel):
    """One fault of a request."""

    path: str
    """The parameter, or the member of a submission file and the place in it."""
    expected: str
    got: str
    how_to_fix: str


class ErrorAnswer(ApiModel):
    """The body of every error answer."""

    error: str
    """Kind of error."""
    detail: str
    """What was expected, what came, and what to do."""
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
    # FastAPI documents a 422 of its own unless 422, 4XX or default is declared; this service never sends it.
    "default": {"model": ErrorAnswer, "description": "any other error"},
}  # fmt: skip
"""Error answers that every path may give; a path's own description of a status takes precedence."""
