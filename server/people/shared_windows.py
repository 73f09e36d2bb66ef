"""Moving windows of requests in PostgreSQL, for the package ``limits``: every process on the database counts in them.

``limits`` counts in Redis, Memcached and MongoDB, none of which the service needs; this is its interface over a table.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

from limits.storage import MovingWindowSupport, Storage
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import SQLAlchemyError

from codec_superb.server.database.session import LOCK_SECONDS, make_engine
from codec_superb.server.people.secret import keyed_hash
from codec_superb.server.settings import Settings

_CLASS = 0x0C0DED
"""First half of the keys of the advisory locks, which serialise the requests of one counter."""
_MOVING_ONLY = "expected a MovingWindowRateLimiter: fixed windows are not counted here"
_SWEPT = 200
"""Counted requests of this process from one removal of what has expired to the next."""
_LOCK = text("SELECT pg_advisory_xact_lock(:kind, hashtext(:key))")
_USED = text(
    "SELECT count(*), extract(epoch FROM clock_timestamp() - min(at)) FROM rate_hits "
    "WHERE key = :key AND at > clock_timestamp() - make_interval(secs => :seconds)"
)
_HIT = text(
    "INSERT INTO rate_hits (id, key, at, expires) "
    "VALUES (:id, :key, clock_timestamp(), clock_timestamp() + make_interval(secs => :seconds))"
)
_SWEEP = text(
    "DELETE FROM rate_hits WHERE id IN "
    "(SELECT id FROM rate_hits WHERE expires < clock_timestamp() LIMIT 10000 FOR UPDATE SKIP LOCKED)"
)


class MovingWindows(Storage, MovingWindowSupport):
    """What is a moving window alone."""

    STORAGE_SCHEME = None

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Refuse: a counter that begins anew at fixed times lets twice its limit pass around them."""
        raise NotImplementedError(_MOVING_ONLY)

    def get(self, key: str) -> int:
        """Refuse alike."""
        raise NotImplementedError(_MOVING_ONLY)

    def get_expiry(self, key: str) -> float:
        """Refuse alike."""
        raise NotImplementedError(_MOVING_ONLY)


class SharedWindows(MovingWindows):
    """The storage of a :class:`~limits.strategies.MovingWindowRateLimiter`; times are those of the database's clock."""

    def __init__(self, settings: Settings) -> None:
        """Connect lazily."""
        super().__init__()
        # connections of its own: a request counts within its transaction, and a burst of such requests would wait for
        # each other's second connection until all time out
        self._engine = make_engine(settings.database_url, pool_size=1, max_overflow=4)
        event.listen(self._engine, "connect", _prepare)
        self._hashed = partial(keyed_hash, settings)
        self._hits = count(1)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count ``amount`` requests unless more than ``limit`` would lie within ``expiry`` seconds; whether it did."""
        hashed = self._hashed(key)
        with self._engine.begin() as connection:
            # the count must see what whoever had the lock before has written: a statement of its own
            connection.execute(_LOCK, {"kind": _CLASS, "key": hashed})
            used, _ = _used(connection, hashed, expiry)
            if used + amount > limit:
                return False
            connection.execute(_HIT, [{"id": uuid4().hex, "key": hashed, "seconds": expiry} for _ in range(amount)])
        if next(self._hits) % _SWEPT == 0:
            with self._engine.begin() as connection:
                connection.execute(_SWEEP)
        return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002 - of ``limits``
        """Return the time of the oldest request in the window, on this machine's clock, and their number."""
        with self._engine.begin() as connection:
            used, age = _used(connection, self._hashed(key), expiry)
        return time.time() - age, used

    @property
    def base_exceptions(self) -> type[Exception]:
        """What the database raises."""
        return SQLAlchemyError

    def check(self) -> bool:
        """Return whether the database answers."""
        with self._engine.connect() as connection:
            return connection.execute(text("SELECT true")).scalar_one() is True

    def clear(self, key: str) -> None:
        """Forget one counter."""
        with self._engine.begin() as connection:
            connection.execute(text("DELETE FROM rate_hits WHERE key = :key"), {"key": self._hashed(key)})

    def reset(self) -> int:
        """Forget all; return how many requests they had counted."""
        with self._engine.begin() as connection:
            return connection.execute(text("DELETE FROM rate_hits")).rowcount

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _used(connection: Connection, key: str, seconds: int) -> tuple[int, float]:
    """Count the requests in the window; also seconds since the oldest, 0 for none."""
    used, age = connection.execute(_USED, {"key": key, "seconds": seconds}).one()
    return used, float(age or 0)


def _prepare(connection: Any, _record: Any) -> None:
    # counts of the last moment may be lost with the power: nothing waits for the disk
    connection.execute(f"SET synchronous_commit = off; SET lock_timeout = '{LOCK_SECONDS}s'")
    connection.commit()
