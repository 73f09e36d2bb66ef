"""The published datasets of the benchmark each have a whole manifest, and the guide lists them as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codec_superb.data_manifests.catalogue import list_manifests, load_manifest, manifest_names
from codec_superb.data_manifests.manifest import LocalSource, Manifest

GUIDE = Path(__file__).parents[2] / "docs" / "datasets.md"

# name, category and partition rule of the benchmark's paper, its licence as an SPDX identifier where there is one
PUBLISHED = (
    ("librispeech", "speech", "test-clean and test-other", "CC-BY-4.0"),
    ("voxceleb1", "speech", "test set", "CC-BY-4.0"),
    ("speech_commands_v1", "speech", "whole dataset", "CC-BY-4.0"),
    ("quesst2014", "speech", "whole dataset", "free for research purposes"),
    ("voxlingua107_top10", "speech", "clips of the 10 most frequent languages", "CC-BY-4.0"),
    ("audio_snips", "speech", "test and valid splits", "CC0-1.0"),
    ("fluent_speech_commands", "speech", "test set", "Fluent Speech Commands academic licence"),
    ("iemocap", "speech", "whole dataset", "SAIL agreement"),
    ("crema_d", "speech", "whole dataset", "ODbL-1.0"),
    ("libri2mix", "speech", "test set", "MIT"),
    ("libricount", "speech", "whole dataset", "CC-BY-4.0"),
    ("esc50", "audio", "whole dataset", "CC-BY-NC-3.0"),
    ("fsd50k", "audio", "test and valid sets", "CC0-1.0, CC-BY-4.0, CC-BY-NC-4.0, CC Sampling Plus 1.0"),
    ("gunshot_triangulation", "audio", "whole dataset", "CC0-1.0"),
    ("vocal_imitations", "audio", "human imitations of the 'included' split", "CC-BY-4.0"),
    ("opensinger", "music", "male prefixes 25-27 and female prefixes 45-47", "CC-BY-NC-SA-2.0"),
    ("m4singer", "music", "test set", "CC-BY-NC-SA-4.0"),
    ("vocalset", "music", "test set", "CC-BY-4.0"),
    ("nsynth", "music", "test set", "CC-BY-4.0"),
    ("gtzan_genre", "music", "whole dataset", "CC-BY-4.0, Apache-2.0"),
    ("gtzan_music_speech", "music", "whole dataset", "CC-BY-4.0, Apache-2.0"),
    # of UltraEval-Audio
    ("librispeech_dev_clean", "speech", "dev-clean", "CC-BY-4.0"),
    ("librispeech_dev_other", "speech", "dev-other", "CC-BY-4.0"),
    ("librispeech_test_clean", "speech", "test-clean", "CC-BY-4.0"),
    ("aishell1", "speech", "test set", "Apache-2.0"),
)

COUNTS = {
    "librispeech": 2620 + 2939,
    "librispeech_dev_clean": 2703,
    "librispeech_dev_other": 2864,
    "librispeech_test_clean": 2620,
    "aishell1": 7176,
    "voxceleb1": 4874,
    "speech_commands_v1": 64_727 - 6,
    "quesst2014": 12_492 + 560 + 555,
    "voxlingua107_top10": 972,
    "fluent_speech_commands": 3793,
    "iemocap": 10_039,
    "crema_d": 7442,
    "libri2mix": 3000,
    "libricount": 11 * 520,
    "esc50": 50 * 40,
    "fsd50k": 4170 + 10_231,
    "gunshot_triangulation": 4 * 22,
    "vocal_imitations": 5601,
    "nsynth": 4096,
    "gtzan_genre": 10 * 100,
    "gtzan_music_speech": 2 * 64,
    "codec_superb_tiny": 3 * 2000,
}
LISTED = re.findall(r"^\| \[([a-z0-9_]+)\]\(http", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
"""Datasets of the guide's table; `datasets list` has all of them."""
UNCOUNTED = {"audio_snips", "opensinger", "m4singer", "vocalset"}


