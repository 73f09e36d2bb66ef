"""WARP-Q against the authors' package, and what it does with silence, short clips and damage."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.applications.quality import RATE, Samples, clean, importable, muffled, noisy, package, sound
from support.librosa_uncompiled import librosa

from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.quality.warpq import WarpQ, cepstra, distance, normalised, voiced_samples
from codec_superb.data_manifests.manifest import PackageFile

pytestmark = pytest.mark.network

WARPQ = PackageFile(
    project="warpq",
    version="1.5.2",
    filename="warpq-1.5.2-py3-none-any.whl",
    sha256="e18781dfeff6568996d88ee6839083b53c63213cda5dd83504ca9f5f92c548b5",
    size=28892,
)
PYVAD = PackageFile(
    project="pyvad",
    version="0.2.0",
    filename="pyvad-0.2.0-py3-none-any.whl",
    sha256="b803d5d715e5ca619ae5fc61a50244efa02f5c5a175e63cc611811d42dadf491",
    size=4653,
)
UNUSED = ("pandas", "seaborn", "matplotlib", "matplotlib.pyplot")
"""What the package draws and stores tables with."""


def answer(samples: Samples, reference: Samples) -> float:
    """Return what the backend says of one clip."""
    backend = WarpQ()
    backend.load(backend.prepare(), "cpu", 1)
    (found,) = backend.predict([sound(samples, reference)])
    assert isinstance(found, np.ndarray)
    assert found.shape == (1,)
    return float(found[0])


@pytest.mark.sample(2, among="models of listening quality")
def test_distances_equal_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, run from its files, gives the same raw scores to the three decimals that it rounds to."""
    monkeypatch.setattr(np.lib, "pad", np.pad, raising=False)  # where it was before numpy 2
    warping = "__dtw_calc_accu_cost"  # a minute uncompiled
    monkeypatch.setattr(librosa.sequence, warping, njit(getattr(librosa.sequence, warping)))
    with importable(package(WARPQ), package(PYVAD), without=UNUSED):
        from warpq.core import warpqMetric

        theirs = warpqMetric(n_jobs=1)
        for reference, resynthesis in (
            (clean(3.0), muffled(3.0)),
            (clean(6.3), noisy(6.3, snr_db=10)),
            (clean(1.5), clean(1.5)),
            (noisy(2.0, snr_db=20), clean(4.0)[RATE:]),
        ):
            expected = theirs.evaluate(reference, resynthesis, arr_sr=RATE)["raw_warpq_score"]
            assert answer(resynthesis, reference) == pytest.approx(expected, abs=1e-3)


def test_cepstra_equal_librosa() -> None:
    """The liftered cepstra are librosa's, to single precision."""
    expected = librosa.feature.mfcc(
        y=clean(1.0), sr=RATE, n_mfcc=13, fmax=5000, n_fft=1024, win_length=512, hop_length=64, lifter=3
    )
    assert cepstra(clean(1.0)) == pytest.approx(expected.T, abs=1e-2, rel=1e-4)


@pytest.mark.sample(2, among="what opinions depend on")
def test_worse_sound_is_farther() -> None:
    """The distance grows with the noise; the reference itself is nearest, though not at 0."""
    distances = [answer(noisy(4.0, snr_db=level), clean(4.0)) for level in (30, 15, 0)]
    assert 0.0 < answer(clean(4.0), clean(4.0)) < distances[0] < distances[1] < distances[2]


@pytest.mark.sample(2, among="what opinions depend on")
def test_level_does_not_count_much() -> None:
    """Half the level moves the distance far less than noise does: features are normalised."""
    same = answer(clean(3.0), clean(3.0))
    assert answer(0.5 * clean(3.0), clean(3.0)) == pytest.approx(same, abs=0.1)


@pytest.mark.parametrize(
    ("resynthesis", "said"),
    [
        (np.zeros(RATE * 2, np.float32), r"needs 0\.4 s of voice, the resynthesis has 0\.00 s"),
        (np.zeros(0, np.float32), r"the resynthesis has 0\.00 s"),
        (clean(0.2), "needs 0\\.4 s of voice"),
    ],
    ids=["silence", "nothing", "short"],
)
def test_without_voice_there_is_no_distance(resynthesis: Samples, said: str) -> None:
    """Silence and clips that are too short cost themselves alone."""
    with pytest.raises(PredictionFailed, match=said):
        distance(clean(2.0), resynthesis)
    good, bad, lone = WarpQ().predict([
        sound(clean(1.0), clean(1.0)), sound(resynthesis, clean(1.0)), sound(clean(1.0)),
    ])  # fmt: skip
    assert isinstance(good, np.ndarray)
    assert isinstance(bad, PredictionFailed)
    assert isinstance(lone, PredictionFailed)


def test_sound_beyond_full_scale_is_no_error() -> None:
    """A resynthesis that overshoots, as resampling may leave it, has its distance."""
    assert answer(1.5 * clean(2.0) / np.abs(clean(2.0)).max(), clean(2.0)) > 0.0


def test_pauses_are_cut_out() -> None:
    """Two seconds of silence within speech leave less than half a second behind."""
    speech = clean(2.0)
    paused = np.concatenate([speech, np.zeros(2 * RATE, np.float32), speech])
    assert voiced_samples(paused).size <= 2 * speech.size + RATE // 2


def test_normalised_features_have_mean_0_and_variance_1() -> None:
    """Over a window in the middle the features are standardised; constants become 0, not infinite."""
    found = normalised(np.random.default_rng(0).normal(5.0, 3.0, (2000, 2)))
    assert found[500:1500].mean() == pytest.approx(0.0, abs=0.05)
    assert found[500:1500].std() == pytest.approx(1.0, abs=0.05)
    assert not normalised(np.full((300, 13), 7.0)).any()


def test_the_procedure_is_the_model() -> None:
    """Its identity is a hash of parameters; it has no variants."""
    model = WarpQ().prepare()
    assert (model.name, len(model.sha256), model.path, model.random) == ("warpq", 64, None, False)
    with pytest.raises(ApplicationError, match="no variants, got 'mapped'"):
        WarpQ("mapped").prepare()
