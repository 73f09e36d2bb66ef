"""Weights that a card does not pin: what was opened stands in the run, and a run holds clips of one model only."""

from __future__ import annotations

import hashlib
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from support.codecs import isolated
from support.codecs.isolated import LOCK, Published
from support.pipeline.runs import speech_folder

from codec_superb.base_codec.card import Weights
from codec_superb.base_codec.errors import CodecUnusable
from codec_superb.base_codec.isolation.environment import find_environment
from codec_superb.base_codec.isolation.errors import WorkerDied
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.clip import ResynthTask, resynthesise_clips
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.resynthesis.tokens import decode_tokens, export_tokens
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.runs.folder import RunFolder

PUBLISHED = f"{Path(isolated.__file__).resolve()}:Published"
FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the hub's cache of a machine that fetched the first commit, and its client to the environment."""
    python = find_environment(open_lock(str(LOCK))).folder / "lib" / f"python{sysconfig.get_python_version()}"
    (python / "site-packages" / "hub.pth").write_text(sysconfig.get_path("purelib"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub_home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repository = tmp_path / "hub_home" / "hub" / "models--somebody--gain"
    publish(repository, FIRST, "0.5")
    return repository


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with two clips."""
    return speech_folder(tmp_path / "clips", 2)


def publish(repository: Path, commit: str, gain: str) -> None:
    """Make ``commit`` the newest of the hub that this machine knows."""
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "snapshots" / commit / "gain.txt").write_text(gain)


def expected(commit: str, gain: str) -> Weights:
    """Return the weights of a card that was opened with ``gain`` at ``commit``."""
    listed = f"{hashlib.sha256(gain.encode()).hexdigest()}  somebody/gain/gain.txt\n"
    return Weights(source="somebody/gain", revision=commit, sha256=hashlib.sha256(listed.encode()).hexdigest())


def test_the_run_tells_commit_and_hash_of_what_was_opened(tmp_path: Path, clips: Path) -> None:
    """Resuming with the same weights is as ever; nothing of this machine's folders is told."""
    for limit in (1, 2, 2):
        (outcome,) = resynthesise([PUBLISHED], [str(clips)], out=tmp_path / "runs", limit=limit, workers=1)
        assert outcome.complete
    card = RunFolder(outcome.path).info().card
    assert card.weights == expected(FIRST, "0.5")
    assert str(tmp_path) not in card.model_dump_json()


@pytest.mark.sample(1, among="published weights change")
@pytest.mark.usefixtures("fresh_workers")
def test_a_run_is_not_continued_with_newer_weights(tmp_path: Path, clips: Path, hub: Path) -> None:
    """Both are named, the finished clips stay; a run begun anew has the new ones."""
    out = tmp_path / "runs"
    (outcome,) = resynthesise([PUBLISHED], [str(clips)], out=out, limit=1, workers=1)
    before = list(RunFolder(outcome.path).rows())
    publish(hub, SECOND, "0.25")
    with pytest.raises(
        PipelineError,
        match=r"no longer those of this run: somebody/gain, commit 1{12}, .* 2{12}, .* now; .*--overwrite",
    ):
        resynthesise([PUBLISHED], [str(clips)], out=out, workers=1)
    assert list(RunFolder(outcome.path).rows()) == before
    assert RunFolder(outcome.path).info().card.weights == expected(FIRST, "0.5")
    resynthesise([PUBLISHED], [str(clips)], out=out, overwrite=True, workers=1)
    assert RunFolder(outcome.path).info().card.weights == expected(SECOND, "0.25")


def test_a_worker_with_other_weights_than_the_run_ends_it(clips: Path) -> None:
    """The hub may move on between two workers of one run: no clip is coded with what the card does not tell."""
    spec = DatasetSpec(str(clips), None, "")
    task = ResynthTask(PUBLISHED, "cpu", spec, "clips", (), weights=expected(SECOND, "0.25"))
    with pytest.raises(PipelineError, match="published: its weights changed while it ran, from somebody"):
        list(resynthesise_clips(task))


@pytest.mark.sample(1, among="published weights change")
def test_a_worker_that_is_replaced_opens_the_same_weights(hub: Path) -> None:
    """After a crash another worker is started: with newer weights the codec is of no use any more."""
    codec = Published(Published.card).load()
    with pytest.raises(WorkerDied):
        codec.encode(np.zeros((1, 4001), dtype=np.float32), 16000)
    publish(hub, SECOND, "0.25")
    with pytest.raises(CodecUnusable, match="published: its weights changed while it ran"):
        codec.encode(np.zeros((1, 4000), dtype=np.float32), 16000)
    codec.close()


@pytest.mark.sample(1, among="published weights change")
def test_tokens_are_not_decoded_with_newer_weights(tmp_path: Path, clips: Path, hub: Path) -> None:
    """The file's card tells what encoded it."""
    file = tmp_path / "tokens.parquet"
    export_tokens(PUBLISHED, str(clips), file)
    assert len(decode_tokens(file, tmp_path / "sound", codec=PUBLISHED).files) == 2
    publish(hub, SECOND, "0.25")
    with pytest.raises(PipelineError, match=r"made with other weights of published: .*commit 1{12}.* here .*2{12}"):
        decode_tokens(file, tmp_path / "other", codec=PUBLISHED)
