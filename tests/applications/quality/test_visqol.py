"""ViSQOL in speech and audio mode, its two mappings, and what it cannot compare."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import numpy as np
import pytest
from support.applications.quality import Samples, clean, muffled, noisy, sound
from support.profile import EVERYTHING

from codec_superb.applications.errors import ApplicationError, MissingPackage, PredictionFailed
from codec_superb.applications.quality.visqol import AUDIO_MODEL, AUDIO_RATE, LATTICE_MODEL, VisQol

pytestmark = pytest.mark.network
SECONDS = 3.0 if EVERYTHING else 1.5


@pytest.fixture(scope="module")
def backend() -> VisQol:
    """Return ViSQOL, set up once."""
    if not EVERYTHING:
        # Its loops compile for 11 s in a new environment. Without numba the package computes the same, slower.
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "numba", None)
            importlib.import_module("visqol.api")
    made = VisQol()
    made.load(made.prepare(), "cpu", 1)
    return made


def opinion(backend: VisQol, samples: Samples, category: str = "speech") -> float:
    """Return what it says of one clip beside the clean speech."""
    (answer,) = backend.predict([sound(samples, clean(samples.size / AUDIO_RATE, AUDIO_RATE), category)])
    assert isinstance(answer, np.ndarray)
    assert answer.shape == (1,)
    return float(answer[0])


@pytest.mark.sample(1)
@pytest.mark.parametrize(("category", "ceiling"), [("speech", 5.0), ("audio", 4.732), ("music", 4.732)])
def test_a_clip_with_itself_is_the_ceiling(backend: VisQol, category: str, ceiling: float) -> None:
    """Speech mode gives 5.0, audio mode the known 4.732 of identical signals; damage costs points in both."""
    same = opinion(backend, clean(SECONDS, AUDIO_RATE), category)
    assert same == pytest.approx(ceiling, abs=1e-3)
    assert (
        same
        > opinion(backend, muffled(SECONDS, AUDIO_RATE), category)
        > opinion(backend, noisy(SECONDS, AUDIO_RATE), category)
    )


@pytest.mark.sample(2, among="models of listening quality")
def test_opinions_are_those_of_the_package(backend: VisQol) -> None:
    """Speech goes in at 16 kHz and audio at 48 kHz: the package says the same of them."""
    import soxr
    from visqol.api import VisqolApi

    pair = [clean(SECONDS, AUDIO_RATE), muffled(SECONDS, AUDIO_RATE)]
    speech, audio = VisqolApi(), VisqolApi()
    speech.create(mode="speech", use_lattice_model=False)
    audio.create(mode="audio")
    narrow = [soxr.resample(samples, AUDIO_RATE, 16_000, quality="VHQ") for samples in pair]
    expected = speech.measure_from_arrays(*narrow, 16_000).moslqo
    assert opinion(backend, pair[1]) == pytest.approx(expected, abs=1e-5)
    assert opinion(backend, pair[1], "music") == pytest.approx(
        audio.measure_from_arrays(*pair, 48_000).moslqo, abs=1e-5
    )


@pytest.mark.parametrize("category", ["speech", "music"])
def test_what_cannot_be_compared_costs_one_clip(backend: VisQol, category: str) -> None:
    """Silence on either side, a clip of a tenth of a second, nothing, and a missing reference have no score."""
    good, silence = clean(1.0, AUDIO_RATE), np.zeros(AUDIO_RATE, np.float32)
    answers = backend.predict(
        [
            sound(silence, good, category),
            sound(good, silence, category),
            sound(silence, silence, category),
            sound(good[:4800], good[:4800], category),
            sound(good[:0], good[:0], category),
            sound(good, None, category),
            sound(good, good, category),
        ]
    )
    assert [type(answer) for answer in answers] == [PredictionFailed] * 6 + [np.ndarray]


class TestModel:
    """Which mapping runs, and what is said of others."""

    def test_the_identity_names_files_and_package(self) -> None:
        """The model is the regression's file and the version of the package; no path is in it."""
        model = VisQol().prepare()
        assert model == VisQol("exponential").prepare()
        assert model.name == "visqol:exponential"
        assert model.sha256 == "1e8246ed33bf36dc5c859351f7110f2cd31f98661989715c0fcf974ec48d3e2e"
        assert model.settings == {"package": "visqol-python 3.8.0", "speech": "exponential", "models": AUDIO_MODEL}

    def test_the_lattice_is_another_model(self) -> None:
        """With its runtime the lattice has its own hash and ceiling; without it the error is the install command."""
        made = VisQol("lattice")
        if importlib.util.find_spec("ai_edge_litert") is None:
            with pytest.raises(MissingPackage, match="pip install ai-edge-litert=="):
                made.prepare()
            return
        model = made.prepare()
        made.load(model, "cpu", 1)
        assert model.settings["models"] == f"{AUDIO_MODEL}, {LATTICE_MODEL}"
        assert opinion(made, clean(3.0, AUDIO_RATE)) == pytest.approx(4.5218, abs=1e-3)

    def test_a_missing_package_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the package, or without the lattice's runtime, the error names what to install."""
        found = importlib.util.find_spec

        def without(hidden: str) -> Any:
            return lambda name, *rest: None if name == hidden else found(name, *rest)

        monkeypatch.setattr(importlib.util, "find_spec", without("visqol"))
        with pytest.raises(MissingPackage, match=r"needs visqol, .* pip install 'codec-superb\[applications\]'"):
            VisQol().prepare()
        monkeypatch.setattr(importlib.util, "find_spec", without("ai_edge_litert"))
        with pytest.raises(MissingPackage, match="pip install ai-edge-litert"):
            VisQol("lattice").prepare()

    def test_there_is_no_other_mapping(self) -> None:
        """Another word behind the colon is refused, with those that there are."""
        with pytest.raises(ApplicationError, match="expected exponential or lattice behind the colon, got 'svr'"):
            VisQol("svr").prepare()
