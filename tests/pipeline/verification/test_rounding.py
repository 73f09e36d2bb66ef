"""Codecs whose sound depends on the processor: honest results of another one agree, or nothing is said of them."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import av
import pytest
from support.pipeline.stats import row
from support.pipeline.verified import Change, forged, packed, raised, speech_run

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.provenance import stamp
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.again import NothingSaid, Rerun
from codec_superb.pipeline.verification.verify import Asked, _whole, is_erratic, verify
from codec_superb.pipeline.workers.executor import Executor

CLIPS = 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, pool: Executor) -> RunFolder:
    """Run clips of synthetic speech through AAC."""
    return speech_run(tmp_path_factory.mktemp("aac"), CLIPS, pool, codec="aac_24k")


def _asked() -> Asked:
    return Asked(secrets.token_hex(32), 0)


def _another(change: Change) -> Change:
    """Give the row another sound, too."""
    return lambda made: change(made).model_copy(update={"resynthesis_sha256": "0" * 64})


def _unchanged(made: ClipRow) -> ClipRow:
    return made


class TestAac:
    """FFmpeg's AAC decides by rounding which coefficients are coded: of its other sound no number tells."""

    def test_the_same_sound_agrees(self, run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
        """As any codec's, on a machine of the same kind."""
        assert verify(packed(run, tmp_path / "honest.zip"), _asked(), again, pool=pool).verdict == "agrees"

    @pytest.mark.parametrize("change", [_unchanged, raised("pesq", 0.4), raised("mel", -0.001)])
    def test_of_another_sound_nothing_is_said(
        self, run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path, change: Change
    ) -> None:
        """An honest result of another processor is not held, and a forged one is not verified."""
        clips = [of.clip for of in run.rows()][:2]
        with pytest.raises(NothingSaid, match=f"got 4 of {CLIPS}; of another processor, or of damaged bits"):
            verify(forged(run, tmp_path / "other.zip", clips, _another(change)), _asked(), again, pool=pool)

    def test_a_forged_clip_of_the_same_sound_differs(
        self, run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path
    ) -> None:
        """Whatever the others sound like."""
        first, second, *_ = (of.clip for of in run.rows())

        def change(made: ClipRow) -> ClipRow:
            better = raised("pesq", 0.2)(made)
            return _another(_unchanged)(made) if made.clip == first else better

        statement = verify(forged(run, tmp_path / "both.zip", [first, second], change), _asked(), again, pool=pool)
        assert statement.verdict == "differs"
        assert [line for line in statement.differing() if second in line]


def test_of_damaged_bits_nothing_is_said_where_a_decoder_reads_what_the_memory_held(
    again: Rerun, pool: Executor, tmp_path: Path
) -> None:
    """FFmpeg's MP2 gives another sound of the same bits from run to run: an honest result was held."""
    run = speech_run(tmp_path, CLIPS, pool, codec="mp2_64k", conditions=[parse_condition("bits:0.01")])
    assert [of.status for of in run.rows()] == ["ok"] * CLIPS
    clips = [of.clip for of in run.rows()][:2]
    with pytest.raises(NothingSaid, match="of another processor, or of damaged bits"):
        verify(forged(run, tmp_path / "other.zip", clips, _another(raised("mel", -0.001))), _asked(), again, pool=pool)


@pytest.mark.parametrize(
    ("family", "condition", "erratic"),
    [
        ("aac", None, True),
        ("mp2", None, False),
        ("mp2", "bits:0.01", True),
        ("mp2", "loss:5", False),
        ("opus", "bits:1", False),
        ("opus", "loss:5", False),
        ("codec2", "bits:0.01", True),
        ("codec2", "loss:5", True),
        ("codec2", "noise:white:10", True),
        ("codec2", None, False),
    ],
)
def test_which_are_erratic(family: str, condition: str | None, erratic: bool) -> None:
    """As measured: what is lost of a payload that was rounded otherwise is something else, and noise adds up."""
    assert is_erratic(family, parse_condition(condition) if condition else None) == erratic


@pytest.mark.parametrize(
    ("family", "packages", "stages", "drawn"),
    [
        ("aac", {}, ("resynth",), 300),
        ("opus", {}, ("resynth",), 0),
        ("opus", {"av": "17.0.0"}, ("resynth",), 300),
        ("opus", {}, (), 300),  # who says nothing of it has as many draws
        ("opus", {"av": "17.0.0"}, ("score",), 0),  # metrics have their own tolerance
        ("codec2", {"av": "17.0.0"}, ("resynth",), 0),
        ("vorbis", {}, ("resynth",), 0),
    ],
)
def test_of_what_is_believed_for_its_sound_alone_every_clip_is_run(
    family: str, packages: dict[str, str], stages: tuple[Literal["resynth", "score"], ...], drawn: int
) -> None:
    """Else somebody sends versions of a few false clips, of which nothing is said, until a draw misses them."""
    own = [stamp("resynth", "cpu")] if "score" in stages else []
    stamps = [stamp(stage, "cpu") for stage in stages]
    stamps = [of.model_copy(update={"packages": of.packages | packages}) for of in stamps]
    of = SimpleNamespace(name="large", probes=[], provenance=[*own, *stamps])
    submission = SimpleNamespace(codec=SimpleNamespace(family=family), datasets=[of], condition=None)
    rows = [row(f"c{at}", dataset="large") for at in range(300)]
    opened = cast("Any", SimpleNamespace(pairs=[], rows=rows, submission=submission))
    assert sum(map(len, _whole(opened, "0" * 64).values())) == drawn


_WITHOUT_AVX = f"""
import ctypes
ctypes.CDLL({str(next(Path(av.__file__).parents[1].glob("av.libs/libavutil*"), ""))!r}).av_force_cpu_flags(0)
"""
"""Every process loads the library that PyAV uses and switches its code for this processor off."""


@pytest.mark.slow
@pytest.mark.skipif(not list(Path(av.__file__).parents[1].glob("av.libs/libavutil*")), reason="PyAV without libraries")
@pytest.mark.parametrize("codec", ["vorbis_q0", "wma_32k", "eac3_32k"])
def test_an_honest_result_of_another_processor_agrees(codec: str, pool: Executor, tmp_path: Path) -> None:
    """With FFmpeg's AVX and FMA code switched off: metrics, trials, ranks and opinion scores of other sound."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(_WITHOUT_AVX, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "path"), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    command = [sys.executable, "-m", "codec_superb", "bench", "--codec", codec, "--dataset", "mini"]
    command += ["--application", "asv,aec,quality", "--workers", "1", "--out", str(tmp_path / "there")]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": path}, timeout=600)
    file = tmp_path / "there" / f"{codec}.zip"
    statement = verify(file, _asked(), Rerun(tmp_path / "again", device="cpu"), pool=pool)
    assert statement.differing() == []
    assert {"asv", "aec", "dnsmos", "sim"} <= set(statement.compared)
    same = sum(clip.same_sound for clip in statement.clips)
    assert same < len(statement.clips) // 2, "this processor rounds as one without AVX: the test compares nothing"
