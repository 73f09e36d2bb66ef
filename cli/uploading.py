"""Upload submission files to a leaderboard, with retries; an upload is idempotent, since files are known by hash.

A submission in parts goes on where it stopped: the server says which parts it has.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import requests
import urllib3

from codec_superb import __version__
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables import strict_json

ATTEMPTS = 8
LONGEST_PAUSE = 60.0
"""Seconds between two attempts, unless the server asks for more."""
REFUSED_SECONDS = 15.0
"""Seconds of pauses after which a port where nobody listens counts as the wrong one: a server that restarts is back."""
_TIMEOUT = (10.0, 900.0)
"""Seconds to connect, and between two bytes: the server checks the file before it answers, of fifty parts for 720 s."""
_ANSWER_SECONDS = 120.0
"""For the body of an answer: a server that sends a byte now and then is none that dies, and waits for nothing."""
_ADDRESS, _PARTS = "/api/v1/submissions", "/api/v1/parts"
_LONGEST_WAIT = 3600.0
"""Seconds between two attempts at most, whatever the server asks for."""
_ANSWER_LIMIT = 4_000_000
"""Bytes of an answer that are read, unpacked: a receipt with all problems of a file has a few hundred thousand."""


class ServerUnreachable(PipelineError):
    """The leaderboard does not answer, or its answer is not one of a leaderboard."""


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The server's answer to an upload."""

    status: int
    """HTTP status: 200 known before, 201 new, 4xx refused."""
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the leaderboard stores the file."""
        return self.status in {HTTPStatus.OK, HTTPStatus.CREATED}


class _Bearer(requests.auth.AuthBase):
    """Sends the token only; without an ``auth`` argument requests sends credentials from ~/.netrc."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def send(
    file: Path,
    server: str,
    token: str | None,
    *,
    parts: Mapping[str, Path] | None = None,
    attempts: int = ATTEMPTS,
    first_pause: float = 1.0,
    say: Callable[[str], None] = lambda _: None,
) -> UploadResult:
    """Send one file, streamed from the disk, and return the answer.

    Of ``parts``, by SHA-256, those that the server does not have are sent before the file that describes them, and once
    more where they expired while the file was checked.
    Transient failures (no connection, 5xx, too many requests) are retried up to ``attempts`` times with exponential
    back-off, announced through ``say``. Raises ServerUnreachable when they persist, sooner where nobody listens, and
    at once for a name without an address and for the address of a page.
    """
    _expect_site(server)
    line = _Line(server, token, attempts, first_pause, say)
    lacking = _lacking(line, parts or {})
    for _ in range(2):
        for sha256, part in lacking.items():
            sent = line.ask(part.name, lambda: line.put(f"{_PARTS}/{sha256}", part), {"sha256"})  # noqa: B023 -- called here
            if not sent.accepted:
                return sent
            say(f"{part.name}: sent")
        answer = line.ask(file.name, lambda: line.post(_ADDRESS, file), _RECEIPT)
        if answer.status != HTTPStatus.CONFLICT or not (lacking := _lacking(line, parts or {})):
            break
    return answer


def _lacking(line: _Line, parts: Mapping[str, Path]) -> Mapping[str, Path]:
    """Return the parts that the server does not have; all where it does not say."""
    if not parts:
        return parts
    told = line.ask("parts", lambda: line.get(_PARTS), {"parts"})
    here = {entry["sha256"] for entry in told.answer.get("parts", [])}
    if found := len(here & parts.keys()):
        line.say(f"{found} of {len(parts)} parts were sent before")
    return {sha256: part for sha256, part in parts.items() if sha256 not in here}


class _Line(NamedTuple):
    """A leaderboard and who talks to it."""

    server: str
    token: str | None
    attempts: int
    first_pause: float
    say: Callable[[str], None]

    def ask(self, what: str, request: Callable[[], requests.Response], needed: set[str]) -> UploadResult:
        """Try a request until there is an answer, which has what is ``needed`` where the request was accepted."""
        reason, refused = "", 0.0
        for attempt in range(self.attempts):
            pause = min(self.first_pause * 2**attempt, LONGEST_PAUSE)
            try:
                response = request()
                data = read_answer(response)
            except _NO_ADDRESS as error:
                told = f"expected an address such as https://leaderboard.example, got {self.server!r}"
                raise ServerUnreachable(told) from error
            except _PASSING as error:
                if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
                    raise ServerUnreachable(
                        f"the name in {self.server} is not known to this machine's network: correct the address, or "
                        "try again when you are connected"
                    ) from error
                reason = _why(error)
                nobody = any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))
                refused = refused + pause if nobody else 0.0
                if refused > REFUSED_SECONDS:
                    raise ServerUnreachable(
                        f"nobody listens at {self.server} ({reason}): check host and port"
                    ) from error
            else:
                refused = 0.0
                if response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR and response.status_code != _TOO_MANY:
                    return UploadResult(response.status_code, _body(response, data, self.server, needed))
                reason = f"the server answered {response.status_code}: {_plain(data.decode(errors='replace')[:200])}"
                pause = max(pause, _retry_after(response))
            if attempt + 1 < self.attempts:
                self.say(f"{what}: {reason}; attempt {attempt + 2} of {self.attempts} in {pause:g} s")
                time.sleep(pause)
        raise ServerUnreachable(f"{what} could not be sent to {self.server} in {self.attempts} attempts: {reason}")

    def get(self, path: str) -> requests.Response:
        """Ask for something."""
        return self._request("GET", path)

    def put(self, path: str, file: Path) -> requests.Response:
        """Send a file to its place."""
        with file.open("rb") as body:
            return self._request("PUT", path, data=body)

    def post(self, path: str, file: Path) -> requests.Response:
        """Send a file."""
        with file.open("rb") as body:
            return self._request("POST", path, data=body)

    def _request(self, method: str, path: str, **given: Any) -> requests.Response:
        headers = {"User-Agent": f"codec-superb/{__version__}"} | ({"Content-Type": "application/zip"} if given else {})
        # allow_redirects: requests would repeat a redirected POST as a GET without its body (rebuild_method, 301 to
        # 303); stream: it would read an answer of any length
        return requests.request(
            method, self.server.rstrip("/") + path, headers=headers, auth=_Bearer(self.token), timeout=_TIMEOUT,
            allow_redirects=False, stream=True, **given,
        )  # fmt: skip


