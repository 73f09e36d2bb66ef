"""ASGI middleware for every request: request id, log entry, meters, and answers to unexpected exceptions.

It is plain ASGI and not Starlette's BaseHTTPMiddleware, whose overhead would matter: a cached answer takes less than a
millisecond.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from codec_superb.server.errors import InternalError
from codec_superb.server.http.error_pages import answer
from codec_superb.server.operations.logs import LOGGED_MARK, get_logger
from codec_superb.server.operations.meters import UNMATCHED, Meters, meters

HEALTH_PATHS = frozenset({"/healthz", "/readyz", "/metrics-internal"})
POLLED_PATHS = HEALTH_PATHS | {"/local/revision"}
"""Asked for every few seconds: successes are counted, but logged at level debug."""
CLIENT_CLOSED_REQUEST = 499
"""Status in logs and meters of a request whose client disconnected before the answer began (nginx's code)."""
_ID = re.compile(rb"[A-Za-z0-9_.-]{8,64}")
_log = get_logger("codec_superb.server.requests")


def catch_unexpected(app: FastAPI) -> None:
    """Answer unhandled exceptions; called before other middleware is added, to be innermost."""
    app.add_middleware(UnexpectedErrors)


def observe(app: FastAPI) -> None:
    """Log and count each request; called after other middleware was added, to be outermost."""
    app.add_middleware(Observer, meters=meters(app))


class UnexpectedErrors:
    """Logs the traceback of an unexpected exception once and answers with the request id only."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = False

        async def tracking(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self.app(scope, receive, tracking)
        except ClientDisconnect:  # in the middle of its body: nobody is there to be answered, and nothing is at fault
            return
        except Exception as error:
            _log.exception("unexpected error", route=route_of(scope))
            if began:  # the status has been sent: raising makes the server close the connection
                setattr(error, LOGGED_MARK, True)
                raise
            number = scope.get("state", {}).get("request_id", "unknown")
            apology = InternalError(f"a fault of this service, not of the request; it is logged as request {number}")
            await answer(Request(scope), apology)(scope, receive, send)


class Observer:
    """Gives each request an id, and adds one entry to log and meters when it has ended."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self.app = app
        self.meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number = _number(scope)
        scope.setdefault("state", {})["request_id"] = number
        status = sent = 0

        async def counting(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        tokens = bind_contextvars(request_id=number)
        began = time.perf_counter()
        try:
            await self.app(scope, receive, counting)
        except Exception:
            status = status or InternalError.status
            raise
        finally:
            # 499 as nginx has it: no status was sent, since the client left
            self._end(scope, status or CLIENT_CLOSED_REQUEST, sent, time.perf_counter() - began)
            reset_contextvars(**tokens)

    def _end(self, scope: Scope, status: int, sent: int, seconds: float) -> None:
        """Count and log; addresses, queries and headers are omitted, since they may hold secrets."""
        route, method = route_of(scope), scope["method"]
        self.meters.request(method, route, status, seconds)
        good, ours = status < HTTPStatus.BAD_REQUEST, status >= HTTPStatus.INTERNAL_SERVER_ERROR
        log = _log.debug if route in POLLED_PATHS and good else _log.warning if ours else _log.info
        caller = _caller(scope.get("state", {}))
        path = route if "{token}" in route else scope["path"][:200]  # of a listener, who has no other name
        log(
            "request", method=method, route=route, path=path, status=status,
            seconds=round(seconds, 6), bytes=sent, caller=caller,
        )  # fmt: skip


def route_of(scope: Scope) -> str:
    """Return the path template of the matched route."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else UNMATCHED


def _caller(state: MutableMapping[str, Any]) -> str | None:
    """Return the account's name, where an endpoint has identified it (``request.state.identity``)."""
    name = getattr(state.get("identity"), "name", None)
    return name if isinstance(name, str) else None


def _number(scope: Scope) -> str:
    """Return the id of a valid header X-Request-ID of a proxy or client, otherwise a random one."""
    for name, value in scope["headers"]:
        # only plain characters: the number goes into logs and headers
        if name == b"x-request-id" and _ID.fullmatch(value):
            return bytes(value).decode()
    return secrets.token_hex(8)
