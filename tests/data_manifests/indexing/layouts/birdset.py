"""BirdSet: the publisher's metadata and shards of segments; synthetic sounds."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree
from support.datasets.package_files import noise, sdist, wav_bytes
from support.datasets.parquet_tables import write_table


def build(tree: Tree) -> None:
    """Lay out metadata, one archive, one loose file, the lists of classes, and another subset."""
    ogg = wav_bytes(noise(0.1, 32_000), 32_000, format="OGG", subtype="VORBIS")
    codes = {"HSN_1_000_005.ogg": [1, 0], "HSN_1_005_010.ogg": [], "HSN_1_010_015.ogg": [2], "HSN_1_015_020.ogg": [2]}
    rows = [
        {"filepath": name, "ebird_code_multilabel": heard, "start_time": 0.0, "end_time": 5.0}
        for name, heard in codes.items()
    ]
    write_table(tree.root / "HSN" / "HSN_metadata_test_5s.parquet", rows)
    write_table(tree.root / "POW" / "POW_metadata_test_5s.parquet", [rows[0] | {"filepath": "POW_1.ogg"}])
    members = {"HSN_1_000_005.ogg": ogg, "HSN_1_005_010.ogg": ogg, "HSN_9_000_005.ogg": ogg}
    (tree.root / "HSN" / "HSN_test5s_shard_0001.tar.gz").write_bytes(sdist("HSN", "1", members))
    (tree.root / "HSN" / "loose").mkdir()
    (tree.root / "HSN" / "loose" / "HSN_1_010_015.ogg").write_bytes(ogg)
    tree.data("class_lists.json", {"sierras": ["gcrfin", "whcspa", "amepip"], "other": []})
    tree.data("config_to_class_list.json", {"HSN": "sierras", "POW": "other"})


CASE = Case(
    "birdset_hsn",
    build,
    clips=("HSN_1_000_005", "HSN_1_005_010", "HSN_1_010_015"),
    labels=("HSN_1_000_005", {"events": ("gcrfin", "whcspa"), "text": None}),
    missing=("HSN_1_015_020",),
)
