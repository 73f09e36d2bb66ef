"""A codec on a private dataset: rows, and errors of which the kind alone goes further."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import MissingDependency
from codec_superb.data_manifests import DatasetError
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.private_sets.commitment import private_facts
from codec_superb.pipeline.private_sets.measure import PrivateRunFailed, failures_in_words, kind_of, private_rows

CANARY = "nightjar"


def test_rows_come_back_and_nothing_stays(tmp_path: Path) -> None:
    """Scores of what works, a count of what does not; another state or another codec is refused without a word more."""
    clips, scratch = tmp_path / "clips" / "audio", tmp_path / "scratch"
    clips.mkdir(parents=True)
    for number in range(3):
        sound = 0.1 * np.random.default_rng(number).normal(size=8000)
        soundfile.write(clips / f"{CANARY}{number}.wav", sound, 16000)
    broken = np.full(8000, np.nan, np.float32)  # its header is whole: only the stage finds out
    soundfile.write(clips / f"{CANARY}9.wav", broken, 16000, subtype="FLOAT")
    spec, card = str(clips.parent), registry.card("opus_16k")
    facts = private_facts(spec)

    def run(committed: str = facts.commitment, kbps: float = 16.0) -> str:
        rows = private_rows(
            card.model_copy(update={"nominal_kbps": kbps}), spec, salt=facts.salt, committed=committed,
            scratch=scratch, categories=("audio",), clip_seconds=600, device="cpu", workers=1,
        )  # fmt: skip
        assert [row.status for row in rows] == ["ok", "ok", "ok", "failed"]
        assert rows[0].metrics.keys() == {"stft", "mel"}
        return failures_in_words(rows)

    assert run() == "1 of 4 clips without resynthesis (load: AudioFileError 1)"
    with pytest.raises(PrivateRunFailed, match="is not in the catalogue here, or has other settings"):
        run(kbps=17.0)
    with pytest.raises(PrivateRunFailed, match="not the one that was committed to") as caught:
        run("0" * 64)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert list(scratch.glob("run-*")) == []


def test_a_codec_without_an_answer_ends_the_run(tmp_path: Path) -> None:
    """Its worker says that it lives: without a limit everybody's jobs would wait for it."""
    clips = tmp_path / "clips" / "audio"
    clips.mkdir(parents=True)
    soundfile.write(clips / f"{CANARY}.wav", 0.1 * np.random.default_rng(0).normal(size=8000), 16000)
    facts = private_facts(str(clips.parent))
    with pytest.raises(PrivateRunFailed, match="a stage could not go on"):
        private_rows(
            registry.card("opus_16k"), str(clips.parent), salt=facts.salt, committed=facts.commitment,
            scratch=tmp_path / "scratch", categories=("audio",), clip_seconds=1e-6, device="cpu", workers=1,
        )  # fmt: skip


@given(st.sampled_from([DatasetError, MissingDependency, PipelineError, OSError, RuntimeError, ValueError]), st.text())
def test_no_word_of_an_error_goes_further(kind: type[Exception], words: str) -> None:
    """What is said depends on the class alone."""
    assert kind_of(kind(f"/home/{CANARY}/{words}")) == kind_of(kind(""))


def test_an_error_does_not_carry_the_first_one_along(tmp_path: Path) -> None:
    """Neither as its cause nor as its context, which a log would print."""
    with pytest.raises(PrivateRunFailed, match="the dataset cannot be opened on this machine") as caught:
        private_rows(
            registry.card("opus_16k"), f"/{CANARY}/nowhere", salt="", committed="", scratch=tmp_path,
            categories=("audio",), clip_seconds=600,
        )  # fmt: skip
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
