"""What the service answers, or a maintainer's command says, when it cannot do what was asked: classes with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class OperationError(Exception):
    """What stops a command of the maintainers (``serve``, ``admin``); its text is shown without a traceback."""


class ServerError(Exception):
    """Base of all answers that are not success; ``detail`` says what was expected, what came and what to do.

    One handler turns it into ``{"error": <class name>, "detail": <text>, "problems": […]}`` for programs, and into a
    page for people who asked for HTML.
    """

    status = 500

    def __init__(
        self, detail: str, *, problems: Sequence[dict[str, Any]] = (), headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = list(problems)
        """Each ``{path, expected, got, how_to_fix}``."""
        self.headers = headers or {}


class BadRequest(ServerError):
    """The request itself is malformed."""

    status = 400


class Unauthenticated(ServerError):
    """No token or session, or one that is wrong, expired or revoked."""

    status = 401


class Forbidden(ServerError):
    """Known, but not allowed: scope, ownership or a missing CSRF token."""

    status = 403


class NotFound(ServerError):
    """Nothing of that name is public."""

    status = 404


class Conflict(ServerError):
    """It contradicts what is there: a codec name of somebody else, a decision that was already made."""

    status = 409


class TooLarge(ServerError):
    """The body is larger than the limit."""

    status = 413


class Misdirected(ServerError):
    """The request names a host that this service does not answer for."""

    status = 421


class Refused(ServerError):
    """A submission that does not pass its check; ``problems`` lists why."""

    status = 422


class TooManyRequests(ServerError):
    """The limit of this token or address is used up; ``Retry-After`` says until when."""

    status = 429


class Unavailable(ServerError):
    """The service cannot do it right now: the database is away, or all workers are busy."""

    status = 503


class FileMissing(Unavailable):
    """The file of a submission is not where it was stored."""

    def __init__(self, sha256: str) -> None:
        super().__init__(
            f"the file of this submission (SHA-256 {sha256}) is not in its place, which the maintainers can see; "
            "who has it can send the same file again, which puts it back"
        )
        self.sha256 = sha256


class FileChanged(Unavailable):
    """The object of a file in a store is not what was put there, or came otherwise."""


class InternalError(ServerError):
    """A fault of this program. The log has its traceback; the answer has only the number of the request."""

    status = 500
