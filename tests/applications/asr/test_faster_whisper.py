"""Whisper on CTranslate2 reads real speech aright, whatever the batch, and says what it needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import faster_whisper.utils
import numpy as np
import pytest
from support.applications.asr import item, librivox, word_errors

from codec_superb.applications.asr.faster_whisper import REPOSITORIES, FasterWhisper
from codec_superb.applications.asr.segmenting import segments
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed, UnknownApplication
from codec_superb.applications.interface import Prediction, Sound
from codec_superb.applications.model_files import embedded_model_folder
from codec_superb.base_codec.weight_folders import RANDOM_KEY

network = pytest.mark.network


@network
class TestTranscripts:
    """What the embedded model hears on five LibriVox recordings."""

    @pytest.mark.sample(1, among="faster-whisper hears")
    def test_word_error_rate_is_what_was_seen_elsewhere(self, heard: list[Prediction | Exception]) -> None:
        """The recordings come to 4.2 % word errors, as an independent program found: 3 of 71 words."""
        assert word_errors(librivox(), heard) == pytest.approx(100 * 3 / 71)

    @pytest.mark.sample(1, among="faster-whisper hears")
    def test_a_batch_gives_what_single_sounds_give(
        self, tiny: FasterWhisper, heard: list[Prediction | Exception]
    ) -> None:
        """A sound alone, and sounds in another order, read as all five together did."""
        assert tiny.predict(librivox()[4:]) == heard[4:]
        assert tiny.predict(librivox()[2:0:-1]) == heard[2:0:-1]

    @pytest.mark.sample(1, among="faster-whisper hears")
    def test_threads_change_no_transcript(self, heard: list[Prediction | Exception]) -> None:
        """Two threads hear what one hears."""
        other = FasterWhisper()
        other.load(other.prepare(), "cpu", 2)
        assert other.predict(librivox()[1:2]) == heard[1:2]
        other.close()

    @pytest.mark.sample(1, among="faster-whisper hears")
    def test_a_long_sound_is_heard_to_its_end(self, tiny: FasterWhisper) -> None:
        """All recordings twice, 50 s in a row, are divided and read: the last words are there, and none is lost."""
        once = np.concatenate([np.pad(sound.samples, (0, 8000)) for sound in librivox()])
        long = np.concatenate([once, once])
        assert len(segments(long, 16_000)) == 2
        words = " ".join(sound.item.text or "" for sound in librivox())
        sound = Sound(item("long", f"{words} {words}"), long)
        transcript = tiny.predict([sound])
        assert word_errors([sound], transcript) < 10
        assert str(transcript[0]).lower().count("amiable himself") == 2

    @pytest.mark.sample(1, among="faster-whisper hears")
    @pytest.mark.sample(2, among="languages of recognisers")
    def test_another_language_costs_its_clip(self, tiny: FasterWhisper) -> None:
        """A model of English alone answers for no French clip; the clips beside it keep their answers."""
        english, samples = librivox()[4], librivox()[4].samples
        french, heard = tiny.predict([Sound(item("f", language="fr-CA"), samples), english])
        assert isinstance(french, PredictionFailed)
        assert "knows English alone" in str(french)
        assert isinstance(heard, str)

    def test_no_samples_cost_their_clip(self, tiny: FasterWhisper) -> None:
        """A sound without samples is an error that says so."""
        (answer,) = tiny.predict([Sound(item("empty"), np.zeros(0, np.float32))])
        assert isinstance(answer, PredictionFailed)
        assert "got no samples" in str(answer)


@network
class TestPrepare:
    """Which model will run, and what it is called."""

    def test_the_default_is_the_embedded_model(self) -> None:
        """Without a size, and with `tiny.en`, the pinned package file answers."""
        model, named = FasterWhisper().prepare(), FasterWhisper("tiny.en").prepare()
        assert model == named
        assert model.name == "faster-whisper:tiny.en"
        assert model.sha256 == "2a4410629ba32953df4bbf64d2d866fb507e316f81671859dbd046eed47cc3b1"
        assert model.settings["precision"] == "float32"
        assert model.settings["decoding"] == "greedy"
        assert not model.random

    @pytest.mark.parametrize("how", ["variant", "weights"])
    def test_a_folder_is_named_without_its_path(self, tmp_path: Path, how: str) -> None:
        """A folder behind the colon or of `--weights` runs, with the same hash and without a path in its name."""
        folder = tmp_path / "mine"
        shutil.copytree(
            embedded_model_folder("whisper-tiny.en"), folder, copy_function=lambda a, b: Path(b).symlink_to(a)
        )
        backend = (
            open_backend(f"faster-whisper:{folder}") if how == "variant" else open_backend("faster-whisper", folder)
        )
        model = backend.prepare()
        assert model.name == "faster-whisper:local:mine"
        assert model.sha256 == FasterWhisper().prepare().sha256

    def test_an_untrained_model_says_so(self, tmp_path: Path) -> None:
        """A checkpoint whose configuration marks it as random is known as such."""
        for file in embedded_model_folder("whisper-tiny.en").iterdir():
            (tmp_path / file.name).symlink_to(file)
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").unlink()
        (tmp_path / "config.json").write_text(json.dumps(config | {RANDOM_KEY: True}))
        assert FasterWhisper("", tmp_path).prepare().random

    def test_a_broken_model_says_what_was_expected(self, tmp_path: Path) -> None:
        """A file that is no model is an error for people, with what was expected."""
        for name in ("model.bin", "vocabulary.txt", "tokenizer.json"):
            (tmp_path / name).write_bytes(b"no model")
        (tmp_path / "config.json").write_text("{}")
        backend = FasterWhisper("", tmp_path)
        with pytest.raises(ApplicationError, match="expected a Whisper checkpoint for CTranslate2"):
            backend.load(backend.prepare(), "cpu", 1)


class TestMissing:
    """What a user without the model is told."""

    def test_a_folder_without_files(self, tmp_path: Path) -> None:
        """Each missing file is named, with the command that fetches them."""
        with pytest.raises(MissingModel) as caught:
            FasterWhisper("large-v3", tmp_path).prepare()
        for word in ("vocabulary.json", "model.bin", "hf download Systran/faster-whisper-large-v3", "--weights"):
            assert word in str(caught.value)

    def test_a_hub_that_is_not_asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Offline, the command names the repository and the files of that size."""
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(MissingModel, match=r"hf download Systran/faster-whisper-small vocabulary\.txt"):
            FasterWhisper("small").prepare()

    def test_an_unknown_size_names_near_ones(self) -> None:
        """A misspelt size is answered with near matches and all sizes."""
        with pytest.raises(UnknownApplication, match=r"Did you mean large-v3\b.* There are: .*tiny\.en"):
            FasterWhisper("large-v33").prepare()

    def test_no_path_that_exists(self, tmp_path: Path) -> None:
        """A path that leads nowhere is named."""
        with pytest.raises(MissingModel, match="nowhere"):
            FasterWhisper(str(tmp_path / "nowhere")).prepare()


def test_sizes_are_those_of_faster_whisper() -> None:
    """The sizes and repositories are what the package itself would fetch."""
    assert {
        name: repository for name, repository in faster_whisper.utils._MODELS.items() if name in REPOSITORIES
    } == REPOSITORIES
    assert set(REPOSITORIES) == set(faster_whisper.available_models())