@pytest.mark.parametrize(("name", "category", "partition", "licence"), PUBLISHED)
def test_a_published_dataset_has_a_whole_manifest(name: str, category: str, partition: str, licence: str) -> None:
    """Category, partition rule and licence are the paper's; homepage, citation and address are there."""
    manifest = load_manifest(name)
    assert manifest.categories == (category,)
    assert manifest.partition.text.startswith(partition)
    assert manifest.licence == licence
    assert manifest.homepage
    assert manifest.source.kind == "local"
    assert manifest.source.url


@pytest.mark.parametrize("name", [*(row[0] for row in PUBLISHED), "codec_superb_tiny"])
def test_a_citation_is_whole_bibtex(name: str) -> None:
    """Each entry has authors, title, year and venue, balanced braces, and a key of its own."""
    citation = load_manifest(name).citation
    assert citation
    assert citation.count("{") == citation.count("}")
    for entry in re.split(r"^(?=@)", citation, flags=re.MULTILINE)[1:]:
        assert re.match(r"@(article|inproceedings|misc)\{[a-z0-9]+,\n", entry)
        for field in ("author", "title", "year"):
            assert re.search(rf"^  {field} = \{{.+\}},$", entry, flags=re.MULTILINE), (name, field)
        assert re.search(r"^  (journal|booktitle|publisher) = ", entry, flags=re.MULTILINE), name
        assert re.search(r"^  year = \{(19|20)\d\d\},$", entry, flags=re.MULTILINE)
        assert "et al" not in entry


def test_published_counts_are_sourced() -> None:
    """Counts are the publishers', each with its source; where none is certain, there is none and the rule says why."""
    counted = {
        name: load_manifest(name).expected_clips for name in [*(row[0] for row in PUBLISHED), "codec_superb_tiny"]
    }
    assert {name: expected.count for name, expected in counted.items() if expected} == COUNTS
    assert {name for name, expected in counted.items() if expected is None} == UNCOUNTED
    for name in UNCOUNTED:
        assert "no count is certain" in load_manifest(name).partition.text


def test_no_published_dataset_is_forgotten() -> None:
    """Each dataset of the list above has a manifest; others may stand beside them."""
    local = {manifest.name for manifest in list_manifests() if manifest.source.kind == "local"}
    assert local >= {row[0] for row in PUBLISHED}


def _how(manifest: Manifest) -> str:
    if manifest.is_fetched or manifest.download:
        return f"`codec-superb datasets prepare {manifest.name}`"
    return f"`codec-superb datasets index {manifest.name} --root DIR`"


def _row(manifest: Manifest) -> str:
    count = f"{manifest.expected_clips.count:,}" if manifest.expected_clips else "–"
    cells = (
        f"[{manifest.name}]({manifest.homepage})",
        ", ".join(manifest.categories),
        count,
        re.split(r"[:.](?:\s|$)", manifest.partition.text)[0],
        manifest.licence,
        _how(manifest),
    )
    return f"| {' | '.join(cells)} |"


def test_the_guide_has_the_queries_of_each_locale() -> None:
    """The table of Simple Voice Questions is what the manifests of its 26 locales say."""
    rows = []
    for name in manifest_names():
        source = load_manifest(name).source
        if isinstance(source, LocalSource) and source.layout == "svq":
            counts = (source.options.get(f"queries_{way}") for way in ("in_lang", "cross_lang", "reranking"))
            cells = (name, str(source.options["language"]), *(f"{n:,}" if isinstance(n, int) else "–" for n in counts))
            rows.append(f"| {' | '.join(cells)} |")
    listed = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| svq_")]
    assert listed == rows
    assert len(rows) == 26


@pytest.mark.parametrize("name", LISTED)
def test_the_guide_has_each_dataset_as_its_manifest_says(name: str) -> None:
    """The table of docs/datasets.md is what the manifests say, row by row."""
    assert _row(load_manifest(name)) in GUIDE.read_text(encoding="utf-8").splitlines()


def test_the_guide_lists_no_other_dataset() -> None:
    """Every row of the guide's table is a manifest."""
    assert {row[0] for row in PUBLISHED} <= set(LISTED) <= set(manifest_names())
    assert len(LISTED) == len(set(LISTED))
