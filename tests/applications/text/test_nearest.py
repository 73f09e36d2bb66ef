"""Search by a graph: how it is asked for, what it finds, that it is the same each time, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications import packages
from codec_superb.applications.errors import ApplicationError, MissingPackage
from codec_superb.applications.text.nearest import EF, HITS, Graph, Search, build, read_search
from codec_superb.applications.text.search import among, recall, search


def unit(count: int, width: int, seed: int = 0) -> np.ndarray:
    """Make vectors of length 1."""
    rows = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestOptions:
    """Options behind the name of any encoder."""

    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: name)

    @pytest.mark.parametrize(
        ("variant", "rest", "found"),
        [
            ("", "", Search()),
            ("search=exact", "", Search()),
            ("search=hnsw", "", Search("hnsw", EF)),
            ("OWNER/NAME@abc,search=hnsw,ef=512", "OWNER/NAME@abc", Search("hnsw", 512)),
            ("/a,b/c,layer=2,search=hnsw,pooling=max", "/a,b/c,layer=2,pooling=max", Search("hnsw", EF)),
            ("dir=1/file.yaml", "dir=1/file.yaml", Search()),
        ],
    )
    def test_what_is_read(self, variant: str, rest: str, found: Search) -> None:
        """What is the encoder's own stays with it."""
        assert read_search(variant) == (rest, found)

    @pytest.mark.parametrize(
        ("variant", "said"),
        [
            ("search=flat", "option search: expected exact or hnsw, got 'flat'"),
            ("search=hnsw,ef=63", "option ef: expected 64 to 1048576 candidates, got 63"),
            ("search=hnsw,ef=many", "option ef: expected a value such as 256, got 'many'"),
            ("ef=512", "option ef: expected it with search=hnsw alone"),
            ("search=hnsw,search=hnsw", "once, got 'search'"),
        ],
    )
    def test_what_is_refused(self, variant: str, said: str) -> None:
        """Each says what was expected."""
        with pytest.raises(ApplicationError, match=said):
            read_search(variant)

    def test_settings_tell_how_rows_are_found(self) -> None:
        """Exact has nothing to tell but its name."""
        assert Search().settings() == {"search": "exact"}
        told = {"search": "hnsw32", "search_ef": 99, "search_build_ef": 100, "search_hits": 64}
        assert Search("hnsw", 99).settings() == told

    @given(st.text(max_size=30))
    def test_any_text_is_read_or_refused(self, variant: str) -> None:
        """With no other error; without options nothing is lost."""
        try:
            rest, found = read_search(variant)
        except ApplicationError:
            return
        assert rest == variant or "search=" in variant or "ef=" in variant
        assert found.search in {"exact", "hnsw"}


def test_without_the_package_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the graph is asked for."""
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda _: None)
    assert read_search("x,search=exact") == ("x", Search())
    with pytest.raises(
        MissingPackage, match=r"^search=hnsw needs faiss, which is not installed: pip install 'codec-superb\[faiss\]'$"
    ):
        read_search("x,search=hnsw")


class TestGraph:
    """The graph of faiss itself."""

    @pytest.fixture(autouse=True)
    def _needs_faiss(self) -> None:
        pytest.importorskip("faiss", reason="the extra faiss is not installed")

    def made(self, vectors: np.ndarray, path: Path) -> Graph:
        """Build and open."""
        build(vectors, path, lambda _: None)
        return Graph(path, vectors)

    @pytest.mark.parametrize("count", [1, 9, 64, 65, 600])
    def test_on_tiny_sets_everything_is_found(self, tmp_path: Path, count: int) -> None:
        """Ranks and the ten best are those of the exact search; beyond the last row there is none."""
        vectors, wanted = unit(count, 24), np.random.default_rng(1).integers(0, count, 40)
        queries = vectors[wanted] + unit(40, 24, seed=2) * np.float32(0.3)
        rows = self.made(vectors, tmp_path / "links").nearest(queries, EF)
        assert rows.shape == (40, HITS)
        assert (rows >= 0).sum(axis=1).tolist() == [min(count, HITS)] * 40
        relevant = [[int(row)] for row in wanted]
        found, exact = among(queries, vectors, relevant, rows), search(queries, vectors, relevant)
        assert recall(found, exact) == 1
        assert found.ranks.tolist() == exact.ranks.tolist()

    def test_more_candidates_find_more(self, tmp_path: Path) -> None:
        """Random vectors are the hardest: some of the ten best are missed, fewer with a larger ``ef``."""
        vectors, queries = unit(5000, 64), unit(100, 64, seed=1)
        graph, exact = self.made(vectors, tmp_path / "links"), search(queries, vectors, [()] * 100)
        few, many = (
            recall(among(queries, vectors, [()] * 100, graph.nearest(queries, ef)), exact) for ef in (HITS, 1024)
        )
        assert 0.5 < few < many
        assert many > 0.99

    @pytest.mark.sample(1, among="vectors of other programs")
    def test_the_links_are_the_same_each_time(self, tmp_path: Path) -> None:
        """To the last byte, with several threads allowed; so is what one query finds, alone or among others."""
        import faiss

        vectors, queries = unit(9000, 16), unit(50, 16, seed=1)
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(4)
        try:
            for name in "ab":
                build(vectors, tmp_path / name, lambda _: None)
            assert faiss.omp_get_max_threads() == 4
            graph = Graph(tmp_path / "a", vectors)
            rows = graph.nearest(queries, EF)
        finally:
            faiss.omp_set_num_threads(before)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        np.testing.assert_array_equal(graph.nearest(queries[7:8], EF), rows[7:8])

    def test_the_file_holds_links_alone(self, tmp_path: Path) -> None:
        """The vectors lie beside it already."""
        vectors = unit(1000, 384)
        done: list[int] = []
        build(vectors, tmp_path / "links", done.append)
        assert sum(done) == 1000
        assert (tmp_path / "links").stat().st_size < vectors.nbytes / 4

    def test_what_is_damaged_or_of_other_vectors_is_refused(self, tmp_path: Path) -> None:
        """Cut off, of another format, not there, of more rows, of other lengths."""
        vectors = unit(100, 8)
        self.made(vectors, tmp_path / "links")
        content = (tmp_path / "links").read_bytes()
        (tmp_path / "cut").write_bytes(content[: len(content) // 2])
        (tmp_path / "other").write_bytes(b"no index")
        for name in ("cut", "other", "absent"):
            with pytest.raises(ValueError, match=r"."):
                Graph(tmp_path / name, vectors)
        for others in (vectors[:99], vectors[:, :7]):
            with pytest.raises(ValueError, match=r"expected links of \(\d+, \d\), got \(100, 8\)"):
                Graph(tmp_path / "links", others)
