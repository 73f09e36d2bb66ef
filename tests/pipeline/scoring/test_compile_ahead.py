"""PESQ is compiled once, by one worker, and the user hears of it."""

from __future__ import annotations

import sys

import pytest
from support_p862 import RATE, damaged, speech

from codec_superb.metrics.p862 import pesq, readiness
from codec_superb.pipeline.scoring import compile_ahead as module
from codec_superb.pipeline.scoring.compile_ahead import EVERY_TIME, ONCE, compile_ahead
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import SilentProgress


class Heard(SilentProgress):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        """Keep it."""
        self.texts.append(text)


def _compiled() -> dict[tuple[str, str], int]:
    """Count the compiled versions of every function of PESQ."""
    parts = [part for name, part in sys.modules.items() if name.startswith("codec_superb.metrics.p862.")]
    return {
        (part.__name__, name): len(function.signatures)
        for part in parts
        for name, function in vars(part).items()
        if hasattr(function, "signatures")
    }


def test_everything_is_compiled_ahead() -> None:
    """What is compiled ahead is all that scoring needs: damaged speech compiles nothing more."""
    readiness.compile_ahead()
    assert readiness.is_compiled()
    before = _compiled()
    for seed in range(30):
        reference = speech(1.0 + 0.1 * seed, seed)
        pesq(reference, damaged(reference, seed), RATE)
    assert _compiled() == before


def test_nothing_is_said_where_it_is_compiled() -> None:
    """A second command is silent, and the worker's timeout is for clips only."""
    readiness.compile_ahead()
    heard = Heard()
    with Executor(1, timeout=0.001) as pool:
        compile_ahead(["pesq", "sdr"], (), pool, heard)
        assert pool.running == 1
        assert pool.timeout == 0.001
    assert heard.texts == []


@pytest.mark.parametrize(("keys", "backends"), [(["sdr"], ()), (["pesq", "sdr"], (("pesq", "reference"),))])
def test_no_worker_starts_where_nothing_needs_it(keys: list[str], backends: tuple[tuple[str, str], ...]) -> None:
    """Other metrics and the package ``pesq`` wait for nothing."""
    with Executor(1) as pool:
        compile_ahead(keys, backends, pool, Heard())
        assert pool.running == 0


@pytest.mark.parametrize(("worth", "texts"), [(True, [ONCE]), (False, [EVERY_TIME])])
def test_the_user_is_told(monkeypatch: pytest.MonkeyPatch, *, worth: bool, texts: list[str]) -> None:
    """Before compiling begins; where it cannot be kept, the words say so and nothing is compiled for others."""
    done: list[bool] = []
    monkeypatch.setattr(readiness, "is_compiled", lambda: False)
    monkeypatch.setattr(readiness, "is_worth_compiling", lambda: worth)
    monkeypatch.setattr(readiness, "compile_ahead", lambda: done.append(True))
    assert list(module._compile(None)) == texts
    assert done == ([True] if worth else [])
