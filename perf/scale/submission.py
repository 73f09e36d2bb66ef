"""A submission of many clips: ``python perf/scale/submission.py RUNS`` packs, checks and submits runs that are there.

The leaderboard runs on this machine, on SQLite in a folder that is removed at the end, and knows the datasets of the
runs where they are prepared here. For each step: seconds of the clock, processor seconds, and peak memory (VmHWM); of
``submit`` those of the client, then of the service and of the process that checks.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from many_clips import RUN, Step, peak_of, print_steps, watched

from codec_superb.pipeline.submission.parts.writing import files_of

TICKS = os.sysconf("SC_CLK_TCK")


def measure_files(runs: Path, out: Path) -> dict[str, Step]:
    """Pack runs, in parts where they have more rows than a file holds, and check them."""
    packed = watched(["pack", str(runs), "--out", str(out), "--samples", "0", "--submitter", "Ann"])
    files = files_of(out)
    print(f"submission of {sum(file.stat().st_size for file in files) / 1e6:.1f} MB in {len(files)} files")
    return {"pack": packed, "check": watched(["check", str(out)])}


def measure_upload(out: Path, folder: Path, *datasets: str) -> dict[str, Step]:
    """Submit a file to a leaderboard of its own."""
    os.environ["CODEC_SUPERB_SERVER_STORAGE"] = str(folder)
    folder.mkdir()
    with served() as (address, peaks):  # which makes the database
        for name in datasets:
            run("admin", "datasets", "add", name)
        os.environ["CODEC_SUPERB_TOKEN"] = run("admin", "token", "create", "ann").split()[-1]
        sent = watched(["submit", str(out), "--server", address])
    return {"submit, client": sent} | {f"submit, {name}": step for name, step in peaks.items()}


@contextmanager
def served() -> Iterator[tuple[str, dict[str, Step]]]:
    """Run the service; give its address and, at the end, what it and its checks took."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address, found, over = f"http://127.0.0.1:{port}", dict[str, Step](), Event()
    service = subprocess.Popen([sys.executable, "-c", RUN, "serve", "--port", str(port)], stderr=subprocess.DEVNULL)
    watching = Thread(target=_watch, args=(service.pid, found, over))
    try:
        while not _ready(address):
            time.sleep(0.5)
        watching.start()
        yield address, found
    finally:
        over.set()
        watching.join()
        service.terminate()
        service.wait()


def _ready(address: str) -> bool:
    try:
        return bool(urllib.request.urlopen(f"{address}/readyz").status == 200)
    except OSError:
        return False


def _watch(service: int, found: dict[str, Step], over: Event) -> None:
    began = time.monotonic()
    while not over.wait(0.05):
        for pid in (service, *_below(service)):
            name = "the service" if pid == service else "a check"
            old = found.get(name, Step(0, 0, 0))
            processor, peak = _processor(pid), peak_of(pid)
            found[name] = Step(time.monotonic() - began, max(old.processor, processor), max(old.peak_mib, peak))


def _below(pid: int) -> list[int]:
    """Return the processes that descend from one."""
    try:
        tasks = [task.joinpath("children").read_text().split() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    children = [int(child) for its in tasks for child in its]
    return [*children, *(below for child in children for below in _below(child))]


def _processor(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS  # proc(5): utime and stime


def run(*arguments: str) -> str:
    """Run a command of the program; return what it prints."""
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--dataset", action="append", default=[], help="one that the leaderboard is to know")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "submission.zip"
        found = measure_files(given.runs, out)
        print_steps(found | measure_upload(out, Path(place) / "server", *given.dataset))
    return 0


if __name__ == "__main__":
    sys.exit(main())
