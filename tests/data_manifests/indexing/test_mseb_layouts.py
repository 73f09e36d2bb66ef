"""Speech-MASSIVE, BirdSet and FSD50K as MSEB takes them: other layouts, hostile rows, collections and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.datasets.layout_cases import CASES
from support.datasets.layouts import Tree
from support.datasets.package_files import noise, wav_bytes
from support.datasets.parquet_tables import write_table

from codec_superb.data_manifests import load_manifest, open_dataset
from codec_superb.data_manifests.catalogue import list_manifests
from codec_superb.data_manifests.errors import LayoutError, ManifestError
from codec_superb.data_manifests.indexers.speech_massive import INTENTS
from codec_superb.data_manifests.indexing.index import index
from codec_superb.plugins import import_file

_ROW = import_file(Path(__file__).parent / "layouts" / "speech_massive.py").row
_NAMES = ["gcrfin", "whcspa", "amepip"]
_CLASS = {"_type": "ClassLabel", "names": _NAMES}
BIRDSET = {
    "birdset_hsn": 12_000, "birdset_nbp": 563, "birdset_pow": 4560, "birdset_per": 15_120, "birdset_nes": 24_480,
    "birdset_uhh": 36_637, "birdset_ssw": 205_200, "birdset_sne": 23_756,
}  # fmt: skip


def _segment(name: str = "HSN_1_000_005.ogg", codes: object = (1,), **fields: Any) -> dict[str, Any]:
    audio = {"bytes": wav_bytes(noise(0.1, 32_000), 32_000, format="OGG", subtype="VORBIS"), "path": name}
    return {"filepath": name, "audio": audio, "ebird_code_multilabel": list(codes)} | fields  # type: ignore[call-overload]


def _built(name: str, tree: Tree) -> None:
    next(case for case in CASES if case.name == name).build(tree)


def test_the_counts_are_the_publishers() -> None:
    """Twelve locales of 2974 clips, eight subsets of BirdSet, 10,231 clips of FSD50K's evaluation set."""
    counts = {manifest.name: manifest.expected_clips for manifest in list_manifests()}
    found = {name: expected.count for name, expected in counts.items() if expected}
    assert {name: count for name, count in found.items() if name.startswith("birdset_")} == BIRDSET
    massive = {name: count for name, count in found.items() if name.startswith("speech_massive_")}
    assert (len(massive), set(massive.values())) == (12, {2974})
    assert found["fsd50k_eval"] == 10_231


@pytest.mark.parametrize("name", [*BIRDSET, "speech_massive_ar_sa", "speech_massive_vi_vn", "fsd50k_eval"])
def test_a_manifest_names_licence_source_and_part(name: str) -> None:
    """What a user must accept and give is in the manifest; the option is the name's own part."""
    manifest = load_manifest(name)
    assert manifest.licence.startswith("CC")
    assert manifest.citation
    assert manifest.source.kind == "local"
    part = manifest.source.options.get("subset", manifest.source.options.get("locale"))
    assert part is None or name.endswith(str(part).lower().replace("-", "_"))


def test_all_intents_are_classes(tree: Tree) -> None:
    """Sixty raw names, whichever of them the rows have."""
    _built("speech_massive_de_de", tree)
    index("speech_massive_de_de", tree.root)
    labels = open_dataset("speech_massive_de_de").collection("labels")
    assert labels.ids == labels.texts == list(INTENTS)
    assert len(set(INTENTS)) == 60


def test_what_is_not_stated_is_no_label(tree: Tree) -> None:
    """An age that is no number and a sex that is neither are left out."""
    _built("speech_massive_de_de", tree)
    index("speech_massive_de_de", tree.root)
    dataset = open_dataset("speech_massive_de_de")
    extra = {name: dict(dataset.clip(f"test/{name}").labels.extra) for name in "abd"}
    assert [name for name in extra if "age" in extra[name]] == ["a", "d"]
    assert [name for name in extra if "gender" in extra[name]] == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"path": "../../../etc/x.wav"}, "makes no clip id"),
        ({"path": "/etc/x.wav"}, "makes no clip id"),
        ({"intent_str": "launch_missiles"}, "expected one of the 60 intents"),
        ({"audio": {"bytes": None, "path": "a.wav"}}, "expected audio to hold bytes"),
        ({"utt": None, "path": ""}, "makes no clip id"),
    ],
)
def test_a_hostile_row_of_speech_massive_is_named(tree: Tree, change: dict[str, Any], reason: str) -> None:
    """File, row and what was expected; nothing is written outside of the store."""
    write_table(tree.root / "de-DE" / "test-00000-of-00001.parquet", [_ROW("a"), _ROW("b") | change])
    with pytest.raises(LayoutError, match=rf"test-00000-of-00001\.parquet, row 2.*{reason}"):
        index("speech_massive_de_de", tree.root)


