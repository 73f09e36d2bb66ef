"""aisfx: the package's own spectrogram, blocks and network give the same; levels do not count; short clips answer."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support.applications.sound_events import noise, scores, sound, tone
from support.librosa_uncompiled import librosa

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.aisfx import FILE, RATE, AiSfx, blocks, spectrogram
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Model
from codec_superb.applications.model_files import embedded_models
from codec_superb.data_manifests.home import packages_home
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

Loaded = tuple[AiSfx, Model]


def swept(seconds: float) -> np.ndarray:
    """Return noise with a tone that rises and falls in it."""
    times = np.arange(round(seconds * RATE)) / RATE
    return (noise(seconds, RATE) + 0.4 * np.sin(2 * np.pi * 300 * times * (1 + np.sin(times)))).astype(np.float32)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make the package itself importable, out of its wheel."""
    wheel = Fetcher(packages_home(), read_pip_settings()).fetch(embedded_models()["aisfx"].file, lambda _: None)
    folder = tmp_path_factory.mktemp("aisfx")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "aisfx"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def aisfx() -> Iterator[Loaded]:
    """Return the embedded model, loaded."""
    backend = open_backend("aisfx")
    assert isinstance(backend, AiSfx)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    yield backend, model
    backend.close()


@pytest.mark.network
class TestAgainstThePackage:
    """The package's own code, of which only the functions that compute are used."""

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # librosa.load imports audioread, which uses aifc
    def test_the_spectrogram(self, package: Path, tmp_path: Path) -> None:
        """The same spectrogram as by librosa, normalised as the package does by default."""
        samples = swept(2.7)
        soundfile.write(tmp_path / "clip.wav", samples, RATE, subtype="FLOAT")
        assert librosa  # theirs: not compiled
        theirs = importlib.import_module("aisfx.spectrogram.spectrogram_librosa").compute_spectrogram(
            tmp_path / "clip.wav", sr=RATE, block_size=2048, hop_size=1024, n_mels=96, f_min=0.0, f_max=22050.0
        )
        ours = spectrogram(samples)
        assert ours.shape == theirs.T.shape
        np.testing.assert_allclose(ours, theirs.T / 9.457798957824707, atol=2e-5)

    @pytest.mark.parametrize("frames", [51, 99, 100, 101, 149, 150, 151, 333])
    def test_the_blocks(self, package: Path, frames: int) -> None:
        """The same blocks as the package's with its usual settings."""
        spectra = np.random.default_rng(0).random((frames, 96))
        theirs = importlib.import_module("aisfx.preprocessing").blocking(spectra, 100, 50, drop_partial_block=True)
        np.testing.assert_array_equal(blocks(spectra), theirs.astype(np.float32))

    def test_the_network(self, package: Path, aisfx: Loaded) -> None:
        """The published network with its published weights embeds a clip alike, block by block."""
        import torch

        inference: Any = importlib.import_module("aisfx.inference")
        weights, libraries = torch.load(package / "aisfx/models/checkpoint.pth", map_location="cpu", weights_only=False)
        samples = swept(4.0)
        inputs = torch.from_numpy(blocks(spectrogram(samples)))
        with torch.no_grad():
            theirs = inference.load_bestModel(weights, libraries, "cpu").get_embedding(inputs).numpy()
        ours = aisfx[0].frames(samples)
        assert ours.shape == theirs.shape == (2, 512)
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        assert np.ptp(theirs) > 1


@pytest.mark.network
class TestAnswers:
    """The embedded network."""

    def test_a_vector_is_the_mean_of_its_blocks(self, aisfx: Loaded) -> None:
        """Float32, 512 numbers, the same bits beside other clips; hop, pooling and licence are stated."""
        batch = [sound(swept(4.0)), sound(tone(440, 0.1, RATE)), sound(noise(3.0, RATE))]
        together = scores(aisfx[0].predict(batch))
        assert together.shape == (3, 512)
        assert (scores(aisfx[0].predict(batch[::-1]))[::-1] == together).all()
        np.testing.assert_allclose(together[0], aisfx[0].frames(swept(4.0)).mean(axis=0), rtol=1e-5)
        assert aisfx[1].settings["hop_s"] == pytest.approx(1.161, abs=1e-3)
        assert aisfx[1].settings["pooling"] == "mean"
        assert embedded_models()["aisfx"].licence == "CC BY 4.0"

    def test_the_level_does_not_count(self, aisfx: Loaded) -> None:
        """Half as loud is the same vector; silence has one too."""
        loud, soft, silent = scores(
            aisfx[0].predict([sound(swept(2.5)), sound(0.5 * swept(2.5)), sound(np.zeros(RATE))])
        )
        np.testing.assert_allclose(loud, soft, atol=1e-5)
        assert np.abs(loud - silent).max() > 0.1

    def test_what_is_not_finite_costs_itself_alone(self, aisfx: Loaded) -> None:
        """NaN and an empty clip are failures with their reasons."""
        bad, empty, good = aisfx[0].predict([sound(np.full(RATE, np.nan)), sound(np.zeros(0)), sound(swept(1.0))])
        assert isinstance(bad, PredictionFailed)
        assert isinstance(empty, PredictionFailed)
        assert isinstance(good, np.ndarray)


class TestMissing:
    """Files that are not there or hold something else."""

    def test_a_folder_without_the_file_says_where_it_is(self, tmp_path: Path) -> None:
        """The package and the member in it."""
        with pytest.raises(MissingModel, match=r"checkpoint\.pth.*aisfx 0\.1\.2 \(aisfx/models\)"):
            AiSfx("", tmp_path).prepare()

    def test_code_in_the_checkpoint_is_not_run(self, tmp_path: Path) -> None:
        """A pickle that would call something is refused before it does."""
        import torch

        torch.save((Calls(tmp_path / "called"), {}), tmp_path / FILE)
        backend = AiSfx("", tmp_path)
        with pytest.raises(MissingModel, match="cannot be read as a checkpoint of aisfx"):
            backend.load(backend.prepare(), "cpu", 1)
        assert not (tmp_path / "called").exists()

    def test_it_has_no_variants(self) -> None:
        """There is one model."""
        with pytest.raises(ApplicationError, match="no variants"):
            AiSfx("large").prepare()


class Calls:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.file,)