def withdraw(identity: str, server: str, token: str | None, reason: str) -> UploadResult:
    """Ask a leaderboard to take back a submission of the token's account, once. Raises ServerUnreachable."""
    _expect_site(server)
    address = f"{server.rstrip('/')}{_ADDRESS}/{quote(identity, safe='')}/withdraw"
    try:
        response = requests.post(
            address, json={"reason": reason}, auth=_Bearer(token), timeout=_TIMEOUT, allow_redirects=False,
            stream=True, headers={"User-Agent": f"codec-superb/{__version__}"},
        )  # fmt: skip
        data = read_answer(response)
    except requests.RequestException as error:
        raise ServerUnreachable(f"{identity} could not be withdrawn at {server}: {_why(error)}") from error
    return UploadResult(response.status_code, _body(response, data, server, _RECEIPT))


def _expect_site(server: str) -> None:
    """Raise ServerUnreachable for the address of a page: the path of uploads is added to that of the site."""
    parts = urlsplit(server)
    if parts.netloc and (parts.path.strip("/") or parts.query):
        site = f"{parts.scheme}://{parts.netloc}"
        raise ServerUnreachable(f"expected the address of the leaderboard alone, {site}, got {server}")


_TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
_PASSING = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
"""Errors of a server that dies; the last one occurs when it dies between header and body of its answer."""
_NO_ADDRESS = (
    requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema,
)  # fmt: skip
_RECEIPT = {"codec", "version", "status"}
"""What every answer to a stored submission has."""


def _body(response: requests.Response, data: bytes, server: str, needed: set[str]) -> dict[str, Any]:
    if response.is_redirect:
        raise ServerUnreachable(
            f"{server} sends on to {response.headers.get('Location', '')!a}; give that address if you trust it"
        )
    try:
        body = strict_json.loads(data)
    except PipelineError:
        body = None
    if not isinstance(body, dict) or not _is_answer(body, needed if response.ok else set()):
        raise ServerUnreachable(
            f"expected a leaderboard at {server}, got an answer of status {response.status_code} that is not one's"
        )
    plain: dict[str, Any] = _plain(body)
    return plain


def read_answer(response: requests.Response) -> bytes:
    """Read an answer, and no more or longer than one is: whoever answers may not be a leaderboard."""
    end, found = time.monotonic() + _ANSWER_SECONDS, bytearray()
    try:
        with response:
            while len(found) < _ANSWER_LIMIT and (part := response.raw.read1(_ANSWER_LIMIT, decode_content=True)):
                found += part
                if time.monotonic() > end:
                    raise requests.ReadTimeout(f"the answer was not through after {_ANSWER_SECONDS:g} s")
            return bytes(found[:_ANSWER_LIMIT])
    except urllib3.exceptions.HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error


def _is_answer(body: dict[str, Any], needed: set[str]) -> bool:
    """Whether an answer has what is told: what is ``needed``, lists of problems, warnings, parts and notes."""
    entries: dict[str, set[str]] = {"problems": set(), "warnings": {"where", "text"}, "parts": {"sha256"}}
    lists = all(
        isinstance(found := body.get(name, []), list)
        and all(isinstance(each, dict) and names <= each.keys() for each in found)
        for name, names in entries.items()
    )
    return lists and needed <= body.keys() and isinstance(body.get("notes", []), list)


def _plain(value: Any) -> Any:
    """Replace what a terminal would obey (control characters), in all texts of an answer."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(each) for name, each in value.items()}
    return value


def _retry_after(response: requests.Response) -> float:
    # RFC 9110, 10.2.3: seconds, or a date, which no leaderboard sends
    said = response.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_WAIT) if said.isascii() and said.isdigit() else 0.0


def _why(error: requests.RequestException) -> str:
    return f"no connection ({innermost(error)})"


def innermost(error: BaseException) -> BaseException:
    """Return the cause of all; requests, urllib3 and the socket nest their messages in one another."""
    return list(_causes(error))[-1]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was raised for, down to the first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
