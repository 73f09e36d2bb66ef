"""What opening a clip list in Parquet costs, by its length: memory, time, and time of a look-up.

``python perf/clip_table.py [--clips 10000 10000000] [--folder DIR]``: lists are written by pyarrow alone (ten million
clips take about a minute and 0.5 GB of disk), and opened in a process of their own each. Memory is the peak of the
process above that of one which has imported the same and opened nothing.

``--listed 100000 1000000`` lists as many in parts of a thousand, whose ids lie between those of all others, merges
them, and says the same of it: what listing shards of a store costs beside reading them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_OPEN = """
import json, random, re, sys, time
from pathlib import Path
from codec_superb.data_manifests.lists.clip_table import ClipTable
import pyarrow.parquet
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
before, started = peak(), time.process_time()
table = ClipTable(Path(sys.argv[1])) if len(sys.argv) > 1 else None
opened, seconds = peak(), time.process_time() - started
found = {"opened_mb": (opened - before) / 1e6, "open_s": seconds}
if table is not None:
    ids, draw = table.ids(), random.Random(0)
    for name, places in (("in order", range(10_000)), ("at random", [draw.randrange(len(ids)) for _ in range(100)])):
        started = time.process_time()
        for place in places:
            table.record(ids[place])
        found[f"ms a clip, {name}"] = 1000 * (time.process_time() - started) / len(places)
    found["read_mb"] = (peak() - before) / 1e6
print(json.dumps(found))
"""
_LIST = """
import json, re, sys, time
from pathlib import Path
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, ObjectPart
from codec_superb.data_manifests.lists.clip_table import write_clip_table
from codec_superb.data_manifests.lists.parts import PartLists
from codec_superb.data_manifests.manifest import ManifestLabels
import pyarrow.parquet
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
def clips(part):
    for number in range(1000):
        yield ClipRecord(
            id=f"{number:04}/{part:07}", path=f"{part:07}.tar", category="speech", licence="CC-BY-4.0", attribution="A",
            sampling_rate=16000, frames=16000 + number, sha256=f"{number:032x}{part:032x}", sha256_of="samples",
            object=ObjectPart(version=f'"{part:032x}"', start=number * 4096, size=4000, suffix=".flac"),
            labels=ManifestLabels(text=f"words of utterance {number}", language="en"),
        )
folder, parts = Path(sys.argv[1]), int(sys.argv[2]) // 1000
lists, keys = PartLists(folder / "parts"), [str(part) for part in range(parts)]
before, started = peak(), time.process_time()
for part in range(parts):
    lists.write(keys[part], clips(part), list)
found = {"parts_s": time.process_time() - started, "parts_mb": (peak() - before) / 1e6}
started = time.process_time()
index = DatasetIndex(name="a", manifest_version="1", root="s3://a/b", clips=0, manifest_hash="0" * 64)
assert write_clip_table(folder, index, lists.merged(keys)).clips == parts * 1000
found |= {"merged_s": time.process_time() - started, "merged_mb": (peak() - before) / 1e6}
found["parts_disk_mb"] = sum(path.stat().st_size for path in (folder / "parts").iterdir()) / 1e6
print(json.dumps(found))
"""


def write(path: Path, clips: int) -> None:
    """Write a list of clips in shards of a thousand, sorted by id, with a transcript each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from codec_superb.data_manifests.lists.clip_table import GROUP_ROWS, table_schema

    schema, draw = table_schema(), np.random.default_rng(0)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, clips, GROUP_ROWS):
            numbers = range(first, min(first + GROUP_ROWS, clips))
            count = len(numbers)
            same = {"category": "speech", "licence": "CC-BY-4.0", "attribution": "A speech corpus", "sha256_of": "file"}
            columns = {name: pa.array([text] * count) for name, text in same.items()} | {
                "id": pa.array([f"speaker{number // 500:06d}/utterance{number:09d}" for number in numbers]),
                "path": pa.array([f"shards/{number // 1000:06d}.tar" for number in numbers]),
                "object_version": pa.array([f'"{number // 1000:032x}"' for number in numbers]),
                "object_start": pa.array([512 + number % 1000 * 300_000 for number in numbers]),
                "object_size": pa.array(draw.integers(50_000, 290_000, count)),
                "sampling_rate": pa.array([16_000] * count, pa.int32()),
                "frames": pa.array(draw.integers(16_000, 160_000, count)),
                "sha256": pa.array([row.tobytes() for row in draw.integers(0, 256, (count, 32), np.uint8)]),
                "labels": pa.array([f'{{"language":"en","text":"words of utterance {number}"}}' for number in numbers]),
            }  # fmt: skip
            arrays = [columns.get(field.name, pa.nulls(count, field.type)).cast(field.type) for field in schema]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP_ROWS)


def main() -> None:
    """Write, open and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, nargs="+", default=[10_000, 10_000_000])
    parser.add_argument("--listed", type=int, nargs="+")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.listed:
        for clips in arguments.listed:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                _show(clips, {}, [sys.executable, "-c", _LIST, folder, str(clips)])
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for clips in arguments.clips:
            path, started = Path(folder) / f"{clips}.parquet", time.process_time()
            write(path, clips)
            written = {"written_s": time.process_time() - started, "file_mb": path.stat().st_size / 1e6}
            _show(clips, written, [sys.executable, "-c", _OPEN, str(path)])


def _show(clips: int, known: dict[str, float], command: list[str]) -> None:
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {name: round(value, 3) for name, value in (known | json.loads(answer.stdout)).items()}
    print(f"{clips:>10,} clips: {found}", flush=True)


if __name__ == "__main__":
    main()
