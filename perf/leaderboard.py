"""Measures the latency of the leaderboard with 200 and with 2,000 submissions, while an upload is being processed.

    python perf/leaderboard.py --databases sqlite postgresql --sizes 200 2000
    python perf/leaderboard.py --databases postgresql --sizes 2000 --processes 2

Fills a database with made submissions (``leaderboard_rows.py``; 10 million clip rows at 2,000), starts the service as
``codec-superb serve`` does, sends 100 requests a second from another process (``leaderboard_load.py``) and, all the
while, one real submission file of some 5,000 rows after another. PostgreSQL is started here, on a socket of its own.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import http.client
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from leaderboard_rows import (
    MOST_CLIPS,
    PerfDataset,
    checked,
    codec,
    datasets,
    document,
    part,
    rows_of,
)

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.submission.archive import write_archive
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.schema import CLIPS_NAME, SUBMISSION_NAME
from codec_superb.pipeline.tables.clips import write_table
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Account, Codec, Submission
from codec_superb.server.database.session import Database, record_change
from codec_superb.server.datasets.service import DatasetFacts, add
from codec_superb.server.ingest import repository
from codec_superb.server.people import tokens
from codec_superb.server.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
HERE = Path(__file__).parent
PROGRAM = "import sys; from codec_superb.cli.main import call; sys.exit(call(sys.argv[1:]))"
"""The command ``codec-superb``."""
VARIANTS = 150
"""Versions of the file that is uploaded over and over."""
UPLOADED_CLIPS = 240
"""Clips of each dataset in it: some 5,000 rows."""
ACCOUNTS = 20
"""Senders, of which each has every twentieth family: what most have of a thing is counted by sender."""


def prepare(database: Database) -> str:
    """Register the datasets, make the accounts; return the secret of the token of one that uploads besides."""
    with database.transaction(write=True) as session:
        for dataset in datasets():
            manifest = load_manifest(dataset.name)
            known = KnownDataset(dataset.manifest_hash, dict.fromkeys(dataset.clips, KnownClip(dataset.category)))
            add(session, DatasetFacts(dataset.name, manifest.title, manifest.licence, known))
        for number in range(ACCOUNTS):
            tokens.account_of(session, f"sender{number}")
        return tokens.create(session, "perf", ["submit", "metrics"], actor="perf")[1]


def fill(database: Database, folder: Path, first: int, last: int, copies: int) -> int:
    """Store submissions number ``first`` to ``last - 1``; return how many clip rows they have.

    Each is stored under as many names as ``copies``, with the same rows: making them costs more than storing them. Each
    copy has 1 % more bits in its results than the one before: equal points would all be of one front.
    Their files in ``folder`` are empty: the service looks whether they are there (decision 60), nobody asks for one.
    """
    rows = 0
    for start in range(first, last, 20):
        with database.transaction(write=True) as session:
            for number in range(start, min(start + 20, last)):
                sender = f"sender{number // 5 % ACCOUNTS}"
                random = np.random.default_rng(number)
                made = checked(random, codec(number), sizes(random))
                accepted = made.outcome.accepted
                assert accepted is not None
                columns = repository.submission_columns(accepted)
                for copy in range(copies):
                    name = accepted.submission.codec.name + (f"_copy{copy}" if copy else "")
                    account = session.query(Account).filter_by(name=sender).one()
                    sha256 = hashlib.sha256(name.encode()).hexdigest()
                    (folder / f"{sha256}.zip").touch(0o600)
                    entry = Submission(
                        id=repository.new_id(), codec=Codec(name=name, owner=account), version=1,
                        file_sha256=sha256, file_size=1_000_000,
                        status="verified" if number % 10 == 0 else "self-reported", account=account, notes=[],
                        warnings=[], **columns | {"card": {**columns["card"], "name": name}},
                    )  # fmt: skip
                    entry.results.extend(repository.results(accepted))
                    for result in entry.results:
                        result.kbps = result.kbps and result.kbps * (1 + copy / 100)
                    session.add(entry)
                    session.flush()
                    session.add_all(repository.blocks(entry.id, made))
                    record_change(session, entry.id, entry.status)
                    rows += accepted.clips
                    session.expunge_all()
    return rows


def sizes(random: np.random.Generator) -> list[tuple[PerfDataset, int]]:
    """Draw what a submission was run on: everything, one category, or a part of everything; 5,000 rows on average."""
    kind = random.random()
    if kind < 0.35:
        return [(dataset, MOST_CLIPS) for dataset in datasets()]
    if kind < 0.65:
        category = CATEGORIES[int(random.integers(3))]
        return [(dataset, MOST_CLIPS) for dataset in datasets() if dataset.category == category]
    count = int(random.integers(50, 300))
    return [(dataset, count) for dataset in datasets()]


def submission_files(count: int) -> list[bytes]:
    """Pack a submission of some 5,000 rows as ``pack`` does, in versions that differ in their date alone.

    No two calls give the same file: the service would recognise it and have nothing to do.
    """
    newest = datetime.now(UTC)
    random, made = np.random.default_rng(10**6), codec(10**6)
    parts = [part(random, made, dataset, UPLOADED_CLIPS) for dataset in datasets()]
    rows = [row for entry in parts for row in rows_of(entry)]
    table = io.BytesIO()
    described = document(made.card, parts, aggregate([], metrics=[]))
    write_table(table, rows, described.metrics)
    expected = {dataset.name: len(dataset.clips) for dataset in datasets()}
    numbers = aggregate(rows, metrics=sorted(described.metrics), expected=expected)
    digest = hashlib.sha256(table.getvalue()).hexdigest()
    whole = described.model_copy(update={"aggregates": numbers, "clips_sha256": digest})
    files = []
    for number in range(count):
        created = (newest - timedelta(seconds=number)).isoformat()
        dated = whole.model_copy(update={"created": created}).seal()
        out = io.BytesIO()
        write_archive(out, {SUBMISSION_NAME: dated.to_json(), CLIPS_NAME: table.getvalue()})
        files.append(out.getvalue())
    return files


@dataclass
class Uploads:
    """Sends one file after another until stopped."""

    port: int
    secret: str
    files: list[bytes]
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Upload; the next begins when the one before has been answered."""
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/zip"}
        while not self.stop.is_set():
            if not self.files:
                self.refused.append("no file was left to upload; raise VARIANTS")
                return
            begun = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
            connection.request("POST", "/api/v1/submissions", self.files.pop(), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            if answer.status != 201:
                self.refused.append(f"{answer.status} {body[:300]}")
            self.seconds.append(time.perf_counter() - begun)
            connection.close()


@contextmanager
def service(url: str, storage: Path) -> Iterator[tuple[int, int, float]]:
    """Run ``codec-superb serve`` on a free port; yield port, process id and the seconds until it was ready."""
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0"]
    begun = time.perf_counter()
    with (storage / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--database", url, "--storage", str(storage), "--log-format", "json"],
            stdout=subprocess.PIPE, stderr=log, text=True,
            env=os.environ | {"CODEC_SUPERB_SERVER_UPLOADS_PER_HOUR": "100000"},
        )  # fmt: skip
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        fetch(port, "/readyz")
        yield port, process.pid, time.perf_counter() - begun
        if process.poll() is not None:
            raise SystemExit(f"the service ended by itself with code {process.returncode}; see {storage / 'log'}")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def fetch(port: int, path: str) -> bytes:
    """Ask once; the body, unpacked."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (path, answer.status, body[:300])
    connection.close()
    return gzip.decompress(body) if answer.getheader("content-encoding") == "gzip" else body


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def measure(
    url: str, storage: Path, secret: str, files: list[bytes], rate: float, seconds: float, processes: int
) -> dict[str, Any]:
    """Start the service with a cold cache, put it under load and uploads, and describe what came of it.

    Of several processes, which share the load, the first receives the uploads.
    """
    with ExitStack() as stack:
        services = [stack.enter_context(service(url, storage)) for _ in range(processes)]
        port, pid, started = services[0]
        uploads = Uploads(port, secret, files)
        thread = threading.Thread(target=uploads.run)
        thread.start()
        time.sleep(0.5)
        load: list[str] = [
            sys.executable,
            str(HERE / "leaderboard_load.py"),
            "127.0.0.1",
            *(str(each) for each, _, _ in services),
            "--rate",
            str(rate),
        ]
        try:
            load += ["--seconds", str(seconds)]
            output = subprocess.run(load, stdout=subprocess.PIPE, text=True, check=True).stdout
        finally:
            uploads.stop.set()
            thread.join()
        if uploads.refused:
            raise SystemExit(f"uploads did not go on to the end: {uploads.refused[0]}")
        return {
            "latency_ms": json.loads(output),
            "uploads": len(uploads.seconds),
            "upload_median_s": statistics.median(uploads.seconds),
            "ready_s": started,
            "memory_mb": resident(pid),
            "page_kb": len(fetch(port, "/")) / 1000,
            "page_gzip_kb": len(gzip.compress(fetch(port, "/"), 6)) / 1000,
        }


@contextmanager
def database_url(kind: str, folder: Path) -> Iterator[str]:
    """Give an empty database with the schema."""
    if kind == "sqlite":
        url = f"sqlite:///{folder / 'leaderboard.sqlite'}"
        upgrade(url)
        yield url
        return
    from support.server.postgres import postgres_server

    with postgres_server() as server, server.database() as url:
        yield url


def main(given: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print a table and the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="+", choices=["sqlite", "postgresql"], default=["sqlite", "postgresql"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 2000])
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--copies", type=int, default=1, help="names under which each submission is stored")
    parser.add_argument("--processes", type=int, default=1, help="of the service, on one PostgreSQL")
    parser.add_argument("--folder", type=Path, help="keep the storage there; temporary otherwise")
    arguments = parser.parse_args(given)
    for kind in arguments.databases:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder, database_url(kind, Path(folder)) as url:
            database = Database(url)
            stored = Settings(database=url, storage=Path(folder)).files
            stored.mkdir(0o700)
            secret, have, rows = prepare(database), 0, 0
            for size in sorted(arguments.sizes):
                begun = time.perf_counter()
                rows += fill(database, stored, have, size, arguments.copies)
                have = size
                print(f"{kind}: {size} submissions, {rows} clip rows, made in {time.perf_counter() - begun:.0f} s")
                files = submission_files(VARIANTS)
                result = measure(
                    url, Path(folder), secret, files, arguments.rate, arguments.seconds, arguments.processes
                )
                print(json.dumps({"database": kind, "submissions": size, "clip_rows": rows, **result}))
                sys.stdout.flush()
            database.close()


if __name__ == "__main__":
    main()
