"""Measure exact search: seconds, processor seconds and memory by the number of candidates, beside a named peer.

    python perf/search.py [--queries 5000] [--candidates 271711] [--dimensions 384] [--threads 2] [--graph]

Unit vectors are drawn by seed and lie in a file, memory-mapped; a query is a candidate with noise, which it looks for.
The peer is faiss's ``IndexFlatIP`` where faiss is installed, else scikit-learn's brute force; it returns the ten best,
in float32, and no ranks, and it holds its vectors in memory. Memory is what the search takes besides the map, at its
highest, seen every 20 ms. Where both have found the ten best, they are compared.

``--graph`` (extra ``faiss``) measures the approximate search instead, on these vectors and on vectors in clusters of
50: what its links cost, once for a collection, then queries and their recall by the candidates that are looked at.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from codec_superb.applications.text.nearest import Graph, build
from codec_superb.applications.text.search import among, recall, search

BLOCK = 8192


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("queries", 5000), ("candidates", 271_711), ("dimensions", 384), ("threads", 2)):
        options.add_argument(f"--{name}", type=int, default=value)
    options.add_argument("--graph", action="store_true")
    given = options.parse_args()
    if given.graph:
        with tempfile.TemporaryDirectory() as folder, threadpool_limits(given.threads):
            _graph(Path(folder), given.queries, given.candidates, given.dimensions)
        return
    name, peer = _peer(given.threads)
    print(f"{'candidates':>10}  {'program':22}  {'s':>6}  {'cpu s':>6}  {'MB':>6}  same ten")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(given.threads):
        for share in (4, 2, 1):
            vectors = _vectors(Path(folder) / f"{share}.npy", given.candidates // share, given.dimensions)
            queries, relevant = _queries(vectors, given.queries)
            ours = _measured(lambda v=vectors, q=queries, r=relevant: search(q, v, r).rows)
            theirs = _measured(lambda v=vectors, q=queries: peer(q, v))
            same = np.mean([set(a) == set(b) for a, b in zip(ours[0], theirs[0], strict=True)])
            for program, (_, *numbers) in (("exact search, with ranks", ours), (name, theirs)):
                seconds, cpu, memory = numbers
                print(f"{len(vectors):10,}  {program:22}  {seconds:6.1f}  {cpu:6.1f}  {memory:6.0f}  {same:.2%}")


def _graph(folder: Path, queries: int, count: int, dimensions: int) -> None:
    """Print what the graph costs and finds."""
    print(f"{'vectors':10}  {'step':22}  {'s':>6}  {'cpu s':>6}  {'MB':>6}  recall10")
    for name, size in (("random", 0), ("clusters", 50)):
        vectors, links = _vectors(folder / f"{name}.npy", count, dimensions, size), folder / f"{name}.links"
        asked, _ = _queries(vectors, queries)
        none: list[tuple[()]] = [()] * queries

        def show(step: str, of: tuple[Any, float, float, float], found: str = "", name: str = name) -> None:
            print(f"{name:10}  {step:22}  {of[1]:6.1f}  {of[2]:6.1f}  {of[3]:6.0f}  {found}", flush=True)

        exact = _measured(lambda v=vectors, q=asked, r=none: search(q, v, r))
        show("exact search", exact, "1")
        show("links", _measured(lambda v=vectors, p=links: build(v, p, lambda _: None)))
        opened = _measured(lambda v=vectors, p=links: Graph(p, v))
        show("open them", opened)
        for ef in (64, 256, 1024):
            rows = _measured(lambda q=asked, g=opened[0], e=ef: g.nearest(q, e))
            show(f"queries, ef {ef}", rows, f"{recall(among(asked, vectors, none, rows[0]), exact[0]):.3f}")


def _vectors(path: Path, count: int, dimensions: int, cluster: int = 0) -> np.ndarray[Any, Any]:
    """Draw unit vectors; with ``cluster``, so many lie around a point each, with noise of 0.7 of the length."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((max(1, count // cluster), dimensions), np.float32) if cluster else None
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (count, dimensions))
    for start in range(0, count, BLOCK):
        drawn = generator.standard_normal((min(BLOCK, count - start), dimensions), np.float32)
        if centres is not None:
            drawn = centres[generator.integers(0, len(centres), len(drawn))] + np.float32(0.7) * drawn
        rows[start : start + BLOCK] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    rows.flush()
    return np.load(path, "r")


def _queries(vectors: np.ndarray[Any, Any], count: int) -> tuple[np.ndarray[Any, Any], list[list[int]]]:
    generator = np.random.default_rng(1)
    wanted = generator.integers(0, len(vectors), count)
    noise = generator.standard_normal((count, vectors.shape[1]), np.float32) * generator.uniform(0, 0.3, (count, 1))
    queries = vectors[wanted] + noise.astype(np.float32)
    return queries / np.linalg.norm(queries, axis=1, keepdims=True), [[int(row)] for row in wanted]


def _peer(threads: int) -> tuple[str, Callable[[Any, Any], Any]]:
    if importlib.util.find_spec("faiss"):
        import faiss

        faiss.omp_set_num_threads(threads)

        def by_faiss(queries: Any, vectors: Any) -> Any:
            index = faiss.IndexFlatIP(vectors.shape[1])
            index.add(np.asarray(vectors))
            return index.search(queries, 10)[1]

        return f"faiss {faiss.__version__} FlatIP", by_faiss
    from sklearn.neighbors import NearestNeighbors

    def by_sklearn(queries: Any, vectors: Any) -> Any:
        index = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(np.asarray(vectors))
        return index.kneighbors(queries, return_distance=False)

    return "scikit-learn brute", by_sklearn


def _measured(call: Callable[[], Any]) -> tuple[Any, float, float, float]:
    """Return what a call gives, its seconds, processor seconds, and memory at its highest in MB."""
    with _watched() as highest:
        before, started, cpu = _anonymous(), time.perf_counter(), time.process_time()
        found = call()
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return found, seconds, cpu, (max(highest) - before) / 1e6


@contextmanager
def _watched() -> Iterator[list[int]]:
    seen, done = [_anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            seen.append(_anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def _anonymous() -> int:
    """Return the bytes of this process that no file stands behind."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])


if __name__ == "__main__":
    main()
