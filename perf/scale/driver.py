"""What the driver costs a clip, in processor time of it alone, least of the rounds: ``python perf/scale/driver.py``.

Tasks without work go through two worker processes in blocks, each gives one row, and the row is journalled; then the
journal is opened, each row is looked up, and the table is written, as at the end of a stage.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.tables.clips import write_table
from codec_superb.pipeline.tables.rows import ClipRow, ResynthesisRow
from codec_superb.pipeline.workers.blocks import stream_in_blocks
from codec_superb.pipeline.workers.executor import Executor, TaskResult


def row_of(clip: str) -> Iterator[ResynthesisRow]:
    """Inside a worker: yield a row like those of resynthesis."""
    yield ResynthesisRow(
        clip=clip, dataset="clips", category="speech", status="ok", sampling_rate=8000, samples=800, bits=6400,
        encode_s=0.001, decode_s=0.001, lag_samples=0, clipped_samples=0, resynthesis_sha256="ab" * 32,
    )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    from driver import row_of as task  # by this name workers find it

    clips = [f"{number // 100:04}/{number:08}.wav" for number in range(given.clips)]
    least: dict[str, float] = {}

    def timed(name: str, action: Callable[[], object]) -> None:
        started = time.process_time()
        action()
        taken = (time.process_time() - started) / given.clips * 1e6
        least[name] = min(taken, least.get(name, taken))

    def stream(journal: Journal[ResynthesisRow], pool: Executor) -> None:
        with closing(stream_in_blocks(pool, task, clips, len(clips))) as events:
            for event in events:
                if isinstance(event, TaskResult):
                    journal.append(event.value)

    def once(path: Path, pool: Executor) -> None:
        with Journal(path, ResynthesisRow) as journal:
            timed("tasks out, rows in and journalled", lambda: stream(journal, pool))
        timed("journal opened", lambda: Journal(path, ResynthesisRow).close())
        with Journal(path, ResynthesisRow) as journal:
            rows = filter(None, map(journal.last, clips))
            timed("table written", lambda: write_table(path.with_suffix(""), map(ClipRow.of, rows), ()))

    with Executor(2) as pool, tempfile.TemporaryDirectory() as place:
        for turn in range(given.rounds):
            once(Path(place) / f"{turn}.jsonl", pool)
    print(f"{given.clips} clips, load {os.getloadavg()[0]:.1f}\n")
    print("| step | µs of the driver a clip | clips a second |\n|---|---|---|")
    for name, taken in least.items():
        print(f"| {name} | {taken:.0f} | {1e6 / taken:.0f} |")


if __name__ == "__main__":
    main()
