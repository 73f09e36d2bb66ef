"""Sends requests to a leaderboard at fixed times, whatever the answers take, and prints what they took as JSON.

Run by ``leaderboard.py`` as a process of its own. Open loop: each request has a time at which it is due, and its
latency counts from then, which avoids coordinated omission: a stalled server shows in the latency.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from dataclasses import dataclass
from typing import Any

PATHS = ("/", "/api/v1/leaderboard")
_SORTS = ("", "kbps", "codec", "score", "compression_ratio", "pesq")


@dataclass(frozen=True, slots=True)
class Timing:
    """Outcome of one request."""

    path: str
    latency: float
    """Seconds from the time at which it was due."""
    status: int
    size: int
    """Bytes of the body as sent."""


def queries(count: int, seed: int = 0) -> list[str]:
    """Draw different queries: category, metric, bitrates, order, page, source."""
    draw = random.Random(seed)
    found: dict[str, None] = {"": None}
    while len(found) < count:
        chosen: dict[str, str] = {
            "category": draw.choice(["", "audio", "music"]),
            "metric": draw.choice(["", "", "mel", "stft", "si_sdr"]),
            "kbps_max": draw.choice(["", "", "8", "24", "64"]),
            "causal": draw.choice(["", "", "1"]),
            "sort": draw.choice(_SORTS),
            "page": draw.choice(["", "", "2", "3", "7"]),
            "source": draw.choice(["", "", "", "all"]),
        }
        found["&".join(f"{name}={value}" for name, value in chosen.items() if value)] = None
    return list(found)


class Client:
    """Connections that are kept open and taken from a pool."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, target: str) -> tuple[int, int]:
        """Ask for ``target``; return status and size of the body."""
        while self._free:
            kept = self._free.pop()
            try:
                return await self._ask(*kept, target)
            except (asyncio.IncompleteReadError, ConnectionError):  # the server closed the idle connection
                kept[1].close()
        return await self._ask(*await asyncio.open_connection(self._host, self._port), target)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> tuple[int, int]:
        accept = "application/json" if target.startswith("/api/") else "text/html"
        writer.write(
            f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\nAccept-Encoding: gzip\r\n\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        size = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
        await reader.readexactly(size)
        self._free.append((reader, writer))
        return status, size


async def run(clients: list[Client], rate: float, seconds: float, asked: list[str]) -> list[Timing]:
    """Send ``rate`` requests a second for so many seconds, evenly, half of them pages, to one process at random."""
    draw = random.Random(1)
    timings: list[Timing] = []
    start = time.perf_counter() + 0.2

    async def one(number: int) -> None:
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        path, query = PATHS[number % len(PATHS)], draw.choice(asked)
        status, size = await draw.choice(clients).get(f"{path}?{query}" if query else path)
        timings.append(Timing(path, time.perf_counter() - due, status, size))

    await asyncio.gather(*(one(number) for number in range(int(rate * seconds))))
    return timings


def summary(timings: list[Timing]) -> dict[str, Any]:
    """Percentiles of the latency in ms, by path and over all; statuses and largest bodies."""
    result: dict[str, Any] = {}
    for path in ("all", *PATHS):
        mine = [entry for entry in timings if path in {"all", entry.path}]
        ordered = sorted(1000 * entry.latency for entry in mine)
        result[path] = {
            "n": len(ordered),
            **{f"p{share}": ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))] for share in (50, 95, 99)},
            "max": ordered[-1],
            "bytes": max(entry.size for entry in mine),
            "not_200": sum(entry.status != 200 for entry in mine),
        }
    return result


def main() -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("ports", type=int, nargs="+", help="one for each process of the service")
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--queries", type=int, default=400)
    arguments = parser.parse_args()
    clients = [Client(arguments.host, port) for port in arguments.ports]
    timings = asyncio.run(run(clients, arguments.rate, arguments.seconds, queries(arguments.queries)))
    print(json.dumps(summary(timings)))


if __name__ == "__main__":
    main()
