"""Stamps are read from a synthetic package in the published layout; the real one is held to its counts."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from support.datasets.package_files import deb
from support.datasets.stamps_package import NAME, ROOT, stamps_files

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.errors import FetchError, LayoutError
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.indexers import stamps
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing
from codec_superb.data_manifests.indexers.nearest_texts import edits, nearest_texts
from codec_superb.data_manifests.indexing.index import FILES
from codec_superb.data_manifests.manifest import Partition
from codec_superb.data_manifests.packages.fetch_all import fetch_tree


def _find(folder: Path, files: dict[str, bytes]) -> Listing:
    (folder / NAME).write_bytes(deb(files, "gz"))
    return stamps.find(IndexRequest(folder, Partition(text="all"), folder / "store"))


def _by_id(listing: Listing) -> dict[str, FoundClip]:
    return {clip.id: clip for clip in listing.found}


def test_animals_carry_what_each_task_asks_for(tmp_path: Path) -> None:
    """English recordings of animals with a text: every id of an equal text, the list of near texts, the folder."""
    clips = _by_id(_find(tmp_path, stamps_files()))
    assert {clip_id for clip_id in clips if clip_id.startswith("en/")} == {
        "en/animals/birds/owl",
        "en/animals/mammals/dogs/dog",
    }
    dog = clips["en/animals/mammals/dogs/dog"].labels
    assert (dog.text, dog.language, dog.speaker) == ("A dog.", "en", None)
    relevant = "animals/mammals/dogs/dog\nanimals/mammals/dogs/puppy"
    assert dog.extra == {"passage": relevant, "candidates": "A dog.", "intent": "mammals"}


def test_collections_hold_all_texts_and_are_in_order(tmp_path: Path) -> None:
    """The index has a row for each stamp, equal texts too; a list begins with its truth; classes are the folders."""
    tables = {name: list(rows) for name, rows in _find(tmp_path, stamps_files()).collections.items()}
    assert [(row.id, row.text) for row in tables["passages"]] == [
        ("animals/birds/owl", "An owl."),
        ("animals/mammals/dogs/dog", "A dog."),
        ("animals/mammals/dogs/puppy", "A dog."),
        ("clothes/hat", "A hat."),
    ]
    assert [(row.list, row.id, row.text) for row in tables["candidates"]] == [
        ("A dog.", "0", "A dog."),
        ("A dog.", "1", "A hat."),
        ("A dog.", "2", "An owl."),
        ("An owl.", "0", "An owl."),
        ("An owl.", "1", "A dog."),
        ("An owl.", "2", "A hat."),
    ]
    assert [(row.id, row.text) for row in tables["labels"]] == [("birds", "birds"), ("mammals", "mammals")]


def test_a_language_is_a_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a language the shortest recordings that are long enough are taken, of few languages only, and without text."""
    monkeypatch.setattr(stamps, "OF_A_VOICE", 2)
    listing = _find(tmp_path, stamps_files())
    voices = {clip_id: clip.labels for clip_id, clip in _by_id(listing).items() if not clip_id.startswith("en/")}
    assert set(voices) == {"fr/animals/birds/owl", "fr/clothes/cap"}
    assert all((labels.speaker, labels.language, labels.text) == ("fr", "fr", None) for labels in voices.values())


def test_the_publishers_bytes_are_stored(tmp_path: Path) -> None:
    """No decoder stands between the package and the clip: the hash is that of the published file."""
    files = stamps_files()
    owl = _by_id(_find(tmp_path, files))["en/animals/birds/owl"]
    assert owl.path.read_bytes() == files[f"{ROOT}animals/birds/owl_desc.ogg"]
    assert owl.path.is_relative_to(tmp_path / "store")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [("animals/birds/owl.txt", b"\xff\xfe", "is no UTF-8 text"), ("clothes/hat.txt", b"\nfr.utf8=x", "an empty one")],
)
def test_a_text_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """The package and the member are in the error."""
    with pytest.raises(LayoutError, match=rf"{NAME}: {ROOT}{name}.*{reason}"):
        _find(tmp_path, stamps_files() | {f"{ROOT}{name}": content})


def test_a_recording_that_is_no_sound_is_no_voice(tmp_path: Path) -> None:
    """It has no length, so it is not long enough."""
    listing = _find(tmp_path, stamps_files() | {f"{ROOT}clothes/cap_desc_fr.ogg": b"OggS"})
    assert "fr/clothes/cap" not in _by_id(listing)


def test_a_folder_without_the_package_says_so(tmp_path: Path) -> None:
    """The expected name is in the error."""
    with pytest.raises(LayoutError, match=r"tuxpaint-stamps-default_\*_all\.deb"):
        stamps.find(IndexRequest(tmp_path, Partition(text="all"), tmp_path / "store"))


def test_nearest_texts_are_ordered_by_distance_and_then_by_text() -> None:
    """Known distances; the truth is not its own neighbour."""
    assert edits("kitten", "sitting") == 3
    assert edits("", "abc") == 3
    assert nearest_texts("A bat.", ["A rat.", "A cow.", "A bat.", "A cat.", "A boat."], 3) == [
        "A boat.",
        "A cat.",
        "A rat.",
    ]


@given(st.text("abA .", max_size=12), st.text("abA .", max_size=12))
def test_the_distance_of_texts_is_that_of_the_table(first: str, second: str) -> None:
    """Wagner and Fischer's table, row by row, gives the same."""
    row = list(range(len(second) + 1))
    for number, left in enumerate(first, start=1):
        row = list(itertools.accumulate(
            ((row[place] + 1, row[place - 1] + (left != right)) for place, right in enumerate(second, start=1)),
            lambda before, ways: min(before + 1, *ways),
            initial=number,
        ))  # fmt: skip
    assert edits(first, second) == row[-1]


@pytest.mark.slow
@pytest.mark.network
def test_the_real_package_has_the_published_counts(tmp_path: Path) -> None:
    """65 animals of 51.5 s, 952 texts of which 805 are different, nine voices of 30 clips; skipped without the file."""
    manifest = load_manifest("stamps")
    assert manifest.source.kind == "files"
    try:
        fetch_tree(manifest.source.files, datasets_home() / manifest.name / FILES, lambda _update: None)
    except FetchError as error:
        pytest.skip(f"the package is not on this machine and cannot be fetched: {error}")
    listing = stamps.find(IndexRequest(datasets_home() / manifest.name / FILES, manifest.partition, tmp_path / "store"))
    english = [clip for clip in listing.found if clip.labels.language == "en"]
    assert len(english) == 65
    assert sum(soundfile.info(clip.path).duration for clip in english) == pytest.approx(51.5, abs=0.05)
    tables = {name: list(rows) for name, rows in listing.collections.items()}
    assert (len(tables["passages"]), len({row.text for row in tables["passages"]})) == (952, 805)
    assert Counter(Counter(row.list for row in tables["candidates"]).values()) == {25: 65}
    assert " ".join(row.id for row in tables["labels"]) == "amphibians birds insects lizards mammals marsupials"
    voices = [clip for clip in listing.found if clip.labels.speaker]
    assert Counter(clip.labels.speaker for clip in voices) == dict.fromkeys(stamps.VOICES, stamps.OF_A_VOICE)
    assert min(soundfile.info(clip.path).duration for clip in voices) >= stamps.VOICE_SECONDS
