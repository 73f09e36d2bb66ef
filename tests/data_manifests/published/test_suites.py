"""Suites and downloads are data: what they name exists, and what they state has a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codec_superb.applications.catalogue import choose
from codec_superb.data_manifests.catalogue import list_manifests, load_manifest
from codec_superb.data_manifests.manifest import Archive, LocalSource, Manifest
from codec_superb.data_manifests.published.plan import part_of
from codec_superb.data_manifests.published.suites import suites

GUIDE = Path(__file__).parents[3] / "docs" / "datasets.md"
OFFERED = [manifest for manifest in list_manifests() if manifest.download]
MADE_WHEN_ASKED = {"esc50"}
"""Archives that a server makes of a branch: no hash of them can be published."""


def test_a_suite_names_datasets_and_applications_that_exist() -> None:
    """The paper's three categories, which its whole unites; the probes of UltraEval-Audio."""
    its = suites()
    for category in ("speech", "audio", "music"):
        assert {load_manifest(name).categories for name in its[category].datasets} == {(category,)}
    assert its["codec_superb"].datasets == tuple(n for c in ("speech", "audio", "music") for n in its[c].datasets)
    assert len(set(its["codec_superb"].datasets)) == 21
    for one in its.values():
        assert all(map(load_manifest, one.datasets))
        assert not one.applications or choose(one.applications, ())


@pytest.mark.parametrize("manifest", OFFERED, ids=lambda manifest: manifest.name)
def test_what_is_offered_has_a_source_and_a_hash(manifest: Manifest) -> None:
    """Each file has the hash that somebody states, unless nobody can; a part has the zip file that it belongs to."""
    download = manifest.download
    assert download is not None
    assert download.source
    names = {archive.filename for archive in download.archives}
    for archive in download.archives:
        assert bool(archive.sha256 or archive.md5) is (manifest.name not in MADE_WHEN_ASKED)
        assert part_of(archive) in {None, *names}
        assert not (archive.size and archive.about)


def test_the_same_file_is_stated_alike() -> None:
    """Two datasets that share an archive agree about it."""
    stated: dict[str, Archive] = {}
    for archive in (archive for manifest in OFFERED if manifest.download for archive in manifest.download.archives):
        assert stated.setdefault(archive.url, archive) == archive


def test_what_is_not_offered_has_steps() -> None:
    """A dataset of the benchmark is fetched, or the guide to it says what to do."""
    for manifest in list_manifests():
        if isinstance(manifest.source, LocalSource):
            assert bool(manifest.download) is not bool(manifest.source.steps), manifest.name


def test_the_guide_says_what_is_known_of_each_download() -> None:
    """Size and kind of hash of each dataset that comes as archives."""
    rows = dict(re.findall(r"^\| `([a-z0-9_]+)` \| (.+) \|$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    for manifest in OFFERED:
        if manifest.download and manifest.download.archives:
            kinds = {"SHA-256" if a.sha256 else "MD5" if a.md5 else "none" for a in manifest.download.archives}
            assert rows[manifest.name].split(" | ")[1] == " ".join(kinds), manifest.name
