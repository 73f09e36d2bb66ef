"""How a collection is searched: exactly, or by faiss's HNSW graph, an option behind any encoder of texts.

``minilm:search=hnsw``, ``transformers-text:OWNER/NAME,search=hnsw,ef=512``. Malkov and Yashunin, Efficient and Robust
Approximate Nearest Neighbor Search Using Hierarchical Navigable Small World Graphs, TPAMI 2020. A graph is built by one
thread, in blocks: with more threads the order in which they meet decides its links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Samples, Setting
from codec_superb.applications.packages import require_packages
from codec_superb.applications.text.search import EXACT

HNSW = "hnsw"
LINKS, BUILD_EF, EF = 32, 100, 256
"""Links of a vector, candidates looked at for them, and, unless given, candidates looked at for a query."""
LINKS_SUFFIX = f".{HNSW}{LINKS}-{BUILD_EF}"
"""Of a file of links: tells how they were made."""
HITS = 64
"""Rows that a query gets, the least that ``ef`` may be."""
_EF_LIMIT = 1 << 20
_BLOCK = 4096
"""Vectors that are linked at once."""


class Search(NamedTuple):
    """How the rows of a collection are found."""

    search: str = EXACT
    ef: int = EF

    def settings(self) -> dict[str, Setting]:
        """Return the settings that tell it."""
        if self.search == EXACT:
            return {"search": EXACT}
        return {"search": f"{HNSW}{LINKS}", "search_ef": self.ef, "search_build_ef": BUILD_EF, "search_hits": HITS}


def read_search(variant: str) -> tuple[str, Search]:
    """Return an encoder's variant without the options ``search`` and ``ef``, and what they say.

    Raises ApplicationError for another search, and MissingPackage with the install command where it needs faiss.
    """
    rest, found = read_options(variant, Search()._asdict(), others=True)
    search = Search(str(found["search"]), int(found["ef"]))
    if search.search not in {EXACT, HNSW}:
        raise ApplicationError(f"option search: expected {EXACT} or {HNSW}, got {search.search!r}")
    if search.search == EXACT and search.ef != EF:
        raise ApplicationError(f"option ef: expected it with search={HNSW} alone, got search={EXACT}; leave it out")
    if not HITS <= search.ef <= _EF_LIMIT:
        raise ApplicationError(f"option ef: expected {HITS} to {_EF_LIMIT} candidates, got {search.ef}")
    if search.search == HNSW:
        require_packages(f"search={HNSW}", "faiss", "faiss")
    return rest, search


def build(vectors: Samples, path: Path, advance: Callable[[int], None]) -> None:
    """Link vectors ``(n, d)`` by their products and write the links, without the vectors, to ``path``.

    ``advance`` is told how many have been linked since it was last called.
    """
    faiss = _faiss()
    index = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = BUILD_EF
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        for block in _blocks(vectors):
            index.add(block)
            advance(len(block))
    finally:
        faiss.omp_set_num_threads(threads)
    # IO_FLAG_SKIP_STORAGE leaves the vectors out, which lie in a file of their own already
    faiss.write_index(index, str(path), faiss.IO_FLAG_SKIP_STORAGE)


class Graph:
    """Links that lie in a file, over vectors, of which it holds a copy in memory."""

    def __init__(self, path: Path, vectors: Samples) -> None:
        """Open the links of ``vectors``. Raises ValueError for a damaged file, and for links of others."""
        faiss = _faiss()
        try:
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_SKIP_STORAGE)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        if (self._index.ntotal, self._index.d) != vectors.shape:
            raise ValueError(f"expected links of {vectors.shape}, got ({self._index.ntotal}, {self._index.d})")
        # the index points to it and does not own it: it must live as long
        self._vectors = faiss.IndexFlatIP(vectors.shape[1])
        for block in _blocks(vectors):
            self._vectors.add(block)
        self._index.own_fields = False
        self._index.storage = self._vectors

    def nearest(self, queries: Samples, ef: int) -> NDArray[np.int64]:
        """Return rows of the largest products that are found, best first, ``(queries, HITS)``; -1 beyond the last."""
        self._index.hnsw.efSearch = ef
        found: NDArray[np.int64] = self._index.search(np.ascontiguousarray(queries, np.float32), HITS)[1]
        return found


def _faiss() -> Any:
    """Import the package; its annotations lack what is called here, and earlier versions have none."""
    import faiss

    return faiss


def _blocks(vectors: Samples) -> Iterator[Samples]:
    for start in range(0, len(vectors), _BLOCK):
        yield np.ascontiguousarray(vectors[start : start + _BLOCK], np.float32)
