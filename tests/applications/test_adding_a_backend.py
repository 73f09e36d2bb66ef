"""The guide's example is a working backend."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.metrics import speech
from support.stranger import Copy, guide_blocks

from codec_superb.applications import catalogue
from codec_superb.applications.backends import NO_FILE, BackendEntry
from codec_superb.applications.catalogue import choose, open_backend
from codec_superb.applications.interface import Item, ScoringInput, Sound


@pytest.fixture
def mel_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Add the backend of the guide to the catalogue, from the two blocks of code that stand there; give its name."""
    code, row, _ = guide_blocks("adding-a-backend.md")
    (tmp_path / "mel_voice.py").write_text(code)
    specification = importlib.util.spec_from_file_location("mel_voice_of_the_guide", tmp_path / "mel_voice.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "mel_voice_of_the_guide", module)
    entry = replace(
        eval(row, {"BackendEntry": BackendEntry, "NO_FILE": NO_FILE}), target="mel_voice_of_the_guide:MelVoice"
    )
    monkeypatch.setitem(catalogue.BACKENDS, entry.name, entry)
    return str(entry.name)


def test_the_backend_of_the_guide_answers_for_its_probes(mel_voice: str) -> None:
    """It is chosen for both, a clip is its own likeness, and one that is too short costs only itself."""
    assert [choice.backend for choice in choose(["asv"], [mel_voice])] == [mel_voice] * 2
    backend = open_backend(mel_voice)
    backend.load(backend.prepare(), "cpu", 1)
    voice = speech(seconds=1.0).astype(np.float32)
    one, two = Item("one", "speech"), Item("two", "speech")
    same, low, short = backend.predict(
        [Sound(one, voice), Sound(two, np.convolve(voice, np.ones(8) / 8).astype(np.float32)), Sound(one, voice[:100])]
    )
    assert "at least 512 samples, got 100" in str(short)
    assert not isinstance(same, Exception)
    assert not isinstance(low, Exception)
    question = ScoringInput("made", [one, two], {"one": same, "two": same}, {"one": same, "two": low})
    scored = catalogue.score("sim", question)
    assert scored.outcomes["one"].resynthesis["similarity"] == pytest.approx(1.0, abs=1e-6)
    assert 0.2 < scored.outcomes["two"].resynthesis["similarity"] < 0.999


def test_the_order_of_a_batch_changes_no_bit(mel_voice: str) -> None:
    """As the guide asks of every backend."""
    backend = open_backend(mel_voice)
    backend.load(backend.prepare(), "cpu", 1)
    sounds = [Sound(Item(str(n), "speech"), speech(seconds=0.2 * n).astype(np.float32)) for n in (1, 2, 3)]
    together = backend.predict(sounds)
    alone = [backend.predict([sound])[0] for sound in reversed(sounds)]
    for one, two in zip(together, reversed(alone), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(two))


@pytest.mark.sample(1, among="guides carried out")
def test_a_model_is_a_class_a_row_and_a_test(tmp_path: Path) -> None:
    """Followed word for word in a copy, the guide touches three files, and the tests that know all backends pass."""
    code, row, test = guide_blocks("adding-a-backend.md")
    copy = Copy(tmp_path)
    copy.write("applications/asv/mel_voice.py", code)
    copy.insert("applications/backends.py", ")  # fmt: skip\n\nBACKENDS: dict", row)
    copy.write("tests/applications/asv/test_mel_voice.py", test)
    copy.test("tests/applications/asv/test_mel_voice.py", "tests/applications/test_availability.py")
    assert len(copy.touched) == 3