def test_a_table_without_a_column_and_a_file_that_is_none(tree: Tree) -> None:
    """The missing column is named."""
    row = _ROW("a")
    del row["intent_str"]
    path = write_table(tree.root / "de-DE" / "test-00000-of-00001.parquet", [row])
    with pytest.raises(LayoutError, match="lacking: intent_str"):
        index("speech_massive_de_de", tree.root)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LayoutError, match="is no Parquet file"):
        index("speech_massive_de_de", tree.root)


def test_a_clip_that_is_there_twice_is_refused(tree: Tree) -> None:
    """Two shards of different downloads."""
    write_table(tree.root / "de-DE" / "test-00000-of-00001.parquet", [_ROW("a"), _ROW("a")])
    with pytest.raises(ManifestError, match=r"'test/a' is given twice"):
        index("speech_massive_de_de", tree.root)


def test_segments_without_a_bird_stay(tree: Tree) -> None:
    """They are marked, and the classes are the codes that are heard."""
    _built("birdset_hsn", tree)
    index("birdset_hsn", tree.root)
    dataset = open_dataset("birdset_hsn")
    silent = dataset.clip("HSN_1_005_010").labels
    assert (silent.events, dict(silent.extra)) == ((), {"no_bird": "yes"})
    assert dict(dataset.clip("HSN_1_000_005").labels.extra) == {}
    assert dataset.collection("birds").ids == ["amepip", "gcrfin", "whcspa"]


@pytest.mark.parametrize(
    ("file", "features"),
    [
        ("birdset_HSN_test_5s.parquet", None),
        ("HSN/test_5s-00000-of-00001.parquet", {"ebird_code_multilabel": [_CLASS]}),
        ("HSN/test_5s-00000-of-00001.parquet", {"ebird_code_multilabel": {"_type": "Sequence", "feature": _CLASS}}),
        ("HSN/test_5s-00000-of-00001.parquet", {"ebird_code_multilabel": {"_type": "List", "feature": _CLASS}}),
    ],
)
def test_tables_with_the_sound_are_read(tree: Tree, file: str, features: dict[str, Any] | None) -> None:
    """As bytes and as floats; numbers are named by the table itself, or by the lists beside it."""
    samples = [float(x) for x in noise(0.1, 32_000)[:, 0]]
    rows = [_segment(), _segment("HSN_1_005_010.ogg", (2, 0))]
    if features is None:
        for row in rows:
            row["audio"] = {"waveform": samples, "sample_rate": 32_000}
        tree.data("class_lists.json", {"sierras": _NAMES})
        tree.data("config_to_class_list.json", {"HSN": "sierras"})
    write_table(tree.root / file, rows, features)
    index("birdset_hsn", tree.root)
    dataset = open_dataset("birdset_hsn")
    assert dataset.clip("HSN_1_000_005").labels.events == ("whcspa",)
    assert dataset.clip("HSN_1_005_010").labels.events == ("amepip", "gcrfin")
    audio, rate = dataset.clip("HSN_1_000_005").load()
    assert (audio.shape, rate) == ((1, 3200), 32_000)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ebird_code_multilabel": [3]}, "expected a number below 3"),
        ({"ebird_code_multilabel": [-1]}, "expected a number below 3"),
        ({"filepath": ".."}, "expected filepath to name a file"),
        ({"filepath": ""}, "expected filepath to name a file"),
    ],
)
def test_a_hostile_row_of_birdset_is_named(tree: Tree, change: dict[str, Any], reason: str) -> None:
    """A number without a name, and a name that is no file's."""
    rows = [_segment(), _segment("HSN_1_005_010.ogg") | change]
    write_table(tree.root / "birdset_HSN_test_5s.parquet", rows, {"ebird_code_multilabel": [_CLASS]})
    with pytest.raises(LayoutError, match=rf"row 2: {reason}"):
        index("birdset_hsn", tree.root)


@pytest.mark.parametrize("features", [None, {}, {"ebird_code_multilabel": []}, {"ebird_code_multilabel": [7]}])
def test_numbers_without_names_are_refused(tree: Tree, features: dict[str, Any] | None) -> None:
    """The files that would name them are told, also where the table's own note is of no use."""
    write_table(tree.root / "birdset_HSN_test_5s.parquet", [_segment()], features)
    with pytest.raises(LayoutError, match=r"class_lists\.json and config_to_class_list\.json name numbers"):
        index("birdset_hsn", tree.root)


def test_classes_of_fsd50k_are_its_vocabulary(tree: Tree) -> None:
    """In the publisher's order, for labels that are asked by name."""
    _built("fsd50k_eval", tree)
    index("fsd50k_eval", tree.root)
    assert open_dataset("fsd50k_eval").collection("labels").ids == ["Rain", "Water"]
