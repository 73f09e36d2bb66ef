"""Compare what loops give where they are compiled with what they give where kept code is loaded, bit for bit.

    python perf/metrics/kept_code.py [--dataset mini] [--codecs opus_6k codec2_700 ...] [--metrics stft pesq ...]

Every clip through one of the codecs, scored by a process with an empty ``NUMBA_CACHE_DIR``, by another that loads all
that the first kept, and by a third that loads the loops with ``fastmath`` alone and compiles their callers. The table
shows values that differ; the exit status is 1 when there is one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from codec_superb.base_codec.registry import open_codec
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS

CODECS = ("opus_6k", "codec2_700", "mp3_32k", "aac_64k")
PROCESSES = ("compiled", "loaded", "loops kept, callers compiled")


def make_pairs(dataset: str, codecs: list[str], folder: Path) -> int:
    """Store original and resynthesis of every clip, each ``(samples,)``; return their number."""
    opened = [open_codec(name) for name in codecs]
    data = open_dataset(dataset)
    number = -1
    for number, clip in enumerate(map(data.clip, data.clip_ids())):
        sound, rate = clip.load()
        mono = np.asarray(sound, dtype=np.float32).mean(axis=0, keepdims=True)
        codec = opened[number % len(opened)]
        pair = {"x": mono[0], "y": codec.decode(codec.encode(mono, rate))[0]}
        np.savez(folder / f"{number:04}.npz", rate=rate, name=f"{clip.id} {codecs[number % len(codecs)]}", **pair)
    return number + 1


def fast_loops() -> dict[str, Any]:
    """Return the loops of the imported modules that are compiled with ``fastmath``, by name."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("codec_superb.metrics"):
            for loop in vars(module).values():
                options = getattr(loop, "targetoptions", {})
                if options.get("fastmath") and loop.__module__ == name:
                    found[f"{name}.{loop.__name__}"] = loop
    return found


def score(folder: Path, keys: list[str]) -> None:
    """Print a line for each value: pair, metric, the number in full; then each loop whose code lies in the cache."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as pair:
            found = score_pair(pair["x"], pair["y"], int(pair["rate"]), keys)
            for key, value in found.items():
                print(f"{pair['name']}\t{key}\t{None if value.value is None else float(value.value).hex()}")
    for name, loop in fast_loops().items():
        index = loop._cache._cache_file  # noqa: SLF001 - numba has no public way to ask
        if index._load_index():  # noqa: SLF001 - likewise
            print(f"loop\t{name}\t{index._index_path}")  # noqa: SLF001 - likewise


def started(folder: Path, cache: Path, keys: list[str]) -> list[list[str]]:
    """Score in a process of its own; return its lines."""
    command = [sys.executable, __file__, "--score", str(folder), "--metrics", *keys]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}, stdout=subprocess.PIPE, text=True, check=True
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def main() -> int:
    """Print the loops that ran, and a line for each value that differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--codecs", nargs="+", default=list(CODECS))
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--score", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.score:
        score(options.score, options.metrics)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder, cache = Path(temporary) / "pairs", Path(temporary) / "cache"
        folder.mkdir()
        pairs = make_pairs(options.dataset, options.codecs, folder)
        lines = {PROCESSES[0]: started(folder, cache, options.metrics)}
        lines[PROCESSES[1]] = started(folder, cache, options.metrics)
        kept = {line[2] for line in lines[PROCESSES[0]] if line[0] == "loop"}
        for path in cache.rglob("*.nbi"):
            if str(path) not in kept:
                path.unlink()
        lines[PROCESSES[2]] = started(folder, cache, options.metrics)
    values = {name: [line for line in found if line[0] != "loop"] for name, found in lines.items()}
    print(f"{pairs} pairs, {len(values[PROCESSES[0]])} values, {len(kept)} loops with fastmath ran")
    differing = 0
    for name in PROCESSES[1:]:
        for first, other in zip(values[PROCESSES[0]], values[name], strict=True):
            if first != other:
                differing += 1
                print(f"{first[0]:50} {first[1]:14} {first[2]} {other[2]} {name}")
    print(f"{differing} differ")
    return int(differing > 0 or not pairs)


if __name__ == "__main__":
    sys.exit(main())
