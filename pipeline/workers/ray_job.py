"""The program that talks to Ray: keeps actors, gives them tasks, gives tasks of lost machines again.

It is a process of its own, so that Ray's threads, signals, logs and sudden ends stay out of the one that was called.
What it does not pass on it does not unpickle.
"""

from __future__ import annotations

import logging
import platform
import queue
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import ray
from ray.exceptions import ActorDiedError, OutOfMemoryError, RayError, RayTaskError
from ray.util.metrics import Counter, Gauge

from codec_superb.pipeline.workers.package_facts import differing, package_facts
from codec_superb.pipeline.workers.ray_slot import Greeting, actor_class

TRIES = 3
"""Actors that a task may cost on machines that live; then it fails, as one does that ends its worker process."""
MACHINES = 10
"""Machines that may be lost under a task; then it is to blame."""
QUICK_S = 0.2
"""An actor whose tasks are quicker has the next one waiting beside it: a round trip would else be idle time."""
TICK_S = 1.0
"""Seconds between looks at the cluster."""
SOON_S = 10.0
"""Seconds after which an actor should have started, and without any the user is told what is waited for."""
LOG_SHOWN = 200
NOBODY = "; start it there (`ray start --head`), or name another"
OTHERS = (
    ", which listens: a cluster with a token, as `ray start` makes where there is one, takes those alone that have it: "
    "set RAY_AUTH_MODE=token, and copy its ~/.ray/auth_token"
)
"""Ray asks a cluster that refuses it for 15 s, and then says no more than that it failed."""
RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""Options of an actor, and Ray's names of these resources."""


class Terms(NamedTuple):
    """What the program is given."""

    address: str | None
    """None: Ray's own choice, that of RAY_ADDRESS, a cluster of this machine, or one that ends with this program."""
    options: dict[str, Any]
    """Options of an actor: what it needs."""
    limit: int | None
    """Actors at most; None: what the cluster has room for."""
    patience: float
    """Seconds without any actor after which the run ends."""
    path: tuple[str, ...]
    folder: str


@dataclass(slots=True, eq=False)
class _Task:
    """A task that was taken from its source."""

    number: int
    payload: bytes
    timeout: float | None
    deaths: int = 0
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Actor:
    """An actor and its tasks, of which it computes the first."""

    handle: Any
    since: float
    """When it was started, on the monotonic clock."""
    at: Greeting | None = None
    """None until it has answered first."""
    tasks: dict[int, _Task] = field(default_factory=dict)
    depth: int = 0
    """Tasks that it may have."""


