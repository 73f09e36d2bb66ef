"""Where numba does not compile PESQ, or compiles it wrongly, the package ``pesq`` takes over and the run says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pesq as package
import pytest
import soundfile
from support.metrics import coded, speech
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import speech_folder
from support.profile import amount

import codec_superb
from codec_superb.metrics import quality
from codec_superb.metrics import score as score_module
from codec_superb.metrics.p862 import readiness
from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score

SOURCES = Path(codec_superb.__file__).parents[1]
NO_COMPILER = """
import numba.core.compiler
def compile_extra(*_arguments, **_options):
    raise RuntimeError("this numba compiles nothing")
numba.core.compiler.compile_extra = compile_extra
"""
DIES = NO_COMPILER.replace('raise RuntimeError("this numba compiles nothing")', "import os; os.abort()")
OTHER_ANSWER = """
from codec_superb.metrics.p862 import readiness
readiness.KNOWN_ANSWERS["wb"] += 0.01
"""
BROKEN = {
    "no compiler": (NO_COMPILER, {}, "RuntimeError: .*compiles nothing"),
    "compiler dies": (DIES, {}, "SIGABRT"),
    "compiling switched off": ("", {"NUMBA_DISABLE_JIT": "1"}, "NotImplementedError"),
    "other answer": (OTHER_ANSWER, None, "MOS-LQO .wb. of the built-in pair should be 3.07"),
}
"""What Python runs at the start of every process, variables (None: code that is kept on disk is used), the reason."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of three speech clips and, below ``runs``, what a codec made of them."""
    place = tmp_path_factory.mktemp("made")
    speech_folder(place / "clips", 3)
    resynthesise([f"{HERE}:Plain"], [str(place / "clips")], out=place / "runs", workers=1)
    return place


def _command(place: Path, start: str, variables: dict[str, str] | None, *arguments: str) -> tuple[int, str, str]:
    """Run ``codec-superb`` where every Python process, workers included, begins with ``start``; say what came of it."""
    (place / "start").mkdir(exist_ok=True)
    (place / "start" / "sitecustomize.py").write_text(start)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(place / "start"), str(SOURCES)])}
    if variables is not None:
        environment |= {"NUMBA_CACHE_DIR": str(place / "empty"), **variables}
    program = [sys.executable, "-c", "from codec_superb.cli.main import run; run()", *arguments]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, " ".join(done.stderr.split()), done.stdout


def _runs(made: Path, place: Path) -> Path:
    """Copy the run, whose clips stay where they are."""
    return Path(shutil.copytree(made / "runs", place / "runs"))


def _pesq(run: Path) -> dict[str, float | None]:
    return {row.clip: row.metrics["pesq"].value for row in RunFolder(run).rows()}


@pytest.mark.sample(1, among="compiled loops are replaced")
@pytest.mark.sample(2)
@pytest.mark.parametrize("how", BROKEN)
def test_the_package_takes_over_and_the_stamp_says_so(made: Path, tmp_path: Path, how: str) -> None:
    """Workers score all clips by the package, with its numbers, one warning, and its name in the stamp."""
    start, variables, reason = BROKEN[how]
    runs = _runs(made, tmp_path)
    arguments = ("score", str(runs), "--metric", "pesq", "--workers", str(amount(1, 2)))
    code, told, _ = _command(tmp_path, start, variables, *arguments)
    assert code == 0, told
    assert told.count("the package pesq takes over") == 1
    assert re.search(reason, told), told
    (run,) = (folder.parent for folder in runs.rglob("run.json"))
    assert [stamp.backends for stamp in RunFolder(run).info().provenance if stamp.stage == "score"] == [
        {"pesq": "reference"}
    ]
    found = _pesq(run)
    assert len(found) == 3
    for clip, value in found.items():
        pair = [soundfile.read(path)[0] for path in (made / "clips" / clip, RunFolder(run).audio_path(clip))]
        assert value == package.pesq(16_000, *pair, "wb")


