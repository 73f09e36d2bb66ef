"""PocketSphinx hears real speech its own way, the same whatever came before, and says what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pocketsphinx
import pytest
from support.applications.asr import item, librivox, loaded, word_errors

from codec_superb.applications.asr.pocketsphinx_asr import PocketSphinx
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed, UnknownApplication
from codec_superb.applications.interface import Backend, Sound


@pytest.fixture(scope="module")
def sphinx() -> Backend:
    """Load the package's own models."""
    return loaded(open_backend("pocketsphinx"))


@pytest.mark.network
class TestTranscripts:
    """What it hears on five LibriVox recordings."""

    @pytest.mark.sample(1, among="recognisers hear")
    def test_errors_are_about_what_was_seen_elsewhere(self, sphinx: Backend) -> None:
        """An independent program found 28 % word errors on these recordings."""
        assert word_errors(librivox(), sphinx.predict(librivox())) == pytest.approx(28, abs=3)

    def test_nothing_is_left_of_the_sound_before(self, sphinx: Backend) -> None:
        """Behind another sound a recording reads as it does to a recogniser that has heard nothing."""
        first, second = (_noisy(place) for place in (3, 4))
        assert list(sphinx.predict([first, second]))[1:] == list(loaded(PocketSphinx()).predict([second]))

    def test_another_language_costs_its_clip(self, sphinx: Backend) -> None:
        """The models are of English; a German clip gets no transcript."""
        (answer,) = sphinx.predict([Sound(item("g", language="de"), librivox()[4].samples)])
        assert isinstance(answer, PredictionFailed)


def _noisy(place: int) -> Sound:
    """Return two seconds of a recording in faint noise, in which words are close to others."""
    samples = librivox()[place].samples[: 2 * 16_000]
    noise = np.random.default_rng(place).standard_normal(len(samples))
    return Sound(item(str(place)), (samples + 0.01 * noise).astype(np.float32))


class TestPrepare:
    """Which models run."""

    def test_the_package_carries_them(self) -> None:
        """The name says which models, the hash is of all their files."""
        model = PocketSphinx().prepare()
        assert model.name == "pocketsphinx:en-us"
        assert model.sha256 == "fbde73c3e3ee042719708a5326154d64efa83b44cf953c3131fefc94c17ed1a4"
        assert model.settings["version"] == "5.1.1"

    def test_a_folder_of_the_same_layout(self, tmp_path: Path) -> None:
        """The same files in a folder are the same model under the folder's name; one that lacks a file is refused."""
        folder = tmp_path / "mine"
        shutil.copytree(pocketsphinx.get_model_path("en-us"), folder)
        model = PocketSphinx("", folder).prepare()
        assert (model.name, model.sha256) == ("pocketsphinx:local:mine", PocketSphinx().prepare().sha256)
        (folder / "en-us" / "mdef").unlink()
        with pytest.raises(MissingModel, match=r"no file .*mdef.*pip install --force-reinstall pocketsphinx==5\.1\.1"):
            PocketSphinx("", folder).prepare()

    def test_an_unknown_model(self) -> None:
        """A model that does not exist is answered with the one that does."""
        with pytest.raises(UnknownApplication, match="There are: en-us"):
            PocketSphinx("fr-fr").prepare()
