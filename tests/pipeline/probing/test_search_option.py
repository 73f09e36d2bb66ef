"""The search of a chain's encoder: an option of its name, a setting of its results, an index that is built once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.run_codecs import HERE
from support.pipeline.text_encoders import LETTERS, RECORD, vectors_of

from codec_superb.applications import packages
from codec_superb.applications.errors import ApplicationError, MissingPackage
from codec_superb.applications.text.nearest import Search
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.probing.chain import planned
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.executor import Executor

PROBE = "mseb_retrieval_passage"
CHAIN = "transcript-truth+tf-idf"
GRAPH = Search("hnsw", 128)


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Begin without vectors, and note what is embedded."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(RECORD, str(tmp_path / "record"))


@pytest.fixture
def faiss() -> Any:
    """Give the package, or skip."""
    return pytest.importorskip("faiss", reason="the extra faiss is not installed")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Make three spoken questions and a hundred passages, three of which have their words."""
    folder = tmp_path / "data"
    (folder / "collections").mkdir(parents=True)
    rows = ["path,text,language,passage"]
    for number in range(3):
        soundfile.write(folder / f"c{number}.wav", speech_like(0.3, 16000, seed=number), 16000)
        rows.append(f"c{number}.wav,where is word{number},en,p{number}")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    passages = "".join(f"p{n},,here is word{n} {LETTERS[n % 26]}\n" for n in range(100))
    (folder / "collections" / "passages.csv").write_text(f"id,title,text\n{passages}")
    return folder


@pytest.fixture
def pool() -> Iterator[Executor]:
    """Start one worker."""
    with Executor(1) as executor:
        yield executor


def test_the_option_is_taken_from_whichever_model_encodes_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a chain and of a model with two towers; readers, recognisers and encoders of sounds keep what is theirs."""
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: name)
    chain = "faster-whisper:tiny.en"
    assert planned(f"{chain}+minilm:search=hnsw,ef=128") == (chain, "minilm:", GRAPH)
    assert planned(f"{chain}+minilm") == (chain, "minilm", Search())
    assert planned("clap-joint:a/b,search=hnsw,ef=128") == ("clap-joint:a/b", "", GRAPH)
    for spec in ("faster-whisper:x,search=hnsw", "log-mel-vectors:,pooling=max"):
        assert planned(spec) == (spec, "", Search())
    assert planned(f"{chain}+command:/x,search=hnsw") == (chain, "command:/x,search=hnsw", Search())


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("transcript-truth+minilm:foo=1", "minilm"), ("transcript-truth+tf-idf:/x.csv,foo=1", "tf-idf"),
        ("clap-joint:a/b,foo=1,search=exact", "clap-joint"),
    ],
)  # fmt: skip
def test_an_option_that_there_is_not_is_named(spec: str, name: str) -> None:
    """It is no name of a folder, unless there is one."""
    with pytest.raises(ApplicationError, match=f"^{name} has no option 'foo'; there are: search, ef$"):
        planned(spec)


def test_a_folder_may_look_like_an_option(tmp_path: Path) -> None:
    """What is there is meant."""
    (tmp_path / "a,foo=1").mkdir()
    assert planned(f"transcript-truth+minilm:{tmp_path}/a,foo=1").second == f"minilm:{tmp_path}/a,foo=1"


@pytest.mark.sample(1, among="searches with an option")
def test_without_the_package_nothing_is_begun(
    dataset: Path, tmp_path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence with the command; a search that there is not is one sentence too."""
    (run,) = resynthesise([f"{HERE}:Plain"], [str(dataset)], out=tmp_path / "runs", executor=pool)
    found = packages.importlib.util.find_spec
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None if name == "faiss" else found(name))
    with pytest.raises(MissingPackage, match=r"search=hnsw needs faiss.*codec-superb\[faiss\]"):
        probe([run.path], applications=[PROBE], backends=[f"{CHAIN}:search=hnsw"], executor=pool)
    with pytest.raises(ApplicationError, match="expected exact or hnsw, got 'flat'"):
        probe([run.path], applications=[PROBE], backends=[f"{CHAIN}:search=flat"], executor=pool)
    assert not list(codec_superb_home().rglob("*.jsonl"))


@pytest.mark.usefixtures("faiss")
@pytest.mark.sample(1, among="searches with an option")
def test_the_search_is_a_setting_of_the_result(dataset: Path, tmp_path: Path, pool: Executor) -> None:
    """Exact, by a graph, again, exact: each replaces the other, and the same again writes nothing."""
    (run,) = resynthesise([f"{HERE}:Plain"], [str(dataset)], out=tmp_path / "runs", executor=pool)
    folder = RunFolder(run.path)
    seen = []
    for spec in (CHAIN, f"{CHAIN}:search=hnsw", f"{CHAIN}:search=hnsw", f"{CHAIN}:search=hnsw,ef=64", CHAIN):
        before = (run.path / "run.json").stat().st_mtime_ns
        probe([run.path], applications=[PROBE], backends=[spec], executor=pool)
        info = folder.info().probes[PROBE]
        written = (run.path / "run.json").stat().st_mtime_ns != before
        seen.append((info.settings["search"], info.settings.get("search_ef"), written))
        assert info.backend == CHAIN
        assert info.settings.get("search_recall10", 1.0) == 1.0
        assert [row.probes[PROBE].reference["rank"] for row in folder.rows()] == [1, 1, 1]
    assert seen == [
        ("exact", None, True), ("hnsw32", 256, True), ("hnsw32", 256, False), ("hnsw32", 64, True),
        ("exact", None, True),
    ]  # fmt: skip
    assert len(list(codec_superb_home().rglob("*.hnsw32-100"))) == 1


@pytest.mark.usefixtures("faiss")
@pytest.mark.sample(1, among="searches with an option")
def test_the_index_rests_on_vectors_that_are_there_and_is_kept(dataset: Path, tmp_path: Path) -> None:
    """No document is embedded again for it; a damaged file is made anew; a search that is exact has none."""
    with vectors_of(dataset) as vectors:
        documents = np.array(vectors.of_collection("passages", "document"))
        assert vectors.nearest("passages", "document", documents) is None
        assert vectors.search == {"search": "exact"}
    embedded = (tmp_path / "record").read_text()
    for damage in (False, False, True):
        files = list((codec_superb_home() / "text_vectors").rglob("*.hnsw32-100"))
        if damage:
            files[0].write_bytes(files[0].read_bytes()[:100])
        stamp = [file.stat().st_mtime_ns for file in files]
        with vectors_of(dataset, "letters:search=hnsw,ef=100") as vectors:
            rows = vectors.nearest("passages", "document", documents[:5])
            assert rows is not None
            assert rows.shape == (5, 64)
            assert vectors.search["search_ef"] == 100
        if files:
            assert (files[0].stat().st_mtime_ns == stamp[0]) is not damage
    assert (tmp_path / "record").read_text() == embedded