@pytest.mark.sample(1, among="compiled loops are replaced")
def test_two_folders_say_which_implementation_ran(made: Path, tmp_path: Path) -> None:
    """Scoring folders made elsewhere takes the package too, and each row of the JSON names it."""
    clips = str(made / "clips")
    arguments = ("score", "--reference", clips, "--resynthesis", clips, "--metric", "pesq", "--json")
    code, told, answer = _command(tmp_path, OTHER_ANSWER, None, *arguments)
    assert code == 0, told
    assert [row["backends"] for row in json.loads(answer)] == [{"pesq": "reference"}] * 3


@pytest.mark.sample(1, among="compiled loops are replaced")
def test_workers_that_disagree_end_the_stage(made: Path, tmp_path: Path) -> None:
    """A worker in which PESQ fails after another found it to work ends the stage: a run is never mixed silently."""
    later = """
import sys
import time

if sys.argv[0].endswith("worker.py"):
    from codec_superb.metrics.p862 import readiness
    from codec_superb.metrics.quality import p862_fault
    from codec_superb.pipeline.scoring import clip, compile_ahead

    tries, score = compile_ahead._compile, clip._score

    def _compile(task):
        clip._score = lambda *given: time.sleep(30) or score(*given)  # it leaves a clip to the other worker
        return tries(task)

    def _score(*given):
        readiness.KNOWN_ANSWERS["wb"] += 0.01
        p862_fault.cache_clear()
        return score(*given)

    compile_ahead._compile, clip._score = _compile, _score
"""
    runs = _runs(made, tmp_path)
    code, told, _ = _command(tmp_path, later, None, "score", str(runs), "--metric", "pesq", "--workers", "2")
    assert code != 0
    assert "pesq: expected the implementation 'fast'" in told
    assert "'reference'" in told
    assert "Traceback" not in told


def test_a_run_that_goes_on_with_another_implementation_names_both(made: Path, tmp_path: Path) -> None:
    """Values of an interrupted scoring stay; the stamp has the implementation of either part."""
    runs = _runs(made, tmp_path)
    (outcome,) = score([runs], metrics=["pesq"], workers=1)
    journal = outcome.path / "journal" / "score.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    score([runs], metrics=["pesq"], workers=1, backends=(("pesq", "reference"),))
    stamps = [stamp.backends for stamp in RunFolder(outcome.path).info().provenance if stamp.stage == "score"]
    assert stamps == [{"pesq": "fast"}, {"pesq": "fast, reference"}]


def test_a_library_user_is_warned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """score_pair gives the package's value, says which implementation ran, and warns at the first pair only."""
    reference = speech()
    resynthesis = coded(reference, 16_000)
    expected = score_pair(reference, resynthesis, 16_000, ["pesq"], backends=(("pesq", "reference"),))["pesq"]
    assert expected.backend == "reference"
    for kept in (quality.p862_fault, score_module._warn_once):
        kept.cache_clear()
    monkeypatch.setitem(readiness.KNOWN_ANSWERS, "wb", 1.0)
    try:
        with pytest.warns(RuntimeWarning, match="built-in pair should be 1.0.*'reference' takes over") as warned:
            found = [score_pair(reference, resynthesis, 16_000, ["pesq", "sdr"]) for _ in range(3)]
        corrected = score_pair(reference, resynthesis, 16_000, ["pesq_c2"])["pesq_c2"]
    finally:
        quality.p862_fault.cache_clear()
    assert len(warned) == 1
    assert [values["pesq"] for values in found] == [expected] * 3
    assert found[0]["sdr"].backend == ""
    assert corrected.status == "failed"
    assert "does not work on this machine" in corrected.reason


def test_silence_is_undefined_whichever_implementation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault changes no refusal."""
    reference = speech()
    quality.p862_fault.cache_clear()
    monkeypatch.setitem(readiness.KNOWN_ANSWERS, "nb", 1.0)
    score_module._warn_once.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="MOS-LQO .nb."):
            found = score_pair(reference, np.zeros_like(reference), 16_000, list(METRICS))["pesq"]
    finally:
        quality.p862_fault.cache_clear()
    assert (found.status, found.backend) == ("undefined", "reference")
