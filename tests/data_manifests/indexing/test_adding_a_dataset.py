"""The guide's dataset is three files and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stranger import Copy, guide_blocks


@pytest.mark.sample(1, among="guides carried out")
def test_a_dataset_is_a_manifest_an_indexer_and_a_test(tmp_path: Path) -> None:
    """Followed word for word in a copy, the guide touches three files, and the tests of all layouts pass."""
    manifest = guide_blocks("adding-a-dataset.md", "yaml")[0]
    indexer, case = guide_blocks("adding-a-dataset.md")
    copy = Copy(tmp_path)
    copy.write("data_manifests/manifests/birds.yaml", manifest)
    copy.write("data_manifests/indexers/birds.py", indexer)
    copy.write("tests/data_manifests/indexing/layouts/birds.py", case)
    copy.test(
        "tests/data_manifests/indexing/test_index.py", "tests/data_manifests/test_published_manifests.py",
        "-k", "birds or every_layout or forgotten or other_dataset",
    )  # fmt: skip
    assert len(copy.touched) == 3
