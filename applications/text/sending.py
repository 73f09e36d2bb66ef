"""Sends requests to models on the network: retries, rates, time limits, and errors that tell nothing secret."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import requests
from urllib3.exceptions import HTTPError

from codec_superb.applications.errors import AnswerBroken, ModelUnusable, PredictionFailed
from codec_superb.applications.text.endpoint_settings import Connection

# time-out, conflict, too early (RFC 8470), too many requests; those of 500 and above are tried again too
AGAIN = frozenset({408, 409, 425, 429})
LONGEST_WAIT_S = 60.0
"""Between two tries, unless the server names a time."""
PATIENCE_S = 900.0
"""A server that asks for a longer wait ends the run."""
LARGEST = 256 << 20
"""Bytes of an answer: 2,048 vectors of 3,072 numbers in decimals are 130 MB."""
_PIECE = 1 << 16
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance; tests have their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    """In [0, 1)."""


class Refused(PredictionFailed):
    """The server takes this request never; the refusal is kept, so that it is not sent again."""


class _Again(Exception):
    """Worth another try, after ``wait`` seconds where the server names them."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _Answered(NamedTuple):
    """An answer of the server."""

    found: Any
    hold: float
    """Seconds until the server takes the next request, by its rate headers."""


class Sender:
    """One server: a session, and the rates that it allows."""

    def __init__(self, settings: Connection, clock: Clock = Clock()) -> None:
        """Open no connection yet. Raises MissingModel without a key."""
        self._settings, self._clock, self._key = settings, clock, settings.key()
        header = {"x-goog-api-key": self._key} if settings.gemini else {"Authorization": f"Bearer {self._key}"}
        self._session = requests.Session()
        # A .netrc would put another key in place of the named one.
        self._session.trust_env = False
        self._session.proxies = requests.utils.get_environ_proxies(settings.url)
        self._session.headers.update(header if self._key else {})
        self._pace = Pace(settings.rates, clock)

    def send(self, method: str, body: Mapping[str, Any], tokens: int = 0) -> Any:
        """Return the JSON that is answered at the address and ``method`` after it; ``tokens`` count for the rates.

        Raises Refused for a request that the server does not take, AnswerBroken for an answer that stays broken,
        ModelUnusable for what would be the same for every clip: key, name, address, a server that stays busy or away.
        """
        for attempt in range(self._settings.retries + 1):
            self._pace.wait(tokens)
            try:
                answered = self._once(method, body)
            except _Again as error:
                self._wait(attempt, error)
                continue
            self._pace.hold(answered.hold)
            return answered.found
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def plain(self, text: str) -> str:
        """Return a text of the server without the key, should it repeat it."""
        return text.replace(self._key, "[key]") if self._key else text

    def _wait(self, attempt: int, error: _Again) -> None:
        name = self._settings.model
        if attempt >= self._settings.retries:
            tried = f"{attempt + 1} tries"
            if isinstance(error, _Broken):
                raise AnswerBroken(f"{name}: {error}, after {tried}; the same command asks again") from None
            raise ModelUnusable(f"{name}: {error}, after {tried}; what is answered is kept: try again later") from None
        grown = min(self._settings.backoff_s * 2.0**attempt, LONGEST_WAIT_S)
        # by chance, so that clients that were refused together do not come back together
        wait = min(grown * (0.5 + self._clock.chance()), LONGEST_WAIT_S)
        if error.wait is not None:
            if error.wait > PATIENCE_S:
                raise ModelUnusable(
                    f"{name}: the server asks to wait {error.wait:.0f} s; what is answered is kept: try again then"
                ) from None
            wait = max(error.wait, 0.0)
        self._pace.hold(wait)

    def _once(self, method: str, body: Mapping[str, Any]) -> _Answered:
        begun = self._clock.now()
        try:
            with self._session.post(
                # allow_redirects: requests would repeat a redirected POST as a GET without its body (rebuild_method,
                # 301 to 303)
                self._settings.url + method, json=body, timeout=self._settings.timeout_s, allow_redirects=False,
                stream=True,
            ) as response:  # fmt: skip
                content = self._read(response, begun)
                return self._judged(response, content)
        except (requests.RequestException, HTTPError, OSError) as error:
            raise _Again(f"the server does not answer ({type(error).__name__})") from None

    def _read(self, response: requests.Response, begun: float) -> bytes:
        content = bytearray()
        # read1 returns what has come; read would wait for a whole piece of a server that trickles
        while piece := response.raw.read1(_PIECE, decode_content=True):
            content += piece
            if len(content) > LARGEST:
                raise Refused(f"{self._settings.model}: expected at most {LARGEST} bytes of answer, got more")
            if self._clock.now() - begun > self._settings.timeout_s:
                raise _Again(f"the answer takes longer than {self._settings.timeout_s:g} s")
        return bytes(content)

    def _judged(self, response: requests.Response, content: bytes) -> _Answered:
        status, name = response.status_code, self._settings.model
        if status in AGAIN or status >= requests.codes.server_error:
            raise _Again(f"the server is busy or fails (status {status})", retry_after(response.headers))
        if status in {401, 403}:
            raise ModelUnusable(
                f"{name}: the server refuses the key in {self._settings.key_variable or 'no variable'} ({status}); "
                "correct the key, or name its variable as key_variable"
            )
        if status == requests.codes.not_found:
            raise ModelUnusable(f"{name}: the server knows no such model or address (404); correct model and url")
        if status in {400, 413, 415, 422}:
            raise Refused(f"{name}: the server refuses the request ({status}): {self._said(content)}")
        if status != requests.codes.ok:
            raise ModelUnusable(f"{name}: expected an answer, got status {status}; correct the url")
        try:
            found = json.loads(self.plain(content.decode()))
        except (ValueError, RecursionError):
            kind = response.headers.get("Content-Type", "no type")
            raise _Broken(f"expected JSON, got {len(content)} bytes of {self.plain(kind)[:60]}") from None
        # gateways put the failure of the server behind them into an answer of status 200
        if isinstance(found, dict) and found.get("error") and not (found.get("choices") or found.get("candidates")):
            raise _Broken(f"the server answers with an error: {self._said(content)}")
        return _Answered(found, rate_hold(response.headers))

    def _said(self, content: bytes) -> str:
        text = " ".join(self.plain(content[:4000].decode(errors="replace")).split())
        return "".join(letter for letter in text[:200] if letter.isprintable()) or "no reason"


