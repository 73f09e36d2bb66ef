"""PESQ is compiled and tried once, by one worker; the user hears of it, and of the package that takes over."""

from __future__ import annotations

import sys

import pesq as package
import pytest
from support.p862 import RATE, damaged, speech

from codec_superb.metrics import quality
from codec_superb.metrics.p862 import pesq, readiness
from codec_superb.pipeline.scoring import compile_ahead as module
from codec_superb.pipeline.scoring.compile_ahead import EVERY_TIME, ONCE, Trial, WorkingBackends
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


def test_the_known_answers_are_those_of_the_package() -> None:
    """The package ``pesq`` gives the built-in pair the scores that are built in, exactly."""
    pair = readiness.known_pair()
    assert {mode: package.pesq(RATE, *pair, mode) for mode in ("wb", "nb")} == readiness.KNOWN_ANSWERS


def test_everything_is_compiled_ahead() -> None:
    """What is compiled ahead is all that scoring needs: damaged speech compiles nothing more."""
    assert readiness.deviation() == ""
    assert readiness.is_compiled()
    before = _compiled()
    for seed in range(30):
        reference = speech(1.0 + 0.1 * seed, seed)
        pesq(reference, damaged(reference, seed), RATE)
    assert _compiled() == before


def test_nothing_is_said_where_it_is_compiled() -> None:
    """A second command is silent, and the worker's timeout is for clips only."""
    assert readiness.deviation() == ""
    heard = Heard()
    with Executor(1, timeout=0.001) as pool:
        assert WorkingBackends((), pool, heard).settle(["pesq", "sdr"]) == ()
        assert pool.running == 1
        assert pool.timeout == 0.001
    assert heard.texts == []


@pytest.mark.parametrize(("keys", "backends"), [(["sdr"], ()), (["pesq", "sdr"], (("pesq", "reference"),))])
def test_no_worker_starts_where_nothing_needs_it(keys: list[str], backends: tuple[tuple[str, str], ...]) -> None:
    """Other metrics and the package ``pesq`` wait for nothing."""
    with Executor(1) as pool:
        assert WorkingBackends(backends, pool, Heard()).settle(keys) == backends
        assert pool.running == 0


@pytest.mark.parametrize(("worth", "text"), [(True, ONCE), (False, EVERY_TIME)])
def test_the_user_is_told(monkeypatch: pytest.MonkeyPatch, *, worth: bool, text: str) -> None:
    """Before compiling begins; where the code cannot be kept, the words say so."""
    monkeypatch.setattr(readiness, "is_compiled", lambda: False)
    monkeypatch.setattr(readiness, "is_worth_compiling", lambda: worth)
    quality.p862_fault.cache_clear()
    assert list(module._compile(None)) == [text, Trial("")]
