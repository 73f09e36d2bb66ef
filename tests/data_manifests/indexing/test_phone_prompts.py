"""Telephone prompts are read from synthetic packages in the published layout; the real ones have their counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import soundfile
from support.datasets.phone_prompts_package import VOICES, prompts_files, write_packages

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.errors import FetchError, LayoutError
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.indexers import phone_prompts
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing
from codec_superb.data_manifests.indexing.index import FILES
from codec_superb.data_manifests.manifest import Partition
from codec_superb.data_manifests.packages.fetch_all import fetch_tree


def _find(folder: Path, **changed: dict[str, bytes]) -> Listing:
    write_packages(folder, **changed)
    return phone_prompts.find(IndexRequest(folder, Partition(text="all"), folder / "store"))


def test_words_have_four_of_their_kind_to_choose_from(tmp_path: Path) -> None:
    """The right one stands in each place about equally often, so that a chat that always says A is at chance."""
    listing = _find(tmp_path)
    words = {clip.id: clip.labels for clip in listing.found if clip.id.startswith("words/")}
    assert words["words/day/sunday"].choices == ("Sunday", "Monday", "Tuesday", "Wednesday")
    assert words["words/month/november"].extra == {"kind": "month", "month": "November"}
    for of in words.values():
        assert len(set(of.choices)) == 4
        assert [of.text] == [word for word in of.choices if word in of.answers]
    places = Counter(of.choices.index(of.answers[0]) for of in words.values())
    assert max(places.values()) - min(places.values()) <= 4


def test_announcements_are_the_same_in_all_languages(tmp_path: Path) -> None:
    """Only the language and its voice tell them apart; what is too short in one is taken of none."""
    listing = _find(tmp_path)
    said = [clip.labels for clip in listing.found if clip.id.startswith("languages/")]
    assert Counter(of.language for of in said) == dict.fromkeys(VOICES, 30)
    assert len({of.extra["announcement"] for of in said}) == 30
    assert {clip.licence for clip in listing.found if clip.labels.language == "ru"} == {"CC-BY-3.0"}
    assert {(of.language, of.extra["language_name"]) for of in said} == set(phone_prompts.LANGUAGES.items())


@pytest.mark.parametrize(
    ("language", "gone", "said"),
    [
        ("en", "digits/7.wav", "expected 73 words, of which digits/7 is missing"),
        ("it", "vm-say09.wav", "expected 30 announcements that all packages have, got 29"),
    ],
)
def test_a_package_that_lacks_recordings_is_refused(tmp_path: Path, language: str, gone: str, said: str) -> None:
    """What is missing is named."""
    files = {name: content for name, content in prompts_files(language).items() if not name.endswith("/" + gone)}
    with pytest.raises(LayoutError, match=said):
        _find(tmp_path, **{language: files})


@pytest.mark.slow
@pytest.mark.network
def test_the_real_packages_have_their_counts(tmp_path: Path) -> None:
    """73 words and 30 announcements of five voices, 6.9 minutes; skipped without the files."""
    manifest = load_manifest("phone_prompts")
    assert manifest.source.kind == "files"
    folder = datasets_home() / manifest.name / FILES
    try:
        fetch_tree(manifest.source.files, folder, lambda _update: None)
    except FetchError as error:
        pytest.skip(f"the packages are not on this machine and cannot be fetched: {error}")
    found = phone_prompts.find(IndexRequest(folder, manifest.partition, tmp_path / "store")).found
    assert Counter(clip.id.split("/")[0] for clip in found) == {"words": 73, "languages": 150}
    assert Counter(clip.labels.speaker for clip in found) == {"Allison": 133, "June": 30, "Carlo": 30, "IvrvoiceRU": 30}
    assert sum(soundfile.info(clip.path).duration for clip in found) == pytest.approx(414, abs=3)