class _Broken(_Again):
    """An answer that is none; where it stays so, the clip fails and the run goes on."""


class Pace:
    """Spaces requests: requests and tokens of any minute stay below their limits, and holds of the server are kept."""

    def __init__(self, limits: tuple[int | None, int | None], clock: Clock) -> None:
        """``limits``: requests and tokens of a minute."""
        self._limits = limits
        self._clock = clock
        self._sent: deque[tuple[float, int]] = deque()
        self._until = 0.0
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        if seconds > 0:
            with self._lock:
                self._until = max(self._until, self._clock.now() + seconds)

    def wait(self, tokens: int) -> None:
        """Sleep until a request of so many tokens may be sent, and count it."""
        while True:
            with self._lock:
                now = self._clock.now()
                left = max(self._until - now, self._full_for(now, tokens))
                if left <= 0:
                    self._sent.append((now, tokens))
                    return
            self._clock.sleep(left)

    def _full_for(self, now: float, tokens: int) -> float:
        while self._sent and self._sent[0][0] <= now - 60.0:
            self._sent.popleft()
        most, most_tokens = self._limits
        full = most is not None and len(self._sent) >= most
        if self._sent and most_tokens is not None:
            full |= sum(count for _, count in self._sent) + tokens > most_tokens
        return self._sent[0][0] + 60.0 - now if full else 0.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``Retry-After`` (RFC 9110: a number, or a date), None without one that can be read."""
    told = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", told):
        return float(told)
    try:
        return max((parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def rate_hold(headers: Mapping[str, str]) -> float:
    """Return for how long nothing is left by OpenAI's rate headers (``x-ratelimit-…``: ``1s``, ``6m0s``, ``20ms``)."""
    held = 0.0
    for of in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{of}", "").strip() == "0":
            told = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", headers.get(f"x-ratelimit-reset-{of}", ""))
            held = max(held, sum(float(number) * _UNITS[unit] for number, unit in told))
    return min(held, PATIENCE_S)