def main(link: Connection[Any, Any], terms: Terms) -> None:
    """Serve tasks until the link is closed."""
    more = NOBODY
    try:
        _knock(terms.address)
        more = OTHERS
        ray.init(terms.address, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:  # noqa: BLE001 - Ray raises many: no cluster there, one of another version of Ray or Python
        advice = more if isinstance(error, OSError) else ""
        link.send(("error", f"cannot begin on {terms.address or 'Ray'}: {error}{advice}"))
        return
    try:
        _Job(link, terms).serve()
    except RayError as error:
        link.send(("error", f"Ray: {error}"))
    finally:
        ray.shutdown()


def _knock(address: str | None) -> None:
    """Raise OSError where nobody listens at ``HOST:PORT``; Ray itself asks for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return  # a word of Ray's, or the address of its client
    if host in {"localhost", "127.0.0.1"}:
        host = ray.util.get_node_ip_address()  # as Ray takes them
    socket.create_connection((host, int(port)), timeout=SOON_S).close()


class _Job:
    """Tasks, actors, and who has what."""

    def __init__(self, link: Connection[Any, Any], terms: Terms) -> None:
        self._link, self._terms = link, terms
        self._inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._class: Any = ray.remote(actor_class()).options(max_restarts=0, max_task_retries=0, **terms.options)
        self._actors: list[_Actor] = []
        self._waiting: deque[_Task] = deque()
        self._places: deque[_Actor] = deque()
        """Actors that may take a task, those without any at the right end; an entry may be out of date."""
        self._room = 0
        """Tasks that all actors may have."""
        self._given = 0
        self._offered = 0
        """Places that the caller was told of and has not used yet."""
        self._seen = time.monotonic()
        """When there was an actor last."""
        self._told = False
        self._why = ""
        self._meters = _Meters()

    def serve(self) -> None:
        """Work until the caller closes the link."""
        threading.Thread(target=self._read, daemon=True).start()
        last = 0.0
        while True:
            if (now := time.monotonic()) - last >= TICK_S:
                last = now
                self._tick(now)
            try:
                kind, *parts = self._inbox.get(timeout=TICK_S)
            except queue.Empty:
                continue
            if kind == "closed":
                return
            if kind == "task":
                self._offered -= 1
                self._waiting.append(parts[0])
            elif kind == "greeting":
                self._greeted(*parts)
            else:
                self._answered(*parts)
            self._fill()

    def _read(self) -> None:
        """Read tasks as they come, in a thread: the caller never waits for this program to take one."""
        with suppress(EOFError, OSError):
            while True:
                self._inbox.put(("task", _Task(*self._link.recv())))
        self._inbox.put(("closed",))

    def _when_done(self, reference: Any, *parts: Any) -> None:
        reference.future().add_done_callback(lambda future: self._inbox.put((*parts, future)))

    def _tick(self, now: float) -> None:
        """Start actors where there is room, lose patience where there is none, and show how it goes."""
        ready = [actor for actor in self._actors if actor.at is not None]
        if ready:
            self._seen, self._told = now, False
        elif not self._told and now - self._seen > SOON_S:
            self._told = True
            self._link.send(("tell", f"waiting for a {self._wanted()}"))
        elif now - self._seen > self._terms.patience:
            self._link.send(
                ("error", f"there was no {self._wanted()} for {self._terms.patience:g} s; run the command again")
            )
        if self._waiting or all(actor.tasks for actor in ready):
            self._grow(now)
        under = sum(len(actor.tasks) for actor in ready)
        running = sum(1 for actor in ready if actor.tasks)
        self._meters.show(now, actors=len(ready), running=running, waiting=under - running + len(self._waiting))

    def _grow(self, now: float) -> None:
        """Start actors where the cluster has room; one waits where there is none, which autoscalers see."""
        here = ray.available_resources()
        room = min(int(here.get(name, 0) / amount) for name, amount in self._needs().items())
        pending = [actor for actor in self._actors if actor.at is None]
        # room beside an actor that has waited long: Ray has given it to a machine that is gone, and will notice
        young = sum(1 for actor in pending if now - actor.since < SOON_S)
        new = room - young if room else not pending
        if self._terms.limit is not None:
            new = min(new, self._terms.limit - len(self._actors))
        for _ in range(new):
            actor = _Actor(self._class.remote(), now)
            self._actors.append(actor)
            greeting = actor.handle.greet.remote(platform.python_version(), self._terms.path, self._terms.folder)
            self._when_done(greeting, "greeting", actor)

    def _needs(self) -> dict[str, float]:
        options = self._terms.options
        named = {name: options[option] for option, name in RESOURCES.items()} | options["resources"]
        return {name: amount for name, amount in named.items() if amount}

    def _wanted(self) -> str:
        needs, has = self._needs(), ray.cluster_resources()
        room = ", ".join(f"{name} {amount:g} of {has.get(name, 0):g}" for name, amount in needs.items())
        why = f"; the last one that was lost: {self._why}" if self._why else ""
        return f"machine of the Ray cluster with room for an actor ({room}){why}"

    def _greeted(self, actor: _Actor, future: Any) -> None:
        """Let an actor work, or refuse its machine."""
        error = future.exception()
        if isinstance(error, RayTaskError):
            self._link.send(("error", f"a worker of Ray cannot start: {error}"))
        elif error is not None:
            self._lose(actor, error)
        else:
            actor.at = at = Greeting(*future.result())
            mine, its = str(package_facts()), at.package
            if mine == its:
                mine, its = differing(package_facts().packages, at.packages)
            if mine != its:
                found = f"here is {mine}, on {at.host} {its}"
                self._link.send(("error", f"expected the same packages on all machines: {found}"))
            elif not at.folder:
                folder = self._terms.folder
                self._link.send(
                    ("error", f"expected the folder of the call on all machines, {at.host} has no {folder}")
                )
            else:
                self._set_depth(actor, 1)

    def _answered(self, actor: _Actor, task: _Task, future: Any) -> None:
        """Pass on what came of a task, or give it again where its machine was lost."""
        if task.number not in actor.tasks:
            return  # its actor was lost before, and the task given to another
        error = future.exception()
        if isinstance(error, RayTaskError):
            self._link.send(("error", f"a worker of Ray failed: {error}"))
        elif error is not None:
            self._lose(actor, error)
        else:
            del actor.tasks[task.number]
            self._given -= 1
            seconds, events = future.result()
            self._set_depth(actor, 2 if seconds < QUICK_S else 1)
            self._meters.count(sum(1 for event in events if event[0] == "value"))
            self._link.send(("done", task.number, events))

    def _lose(self, actor: _Actor, error: RayError) -> None:
        """Give the tasks of a lost actor again; one that has cost too many fails."""
        if actor not in self._actors:
            return
        self._actors.remove(actor)
        ray.kill(actor.handle)  # one that is out of reach may still run
        memory = isinstance(error, OutOfMemoryError)
        machine = not memory and not (isinstance(error, ActorDiedError) and _lives(actor.at))
        what, where = "machine" if machine else "worker", f" on {actor.at.host}" if actor.at is not None else ""
        words = str(error).strip().splitlines()
        # Ray ends with the reason, but for memory, where figures are second and the last line names its manual
        who = f"a {what}{where}" if actor.at is not None else "an actor that had not begun"
        self._why = f"{who}: {(' '.join(words[:2]) if memory else words[-1])[:LOG_SHOWN]}"
        tasks = list(actor.tasks.values())
        self._room -= actor.depth
        self._given -= len(tasks)
        actor.tasks, actor.depth = {}, 0
        for task in tasks[:1]:
            task.losses += machine
            task.deaths += not machine
            if task.deaths >= TRIES or task.losses >= MACHINES:
                count = task.losses if machine else task.deaths
                # the same words each time: they become part of a row
                reason = f"{count} {what}s of Ray were lost while they computed it"
                self._link.send(("done", task.number, [("crash", 0, reason, self._why, False)]))
                tasks = tasks[1:]
        if tasks:
            self._link.send(("tell", f"Ray lost a {what}{where}; its work is given to another"))
        self._waiting.extendleft(reversed(tasks))

    def _fill(self) -> None:
        """Give waiting tasks to actors with the fewest, and tell the caller of the places that are left."""
        while self._waiting and self._places:
            actor = self._places.pop()
            if actor.at is None or len(actor.tasks) >= actor.depth:
                continue
            task = self._waiting.popleft()
            actor.tasks[task.number] = task
            self._given += 1
            self._when_done(actor.handle.run.remote(task.payload, task.timeout), "answer", actor, task)
        free = self._room - self._given
        if not self._waiting and free > self._offered:
            self._link.send(("free", free - self._offered))
            self._offered = free

    def _set_depth(self, actor: _Actor, depth: int) -> None:
        """Change how many tasks an actor may have, and note the places that it has now."""
        self._room += depth - actor.depth
        actor.depth = depth
        for taken in range(depth - 1, len(actor.tasks) - 1, -1):
            (self._places.appendleft if taken else self._places.append)(actor)


def _lives(at: Greeting | None) -> bool:
    """Whether a machine is still in the cluster."""
    return at is not None and any(node["Alive"] and node["NodeID"] == at.node for node in ray.nodes())


class _Meters:
    """What Ray's dashboard shows of a run."""

    def __init__(self) -> None:
        self._results = Counter("codec_superb_results", "Results of clips: rows, scores, answers.")
        self._rate = Gauge("codec_superb_results_per_second", "Results of clips per second, over the last seconds.")
        self._gauges = {
            "actors": Gauge("codec_superb_actors", "Actors that work for this run."),
            "running": Gauge("codec_superb_tasks_running", "Tasks that actors compute."),
            "waiting": Gauge("codec_superb_tasks_waiting", "Tasks that were taken and wait for an actor."),
        }
        self._recent: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], maxlen=10)
        self._total = 0

    def count(self, results: int) -> None:
        """Count results."""
        if results:
            self._total += results
            self._results.inc(results)

    def show(self, now: float, **values: int) -> None:
        """Set the gauges."""
        then, before = self._recent[0]
        self._recent.append((now, self._total))
        self._rate.set((self._total - before) / max(now - then, TICK_S))
        for name, value in values.items():
            self._gauges[name].set(value)
