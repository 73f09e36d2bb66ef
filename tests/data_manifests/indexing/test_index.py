"""Every layout, in a small tree as its publisher lays it out, becomes the right clip list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.datasets.layout_cases import CASES, Case
from support.datasets.layouts import Tree

from codec_superb.data_manifests import Dataset, open_dataset
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.indexers import LAYOUTS
from codec_superb.data_manifests.indexing.index import index
from codec_superb.data_manifests.indexing.index_report import IndexReport
from codec_superb.data_manifests.manifest import IndexedSource


@dataclass(frozen=True)
class Indexed:
    """A case with what indexing its tree gave."""

    case: Case
    root: Path
    report: IndexReport
    dataset: Dataset


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def indexed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, recordings: dict[str, Path]
) -> Iterator[Indexed]:
    """Index the tree of one layout."""
    case: Case = request.param
    root = tmp_path_factory.mktemp(case.name)
    case.build(Tree(root, recordings))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(tmp_path_factory.mktemp("home")))
        report = index(case.name, root)
        yield Indexed(case, root, report, open_dataset(case.name))


@pytest.mark.sample(12)
def test_the_clips_are_those_of_the_partition(indexed: Indexed) -> None:
    """What lies outside the partition is in no list, and ids are the publisher's own names."""
    assert list(indexed.dataset.clip_ids()) == sorted(indexed.case.clips)
    assert indexed.report.clips == len(indexed.case.clips)


def test_missing_clips_are_named_and_counted(indexed: Indexed) -> None:
    """Clips that the publisher lists are named; against a published count, all that lack are counted."""
    report = indexed.report
    assert report.missing_names == indexed.case.missing
    if report.published is None:
        assert report.missing == len(indexed.case.missing)
        assert "no published count" in "\n".join(report.lines())
    else:
        assert report.missing == report.published - len(indexed.case.clips)
        assert str(report.published) in "\n".join(report.lines())


def test_extra_files_are_named_and_left_out(indexed: Indexed) -> None:
    """Audio in the partition's folders that the publisher does not know is reported and no clip."""
    assert indexed.report.extra_names == indexed.case.extra
    assert indexed.report.extra == len(indexed.case.extra)


def test_labels_are_the_publishers(indexed: Indexed) -> None:
    """A clip carries what the publisher's own files say of it."""
    clip_id, wanted = indexed.case.labels
    labels = indexed.dataset.clip(clip_id).labels
    extra = dict(labels.extra)
    for field, value in wanted.items():
        if field == "extra":
            assert {key: extra.get(key) for key in value} == value
        else:
            assert getattr(labels, field) == value


def test_clips_without_labels_are_counted(indexed: Indexed) -> None:
    """A clip of which the publisher's files say nothing stays, without a made-up label, and is counted."""
    assert set(indexed.report.unlabelled_names) == set(indexed.case.unlabelled)
    assert indexed.report.unlabelled == len(indexed.case.unlabelled)
    for clip_id in indexed.case.unlabelled:
        labels = indexed.dataset.clip(clip_id).labels
        assert (labels.text, labels.emotion, labels.events) == (None, None, ())


def test_clips_carry_category_licence_and_audio(indexed: Indexed) -> None:
    """Each clip has the manifest's category, a licence and an attribution, and its file is where the list says."""
    manifest = load_manifest(indexed.case.name)
    for clip_id in indexed.dataset.clip_ids():
        clip = indexed.dataset.clip(clip_id)
        assert clip.category == manifest.categories[0]
        assert clip.licence
        assert clip.attribution
        assert clip.path.is_file()


def test_a_readable_clip_loads(indexed: Indexed) -> None:
    """The first clip decodes to mono audio at the rate that the list gives."""
    clip = indexed.dataset.clip(min(indexed.case.clips))
    audio, rate = clip.load()
    assert audio.shape[0] == 1
    assert audio.shape[1] > 0
    assert clip.sampling_rate == rate


def test_notes_say_what_was_decided(indexed: Indexed) -> None:
    """The report tells what a user cannot see from the counts."""
    notes = "\n".join(indexed.report.notes)
    for part in indexed.case.notes:
        assert part in notes


@pytest.mark.sample(12)
def test_indexing_again_gives_the_same_dataset(indexed: Indexed) -> None:
    """A second call over the same folder ends with the same hash."""
    again = index(indexed.case.name, indexed.root)
    assert again.manifest_hash == indexed.report.manifest_hash


SPOKEN = {"mini_passages"}
"""Layouts whose clips a synthesiser makes, of a file that no tree can stand for; each has tests of its own."""


def test_every_layout_has_a_case() -> None:
    """No indexer goes without a tree, and each belongs to a manifest."""
    sources = [load_manifest(case.name).source for case in CASES]
    assert sorted({source.layout for source in sources if isinstance(source, IndexedSource)} | SPOKEN) == list(LAYOUTS)
