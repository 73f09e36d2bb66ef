"""The schema of manifests, and the manifests that come with the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from codec_superb.data_manifests import catalogue, list_manifests, load_manifest
from codec_superb.data_manifests.catalogue import MANIFESTS, read_manifest
from codec_superb.data_manifests.errors import ManifestError, UnknownDataset
from codec_superb.data_manifests.manifest import Manifest, manifest_json_schema

_SCHEMA = Path(catalogue.__file__).parent / "manifest.schema.json"


def _fields(**changes: Any) -> dict[str, Any]:
    fields = {
        "name": "birds",
        "title": "Birds",
        "version": "1",
        "description": "bird song",
        "categories": ["audio"],
        "licence": "CC0-1.0",
        "homepage": "https://example.org/birds",
        "citation": "@misc{birds, title={Birds}}",
        "partition": {"text": "the test split", "splits": ["test"]},
        "expected_clips": {"count": 12, "source": "the publisher's page"},
        "source": {"kind": "local", "layout": "birds", "url": "https://example.org/birds.zip"},
    }
    return fields | changes


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_manifest_follows_the_schema(path: Path) -> None:
    """Each file of the catalogue is valid, named like its dataset, and found under that name."""
    assert load_manifest(path.stem) == read_manifest(path)


def test_the_list_is_sorted_and_has_mini() -> None:
    """The list is in the order of names, so that it prints the same everywhere."""
    names = [manifest.name for manifest in list_manifests()]
    assert names == sorted(names)
    assert "mini" in names


def test_an_unknown_name_answers_with_near_ones() -> None:
    """A misspelt name names what was meant, and the command that lists everything there is."""
    total = len(list_manifests())
    told = rf"no dataset is called 'minni'.*did you mean mini.*`codec-superb datasets list` names all {total}$"
    with pytest.raises(UnknownDataset, match=told):
        load_manifest("minni")
    with pytest.raises(UnknownDataset, match="folder exists: `codec-superb datasets list`"):
        load_manifest("nonsense")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "Big Birds"}, "name: "),
        ({"categories": ["noise"]}, "categories.0: .*got 'noise'"),
        ({"licence": ""}, "licence: "),
        ({"homepage": "example.org"}, "homepage: "),
        ({"citation": "Birds, 2020"}, "citation: .*BibTeX"),
        ({"licens": "MIT"}, "licens: Extra inputs"),
        ({"expected_clips": {"count": 12}}, "expected_clips.source: "),
        ({"source": {"kind": "ftp"}}, "source: .*'packages', 'files', 'local', 'huggingface'"),
        ({"version": 1}, "version: "),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    """The error names the file, the field, and what came."""
    path = tmp_path / "birds.yaml"
    path.write_text(yaml.safe_dump(_fields(**changes)))
    with pytest.raises(ManifestError, match=complaint) as caught:
        read_manifest(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_no_yaml_or_has_another_name_is_refused(tmp_path: Path) -> None:
    """Both are told before anything is done with the file."""
    (tmp_path / "broken.yaml").write_text("name: [")
    with pytest.raises(ManifestError, match="is no YAML"):
        read_manifest(tmp_path / "broken.yaml")
    (tmp_path / "bees.yaml").write_text(yaml.safe_dump(_fields()))
    with pytest.raises(ManifestError, match="name is 'birds', but the file's own name says 'bees'"):
        read_manifest(tmp_path / "bees.yaml")


def _packages(groups: list[dict[str, Any]]) -> dict[str, Any]:
    file = {"project": "p", "version": "1", "filename": "p-1.tar.gz", "sha256": "0" * 64, "size": 1}
    common = {"category": "audio", "licence": "CC0-1.0", "licence_evidence": "LICENSE", "attribution": "somebody"}
    return {"kind": "packages", "files": {"p": file}, "groups": [common | group for group in groups]}


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ([{"file": "q", "clips": [{"id": "a", "member": "a.wav"}]}], "`files` does not have: q"),
        (
            [{"file": "p", "clips": [{"id": "a", "member": "a.wav"}, {"id": "a", "member": "b.wav"}]}],
            "'a' is given twice",
        ),
        ([{"file": "p", "clips": [{"id": "../a", "member": "a.wav"}]}], "is no clip id"),
        ([{"file": "p", "clips": [{"id": "a", "member": "a.wav", "start": -1}]}], r"clips\.0\.start"),
        ([{"file": "p", "clips": []}], r"groups\.0\.clips"),
    ],
)
def test_clips_of_packages_must_fit_together(groups: list[dict[str, Any]], complaint: str) -> None:
    """A group names a known file; ids are unique and safe as paths; cuts make sense."""
    with pytest.raises(ValueError, match=complaint):
        Manifest.model_validate(_fields(source=_packages(groups)))


def test_the_json_schema_in_the_repository_is_the_schema_of_the_code() -> None:
    """Editors check YAML with the file; make it anew with manifest_json_schema() when this fails."""
    assert json.loads(_SCHEMA.read_text()) == manifest_json_schema()
