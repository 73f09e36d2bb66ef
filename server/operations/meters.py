"""Prometheus metrics of one application: counters, gauges and histograms, with one method for each event.

An application has its own registry. With several processes, each writes to files in the folder
``PROMETHEUS_MULTIPROC_DIR`` (``codec-superb serve --workers`` creates one), and any of them answers for all, which is
prometheus_client's multiprocess mode.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from sqlalchemy import Engine, event

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"
"""Label of requests without a matching route; requested paths would give unbounded label values."""
Outcome = Literal["accepted", "known", "refused", "failed"]
_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SLOW = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)


class _HasState(Protocol):
    state: Any


def meters(app: _HasState) -> Meters:
    """Return the meters of an application: ``meters(request.app).upload("accepted")``."""
    return cast("Meters", app.state.meters)


class Meters:
    """All meters of one application; times in seconds."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._together = MULTIPROCESS in os.environ
        if not self._together:
            PlatformCollector(registry)
            ProcessCollector(registry=registry)
        self._requests = Counter(
            "codec_superb_requests", "Requests answered", ["method", "route", "status"], registry=registry
        )
        self._request_seconds = Histogram(
            "codec_superb_request_seconds", "Time to the end of the answer", ["method", "route"],
            registry=registry, buckets=_FAST,
        )  # fmt: skip
        self._uploads = Counter("codec_superb_uploads", "Uploads by outcome", ["outcome"], registry=registry)
        self._check_seconds = Histogram(
            "codec_superb_check_seconds", "Time to check a submission", registry=registry, buckets=_SLOW
        )
        self._waiting = Gauge(
            "codec_superb_checks_waiting", "Submissions that wait for a free worker", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self._snapshot_seconds = Histogram(
            "codec_superb_snapshot_seconds", "Time to load what the leaderboard ranks", registry=registry, buckets=_FAST
        )
        self._cache = Counter(
            "codec_superb_cache", "Finished answers looked for", ["cache", "result"], registry=registry
        )
        self._connections = Gauge(
            "codec_superb_database_connections", "Database connections in use", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self._opened = Counter("codec_superb_database_opened", "Database connections opened", registry=registry)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; ``route`` is the path template, never the requested path."""
        # a label that clients choose would make a time series for each invented method
        key = (method if method in METHODS else "other", route, status)
        found = self._children.get(key)
        if found is None:  # looking up children by labels costs more than counting
            found = self._children[key] = (
                self._requests.labels(key[0], route, str(status)),
                self._request_seconds.labels(key[0], route),
            )
        found[0].inc()
        found[1].observe(seconds)

    def upload(self, outcome: Outcome) -> None:
        """Count an upload: accepted, known (the same file again), refused by its check, failed in the service."""
        self._uploads.labels(outcome).inc()

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Measure the duration of a submission's check."""
        with self._check_seconds.time():
            yield

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a submission that waits for a worker until the block ends."""
        with self._waiting.track_inprogress():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Measure a load of the leaderboard's snapshot."""
        with self._snapshot_seconds.time():
            yield

    def cache(self, name: str, *, hit: bool) -> None:
        """Count a hit or miss of the cache ``name``."""
        self._cache.labels(name, "hit" if hit else "miss").inc()

    def watch(self, engine: Engine) -> None:
        """Count the connections of an engine's pool."""
        event.listen(engine, "connect", lambda *_: self._opened.inc())
        event.listen(engine, "checkout", lambda *_: self._connections.inc())
        event.listen(engine, "checkin", lambda *_: self._connections.dec())

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format, summed over all processes."""
        if not self._together:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        # reads the files that all workers write below PROMETHEUS_MULTIPROC_DIR
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
