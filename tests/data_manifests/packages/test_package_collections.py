"""A dataset of package files brings collections: written in its manifest, or as tables in package files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets.package_files import IndexServer, noise, sdist, small_manifest, wav_bytes

from codec_superb.data_manifests import check, open_dataset
from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.preparation import prepare_manifest


@pytest.fixture
def tiny(index: IndexServer) -> Manifest:
    """Serve one sound; give the manifest of two clips of it."""
    file = index.add("birds", "1", "birds-1.tar.gz", sdist("birds", "1", {"a.wav": wav_bytes(noise(0.4))}))
    clips = [{"id": f"speech/{n}", "member": "birds-1/a.wav", "start": 0.2 * n, "duration": 0.2} for n in range(2)]
    return small_manifest({"birds": file}, [{"file": "birds", "clips": clips}])


def _with(manifest: Manifest, collections: dict[str, Any], **files: Any) -> Manifest:
    source = manifest.source.model_dump()
    source |= {"files": source["files"] | files, "collections": collections}
    return Manifest.model_validate(manifest.model_dump() | {"source": source})


def test_a_manifest_brings_collections(tiny: Manifest, index: IndexServer) -> None:
    """Their rows are those of the manifest and the table; they go when the manifest has them no more."""
    table = b"id,text\nrobin,Robins are birds.\n"
    file = index.add("birdtexts", "1", "birdtexts-1.tar.gz", sdist("birdtexts", "1", {"pages.csv": table}))
    labels = ({"id": "tweet", "text": "the call of a bird"}, {"id": "buzz", "text": "a bee"})
    pages = {"file": "texts", "member": "birdtexts-1/pages.csv"}
    manifest = _with(tiny, {"labels": labels, "pages": pages}, texts=file.model_dump())
    folder = datasets_home() / "tiny"
    first = prepare_manifest(manifest)
    dataset = open_dataset(folder)
    assert dataset.collection("labels").texts == ["the call of a bird", "a bee"]
    assert [(row.id, row.text) for row in dataset.collection("pages").rows()] == [("robin", "Robins are birds.")]
    assert prepare_manifest(manifest).made == 0
    dataset.collection("labels").path.unlink()
    assert prepare_manifest(manifest).made == 2
    assert prepare_manifest(tiny).manifest_hash == first.manifest_hash
    assert dict(open_dataset(folder).collections) == {}
    assert not list((folder / "collections").iterdir())


def test_a_check_reads_the_collections(tiny: Manifest) -> None:
    """One whose rows were changed under its hash is named; the clips are right."""
    prepare_manifest(_with(tiny, {"labels": [{"id": "tweet", "text": "the call of a bird"}]}))
    folder = datasets_home() / "tiny"
    assert check(folder).right
    stored = open_dataset(folder).collection("labels")
    rows = pq.read_table(stored.path).set_column(3, "text", pa.array(["another text"]))
    pq.write_table(rows.replace_schema_metadata({b"codec_superb.sha256": stored.sha256.encode()}), stored.path)
    [(name, reason)] = check(folder).corrupt
    assert name == "collection labels"
    assert f"expected rows with the SHA-256 {stored.sha256}" in reason


@pytest.mark.parametrize(
    ("collections", "complaint"),
    [
        ({"labels": [{"id": "a", "text": "x"}] * 2}, "collection labels, row 2: the id 'a' is given twice"),
        ({"labels": [{"id": "a"}]}, "collection labels, row 1 .*the text is empty"),
        ({"pages": {"file": "birds", "member": "birds-1/none.csv"}}, "has no plain file birds-1/none.csv"),
    ],
)
def test_a_bad_collection_is_an_error_before_any_clip(
    tiny: Manifest, collections: dict[str, Any], complaint: str
) -> None:
    """Nothing is cut, and no dataset is said to be there."""
    with pytest.raises(ManifestError, match=complaint):
        prepare_manifest(_with(tiny, collections))
    assert not list((datasets_home() / "tiny").rglob("*.flac"))
    assert not (datasets_home() / "tiny" / "index.json").exists()


@pytest.mark.parametrize(
    ("collections", "complaint"),
    [
        ({"Labels": []}, "String should match pattern"),
        ({"../labels": []}, "String should match pattern"),
        ({"pages": {"file": "bees", "member": "a.csv"}}, "files that `files` does not have: bees"),
        ({"pages": {"file": "birds", "member": "a.txt"}}, "String should match pattern"),
        ({"labels": [{"id": "a", "text": "x", "weigth": 1}]}, "Extra inputs are not permitted"),
    ],
)
def test_a_manifest_that_names_nonsense_is_refused(tiny: Manifest, collections: dict[str, Any], complaint: str) -> None:
    """By the schema, before anything is fetched."""
    with pytest.raises(ValueError, match=complaint):
        _with(tiny, collections)
