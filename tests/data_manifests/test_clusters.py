"""Clusters: clips of a speaker or a recording have one id, which names nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codec_superb.data_manifests.catalogue import load_manifest, manifest_names
from codec_superb.data_manifests.clip import Labels
from codec_superb.data_manifests.clusters import ALONE, TRANSCRIPT, UNIT, check_slice, cluster_id, slice_of
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset
from codec_superb.data_manifests.manifest import IndexedSource
from codec_superb.data_manifests.stored_dataset import StoredDataset

BY_SPEAKER = Labels(speaker="p226", extra=(("shot", "3"),))


def test_one_label_one_id() -> None:
    """Equal within a dataset, another in another one, and of the named label."""
    own = cluster_id("mini", BY_SPEAKER)
    assert own == cluster_id("mini", Labels(speaker="p226"))
    assert len({own, cluster_id("vctk", BY_SPEAKER), cluster_id("mini", BY_SPEAKER, "shot")}) == 3
    assert len(own) == 12


def test_without_the_label_a_clip_is_its_own_or_of_its_recording() -> None:
    """No label, and a manifest that says there is none, give ''; a recording stands in for a label."""
    assert (
        cluster_id("mini", Labels()) == cluster_id("mini", BY_SPEAKER, ALONE) == cluster_id("mini", Labels(), "x") == ""
    )
    assert cluster_id("mini", Labels(), otherwise="a.wav") == cluster_id("mini", Labels(), otherwise="a.wav") != ""
    assert cluster_id("mini", BY_SPEAKER, otherwise="a.wav") == cluster_id("mini", BY_SPEAKER)
    assert cluster_id("mini", Labels(), ALONE, otherwise="a.wav") == ""


@pytest.mark.parametrize("name", sorted(manifest_names()))
def test_every_manifest_names_its_unit(name: str) -> None:
    """In the file itself, so that the choice is seen; a label of the dataset's own is one that is filled."""
    manifest = load_manifest(name)
    assert "cluster" in manifest.model_fields_set
    own = {manifest.cluster, manifest.slice} - {UNIT, TRANSCRIPT, ALONE, None}
    if own:
        assert isinstance(manifest.source, IndexedSource)
        indexers = Path(__file__).parents[2] / "data_manifests" / "indexers"
        layout = manifest.source.layout
        modules = [path.read_text() for end in (".py", "/*.py") for path in indexers.glob(f"{layout}{end}")]
        rules = manifest.source.options.get("labels", ())
        described = {str(rule).partition(": ")[0] for rule in (rules if isinstance(rules, tuple) else (rules,))}
        for label in map(str, own):
            if described:  # the manifest itself says which labels its indexer fills
                assert f"extra.{label}" in described
            else:
                assert any(label in module for module in modules)


def test_recordings_of_one_text_are_one_cluster() -> None:
    """Whoever speaks it, and of the label `text` itself, not of one of the dataset's own that is called so."""
    first, second = Labels(text="How old is Rome?", speaker="a"), Labels(text="How old is Rome?", speaker="b")
    assert cluster_id("svq", first, TRANSCRIPT) == cluster_id("svq", second, TRANSCRIPT) != ""
    assert cluster_id("svq", first, TRANSCRIPT) != cluster_id("svq", Labels(text="How old is Bonn?"), TRANSCRIPT)
    assert cluster_id("svq", Labels(extra=(("text", "How old is Rome?"),)), TRANSCRIPT) == ""


def test_a_slice_is_a_label_of_the_datasets_own() -> None:
    """The published name of the condition, '' where a manifest names none or the clip has none."""
    labels = Labels(extra=(("environment", "traffic_noise"),))
    assert slice_of(labels, "environment") == "traffic_noise"
    assert slice_of(labels, "room") == slice_of(labels, None) == ""


@pytest.mark.parametrize("value", ["x" * 65, "a\nb", "a\tb", "\x00", "a\u2028b", "\udc80"])
def test_a_slice_that_no_table_can_show_is_refused(value: str) -> None:
    """Too long, or with characters that break a line; 64 characters of any script are right."""
    with pytest.raises(LayoutError, match=r"^utt_1: expected the name of its recording condition"):
        check_slice("utt_1", value)
    check_slice("utt_1", "\u30ce" * 64)


def test_a_stored_dataset_gives_the_clusters_of_its_manifest(tmp_path: Path) -> None:
    """Of `mini`: sentences of one reader and two cuts of one recording belong together, other recordings do not."""
    clips = {
        "speech/librivox_0870": {"speaker": "librivox_sense_and_sensibility"},
        "speech/librivox_0880": {"speaker": "librivox_sense_and_sensibility"},
        "audio/cow_1": {},
        "audio/cow_2": {},
        "audio/cat": {},
    }
    lines = [
        {"id": clip, "path": "a.flac", "category": "audio", "licence": "x", "attribution": "x", "sha256": "0" * 64}
        | {"labels": labels}
        for clip, labels in sorted(clips.items())
    ]
    (tmp_path / "clips.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    index = {"name": "mini", "manifest_version": "1", "root": ".", "clips": len(lines), "manifest_hash": "0" * 64}
    (tmp_path / "index.json").write_text(json.dumps(index))
    dataset = StoredDataset(tmp_path, load_manifest("mini"))
    found = {clip: dataset.clip(clip).cluster for clip in clips}
    assert found["speech/librivox_0870"] == found["speech/librivox_0880"]
    assert found["audio/cow_1"] == found["audio/cow_2"]
    assert len(set(found.values())) == 3
    bare = StoredDataset(tmp_path)
    assert bare.clip("audio/cow_1").cluster == ""
    assert bare.clip("speech/librivox_0870").cluster == found["speech/librivox_0870"]


def test_a_folder_has_clusters_where_its_labels_name_speakers(tmp_path: Path) -> None:
    """A clip without a speaker is its own."""
    for name in "abc":
        (tmp_path / f"{name}.wav").write_bytes(b"")
    (tmp_path / "labels.csv").write_text("path,speaker\na.wav,anna\nb.wav,anna\n")
    dataset = FolderDataset(tmp_path)
    one, two, three = (dataset.clip(f"{name}.wav").cluster for name in "abc")
    assert one == two != three == ""
