"""Machines of Ray that come and go: a program that keeps them on loopback addresses, and what tests tell it.

It is a program of its own so that Ray's signal handlers, logs and warnings stay out of the tests' process.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

T = TypeVar("T")
TRIES = 5
SHARED_MEMORY = 80_000_000
"""Bytes of shared memory of a machine, the least that Ray takes."""


class RayNodes:
    """A head without cores, and machines; each has a loopback address that no other process of tests uses."""

    def __init__(self) -> None:
        self.path = os.pathsep.join(path for path in sys.path if path)
        environment = os.environ | {
            "PYTHONPATH": self.path,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "40",
        }
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the program
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            text=True, env=environment, start_new_session=True,
        )  # fmt: skip
        self.address: str = self._ask("head")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.__exit__(None, None, None)  # closes its input, which ends it, and waits
        self._log.close()

    def add(self, cores: int = 1, *, wait: bool = True, **more: Any) -> int:
        """Start a machine and return its number; with ``wait`` it has joined."""
        return int(self._ask("add", {"num_cpus": cores, "wait": wait, **more}))

    def kill(self, number: int) -> None:
        """Kill all processes of a machine at once."""
        self._ask("kill", number)

    def kill_head(self) -> None:
        """Kill the head, with all that the cluster knows."""
        self._ask("kill_head")

    def metrics(self) -> str:
        """Return what all machines tell Prometheus."""
        return str(self._ask("metrics"))

    def _ask(self, what: str, argument: object = None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, argument]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._log.seek(0)
            raise AssertionError(f"{what} ended the machines: {self._log.read()[-3000:]}")
        return json.loads(answer)


def main() -> None:
    """Do what the lines of standard input say, until they end."""
    from ray.cluster_utils import Cluster

    answers, sys.stdout = sys.stdout, sys.stderr
    nodes: dict[int, Any] = {}
    # not below pytest's folder: a socket's path has at most 107 bytes
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as place:
        # where Ray notes the last cluster of this machine, which programs without an address would join; it makes no
        # folder for that
        os.environ["RAY_TMPDIR"] = place
        Path(place, "ray").mkdir()
        net = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
        head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": place}
        cluster = _started(lambda: Cluster(initialize_head=True, head_node_args=head | _place(f"{net}.2")))
        address = cluster.address
        try:
            for line in sys.stdin:
                what, argument = json.loads(line)
                answer: object = None
                if what == "head":
                    answer = address
                elif what == "add":
                    answer = len(nodes)
                    here, more = f"{net}.{3 + len(nodes)}", argument | {"temp_dir": place}
                    nodes[len(nodes)] = _started(lambda here=here, more=more: cluster.add_node(**_place(here), **more))
                elif what == "kill":
                    cluster.remove_node(nodes[argument], allow_graceful=False)
                elif what == "kill_head":
                    cluster.remove_node(cluster.head_node, allow_graceful=False)
                else:
                    living = cluster.list_all_nodes()
                    answer = "".join(_read(node.node_ip_address, node.metrics_export_port) for node in living)
                print(json.dumps(answer), file=answers, flush=True)
        finally:
            for node in cluster.list_all_nodes():
                node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)


def _started(start: Callable[[], T]) -> T:
    """Start a machine, and again where it does not start.

    A raylet of Ray 2.60 waits 15 s for its agents, which no setting changes, and a busy machine is slower.
    """
    for _ in range(TRIES - 1):
        try:
            return start()
        except Exception as error:  # noqa: BLE001 - Ray raises Exception itself
            print("started again:", error)
    return start()


def _place(address: str) -> dict[str, Any]:
    """Give the arguments of a machine on ``address``.

    Two heads of one machine would else want the same ports.
    """
    agents = ("dashboard_agent_listen_port", "metrics_agent_port", "metrics_export_port", "runtime_env_agent_port")
    names = (*agents, "dashboard_port")
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for each in sockets:
            each.bind((address, 0))
        ports = {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}
    return {"node_ip_address": address, "object_store_memory": SHARED_MEMORY, **ports}


def _read(address: str, port: int) -> str:
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose modules have names of others
    main()
