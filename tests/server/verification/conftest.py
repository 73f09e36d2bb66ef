"""A real run over a state of ``mini`` with a few short clips, which the worker runs again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from support.pipeline.runs import speech_folder
from support.pipeline.stats import sha

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex, write_clip_list
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score

CLIPS = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """Run Opus on a state of ``mini`` with four short clips, in a home of these tests."""
    root = tmp_path_factory.mktemp("verified")
    place = root / "home" / "datasets" / "mini"
    speech_folder(place, CLIPS, seconds=0.5)
    records = [
        ClipRecord(
            id=f"mini/{file.stem}", path=file.name, category="speech", licence="CC0-1.0", attribution="by the test",
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        )
        for file in sorted(place.glob("*.wav"))
    ]  # fmt: skip
    version = load_manifest("mini").version
    index = DatasetIndex(name="mini", manifest_version=version, root=".", clips=0, manifest_hash=sha(""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(root / "home"))
        write_clip_list(place, index, records)
        (outcome,) = resynthesise(["opus_6k"], ["mini"], out=root / "runs", device="cpu", workers=1)
        score([outcome.path], metrics=["mel"], workers=1)
        yield RunFolder(outcome.path)
