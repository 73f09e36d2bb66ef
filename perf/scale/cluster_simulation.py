"""Where a run on a cluster stops growing: ``python perf/scale/cluster_simulation.py``, a discrete-event simulation.

Workers ask a driver for blocks of clips, compute them, and send a row a clip back; the driver takes rows and hands out
blocks one after the other. Nodes start one by one, as a cluster grants them, and are lost at random with the block that
each of their workers has. ``one`` is a single driver for all nodes, ``shards`` a driver on each node, whose runs are
merged afterwards. What a clip costs worker and driver is measured (``own_part.py``, ``driver.py``); the rest are
assumptions, stated in ``scaling.md``. A minute is simulated; the other clips go at the rate of its second half.
"""

from __future__ import annotations

import argparse
import heapq
import random
from typing import NamedTuple

MERGE_DRIVER_S, MERGE_WORKER_S = 7.4e-6, 40e-6
"""Seconds of a merge for a clip: of its driver, which writes journals and table, and of the workers, which read the
journals of shards and link the sound (``many_clips.py --shards``)."""


class Cluster(NamedTuple):
    """What is simulated."""

    nodes: int
    workers: int = 16
    """Of a node."""
    clip_s: float = 0.042
    """Seconds of a worker for a clip."""
    driver_s: float = 0.00043
    """Seconds of the driver for a clip."""
    trip_s: float = 0.001
    """Seconds that a message takes there and back."""
    block_s: float = 0.25
    start_s: float = 3.0
    """Seconds of a worker before its first clip."""
    grant_s: float = 0.02
    """Seconds between the starts of two nodes."""
    lost_a_day: float = 0.05
    """Share of the nodes that is lost in a day; as many come back."""


class Outcome(NamedTuple):
    """What came of it."""

    clips_a_second: float
    busy: float
    """Share of the workers' time in which they compute."""
    driver: float
    """Share of the driver's time in which it is busy; of one of them, in shards."""


def simulate(of: Cluster, drivers: int, seconds: float, seed: int = 0) -> Outcome:
    """Return rates over the second half of ``seconds``."""
    generator = random.Random(seed)
    clips = max(1, round(of.block_s / of.clip_s))
    free = [0.0] * drivers
    served = [0.0] * drivers
    lost_a_second = of.lost_a_day / 86_400
    # (time, worker, clips that it brings back)
    events = [
        (node * of.grant_s + of.start_s, node * of.workers + worker, 0)
        for node in range(of.nodes)
        for worker in range(of.workers)
    ]
    heapq.heapify(events)
    half, done = seconds / 2, 0
    while events and events[0][0] < seconds:
        now, worker, brings = heapq.heappop(events)
        driver = worker // of.workers % drivers
        begun = max(now, free[driver])
        # its rows, and the next block
        free[driver] = begun + (brings + 1) * of.driver_s
        served[driver] += max(0.0, min(free[driver], seconds) - max(begun, half))
        if half < free[driver] <= seconds:
            done += brings
        takes = clips * of.clip_s * generator.uniform(0.8, 1.2)
        if generator.random() < takes * lost_a_second:  # a node that is gone takes its blocks with it
            heapq.heappush(events, (free[driver] + takes + of.start_s, worker, 0))
        else:
            heapq.heappush(events, (free[driver] + of.trip_s + takes, worker, clips))
    workers = of.nodes * of.workers
    return Outcome(done / half, done * of.clip_s / half / workers, max(served) / half)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", type=float, default=1e9)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clip-ms", type=float, default=1000 * Cluster(1).clip_s)
    parser.add_argument("--driver-us", type=float, default=1e6 * Cluster(1).driver_s)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 10, 30, 100, 1000])
    given = parser.parse_args()
    print("| nodes | drivers | clips a second | workers busy | driver busy | hours | merge, hours |")
    print("|---|---|---|---|---|---|---|")
    for nodes in given.nodes:
        cluster = Cluster(nodes, clip_s=given.clip_ms / 1000, driver_s=given.driver_us / 1e6)
        for name, drivers in (("one", 1), ("shards", nodes)):
            found = simulate(cluster, drivers, given.seconds)
            hours = given.clips / found.clips_a_second / 3600
            a_clip = max(MERGE_DRIVER_S, MERGE_WORKER_S / cluster.workers)
            merge = f"{given.clips * a_clip / 3600:.1f}" if name == "shards" else "–"
            print(
                f"| {nodes} | {name} | {found.clips_a_second:,.0f} | {found.busy:.0%} | {found.driver:.0%} "
                f"| {hours:,.1f} | {merge} |"
            )


if __name__ == "__main__":
    main()
