"""DNSMOS against the package whose models it runs, and what it does with short, silent and empty clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.applications.quality import RATE, Samples, clean, importable, muffled, noisy, package, sound
from support.librosa_uncompiled import librosa

from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.model_files import embedded_models
from codec_superb.applications.quality.dnsmos import WINDOW, DnsMos, mel_features, windows

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def backend() -> DnsMos:
    """Return DNSMOS, loaded once."""
    made = DnsMos()
    made.load(made.prepare(), "cpu", 1)
    return made


def opinions(backend: DnsMos, samples: Samples) -> Samples:
    """Return what it says of one clip."""
    (answer,) = backend.predict([sound(samples)])
    assert isinstance(answer, np.ndarray)
    return answer


class TestAgreement:
    """The package's own code, run from its file, says the same."""

    @pytest.mark.sample(2, among="models of listening quality")
    def test_scores_equal_those_of_the_package(self, backend: DnsMos) -> None:
        """All four scores agree to 1e-4, for clips of several lengths, clean and damaged."""
        folder = backend.prepare().path
        assert folder is not None
        with importable(package(embedded_models()["dnsmos"].file)):
            from speechmos.dnsmos import DNSMOS

            theirs = DNSMOS(str(folder / "sig_bak_ovr.onnx"), str(folder / "model_v8.onnx"))
            for samples in (noisy(5.0), muffled(11.4)):
                expected = theirs(samples, RATE, is_personalized_MOS=False)
                values = [expected[key] for key in ("ovrl_mos", "sig_mos", "bak_mos", "p808_mos")]
                assert opinions(backend, samples) == pytest.approx(values, abs=1e-4)

    def test_mel_features_equal_librosa(self) -> None:
        """What the P.808 model hears is librosa's mel spectrum, with its odd length of the transform."""
        window = noisy(9.01, snr_db=20)[:-160]
        power = librosa.feature.melspectrogram(y=window, sr=RATE, n_fft=321, hop_length=160, n_mels=120)
        expected = (librosa.power_to_db(power, ref=np.max) + 40) / 40
        assert mel_features(window) == pytest.approx(expected.T, abs=2e-4)


class TestBehaviour:
    """What it says about speech, and about clips that are none."""

    @pytest.mark.sample(2, among="what opinions depend on")
    def test_clean_is_better_than_noisy(self, backend: DnsMos) -> None:
        """Clean read speech is above 3 overall, the same under as much noise below 2."""
        good, bad = opinions(backend, clean(9.02)), opinions(backend, noisy(9.02))
        assert good[0] > 3.0
        assert bad[0] < 2.0
        assert (good > bad).all()

    @pytest.mark.sample(2, among="models of listening quality")
    def test_answers_do_not_depend_on_the_batch_or_threads(self, backend: DnsMos) -> None:
        """A clip gets the same scores to the last bit alone, among others, and with two threads."""
        clips = [noisy(9.02), muffled(2.3)]  # one window each: 2.3 s are repeated to 9.2
        together = backend.predict([sound(samples) for samples in clips])
        other = DnsMos()
        other.load(other.prepare(), "cpu", 2)
        for samples, answer in zip(clips, together, strict=True):
            assert np.array_equal(opinions(backend, samples), answer)
        assert np.array_equal(opinions(other, clips[0]), together[0])

    @pytest.mark.sample(2, among="models of listening quality")
    def test_silence_has_a_score_and_no_sound_has_none(self, backend: DnsMos) -> None:
        """Silence is a sound that the model answers for; a clip without samples costs itself alone."""
        silent, empty = backend.predict([sound(np.zeros(RATE, np.float32)), sound(np.zeros(0, np.float32))])
        assert isinstance(silent, np.ndarray)
        assert np.isfinite(silent).all()
        assert isinstance(empty, PredictionFailed)

    @pytest.mark.parametrize(("seconds", "count"), [(0.01, 1), (9.01, 1), (10.9, 1), (11.0, 2), (16.0, 7), (17.0, 7)])
    def test_windows_start_every_second(self, seconds: float, count: int) -> None:
        """A short clip is one window; each whole second beyond adds one, until rounding passes one over."""
        found = list(windows(np.ones(round(seconds * RATE), np.float32)))
        assert [window.size for window in found] == [WINDOW] * count


class TestModel:
    """Which models run, and what is said when they are not there."""

    def test_the_identity_holds_no_path(self) -> None:
        """The model is named by its files' hash and the procedure."""
        model = DnsMos().prepare()
        assert model.name == "dnsmos"
        assert len(model.sha256) == 64
        assert not any(isinstance(value, str) and "/" in value for value in model.settings.values())

    def test_weights_may_lie_in_a_folder(self, tmp_path: Path) -> None:
        """A folder with both files is the same model; one without them says which and where they are had."""
        found = DnsMos().prepare()
        assert found.path is not None
        assert DnsMos(weights=found.path).prepare().sha256 == found.sha256
        with pytest.raises(MissingModel, match=r"sig_bak_ovr\.onnx and no file model_v8\.onnx .*speechmos 0\.0\.1\.1"):
            DnsMos(weights=tmp_path).prepare()

    def test_there_are_no_variants(self) -> None:
        """``dnsmos:large`` is refused before anything is fetched."""
        with pytest.raises(ApplicationError, match="no variants, got 'large'"):
            DnsMos("large").prepare()
