"""A program that answers spoken questions, from the command line's name of it to the figures of a run."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.run_codecs import HERE

from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.executor import Executor

PROBE = "mseb_reasoning_generative"
ROWS = """
    path,text,language,span,context
    c0.wav,which year,en,1889,p
    c1.wav,who paid,en,No Answer,p
    c2.wav,say it,en,1889,p
"""
PROGRAM = """
    import json, pathlib, re, sys
    for line in sys.stdin:
        with pathlib.Path(__file__).with_name("asked").open("a") as file:
            file.write(".")
        asked = json.loads(line)
        year = re.search("[0-9]+", asked["context"])[0]
        answers = {"which year": {"answer": year}, "who paid": {"answer": "No Answer"}}
        print(json.dumps(answers.get(asked["text"], "prose")), flush=True)
"""


def test_answers_reach_the_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two of three are right, on both sides; what is no answer is invalid.

    The originals are asked for once for both runs, nothing is asked for twice, and all of it again with ``overwrite``.
    """
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    data = tmp_path / "data"
    (data / "collections").mkdir(parents=True)
    for number in range(3):
        soundfile.write(data / f"c{number}.wav", speech_like(0.3, 16000, seed=number), 16000)
    (data / "labels.csv").write_text(textwrap.dedent(ROWS).lstrip())
    (data / "collections" / "contexts.csv").write_text("id,title,text\np,Tower,It was built in 1889.\n")
    program = tmp_path / "reader.py"
    program.write_text(f"#!{sys.executable}\n" + textwrap.dedent(PROGRAM))
    program.chmod(0o755)
    with Executor(1) as pool:
        runs = [
            resynthesise([f"{HERE}:Plain"], [str(data)], out=tmp_path / name, executor=pool)[0].path for name in "ab"
        ]
        for asked, overwrite in ((9, False), (9, False), (18, True)):
            probe(
                runs, applications=[PROBE], backends=[f"transcript-truth+command:{program}"], executor=pool,
                overwrite=overwrite,
            )  # fmt: skip
            assert len((tmp_path / "asked").read_text()) == asked
    kept = [row.probes[PROBE] for row in RunFolder(runs[0]).rows()]
    for side in ("reference", "resynthesis"):
        assert [(getattr(of, side)["f1"], getattr(of, side)["invalid"]) for of in kept] == [(1, 0), (1, 0), (0, 1)]
