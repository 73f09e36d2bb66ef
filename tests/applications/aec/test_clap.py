"""CLAP: its input against transformers', the dataset's classes in its identity, its answers on a tiny checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.applications.audio_checkpoints import save_clap
from support.applications.sound_events import noise, scores, sound, tone

from codec_superb.applications.aec.clap import PROMPT, Clap
from codec_superb.applications.aec.clap_input import ClapInput
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingLabels, MissingModel, PredictionFailed
from codec_superb.applications.interface import Item, Model, Samples
from codec_superb.applications.transformers_checkpoint import import_transformers

CLASSES = ("cat", "crackling_fire", "dog")
ITEMS = [Item("1", "audio", events=("dog",)), Item("2", "audio", events=("cat", "crackling_fire")), Item("3", "audio")]
WORDS = [*PROMPT.split(), "cat", "crackling", "fire", "dog"]


def unheard(clip: str) -> Samples:
    """Fail: a zero-shot model needs no sound to know its classes."""
    raise AssertionError(clip)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny checkpoint."""
    return save_clap(tmp_path_factory.mktemp("clap") / "tiny", WORDS)


@pytest.fixture(scope="module")
def clap(folder: Path) -> tuple[Clap, Model]:
    """Return it loaded for the classes of the dataset."""
    return loaded(folder)


def loaded(folder: Path, items: list[Item] = ITEMS) -> tuple[Clap, Model]:
    """Open, prepare, show the dataset, and load, as a run does."""
    backend = open_backend("clap", folder)
    assert isinstance(backend, Clap)
    model = backend.train(items, unheard, backend.prepare())
    backend.load(model, "cpu", 1)
    return backend, model


class TestInput:
    """The spectrogram in numpy."""

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("seconds", [10.0, 9.0, 4.9, 0.37])
    def test_it_is_what_transformers_feeds(self, seconds: float) -> None:
        """The feature extractor of transformers, without fusion, gives the same: repeated, filled, in decibels."""
        samples = noise(seconds, 48_000) + tone(1000, seconds, 48_000)
        extractor = import_transformers().ClapFeatureExtractor(truncation="rand_trunc", frequency_min=50)
        theirs = extractor(samples, sampling_rate=48_000)["input_features"][0]
        ours = ClapInput()(samples)
        assert ours.shape == (1, 1001, 64)
        assert ours == pytest.approx(np.asarray(theirs), abs=2e-3)


class TestModel:
    """What the model is said to be, before and after it has seen the dataset."""

    def test_the_classes_of_the_dataset_are_part_of_the_model(self, folder: Path) -> None:
        """Sorted, each once, whatever the order of the clips; other classes make another identity."""
        backend = Clap("", folder)
        plain = backend.prepare()
        assert list(backend.classes(plain)) == []
        model = backend.train(ITEMS, unheard, plain)
        assert tuple(backend.classes(model)) == CLASSES
        assert backend.train(ITEMS[::-1], unheard, plain) == model
        assert backend.train(ITEMS[:1], unheard, plain).settings != model.settings
        assert (model.name, model.random, model.sha256) == ("clap:local:tiny", True, plain.sha256)

    def test_a_dataset_without_events_is_an_error(self, folder: Path) -> None:
        """There is nothing to ask for."""
        backend = Clap("", folder)
        with pytest.raises(MissingLabels, match="got none"):
            backend.train(ITEMS[2:], unheard, backend.prepare())

    def test_a_missing_file_is_named_with_the_command(self, folder: Path, tmp_path: Path) -> None:
        """The tokeniser is one of the files that are asked for."""
        with pytest.raises(MissingModel, match=r"(?s)tokenizer.json.*hf download laion/clap-htsat-unfused"):
            Clap("", tmp_path).prepare()

    def test_a_fused_checkpoint_is_refused(self, tmp_path: Path) -> None:
        """It stacks windows drawn at random: no answer of it could be had twice."""
        save_clap(tmp_path, WORDS, fused=True)
        with pytest.raises(MissingModel, match="unfused"):
            Clap("", tmp_path).prepare()


class TestAnswers:
    """Cosines of a tiny random network."""

    def test_the_batch_says_nothing(self, clap: tuple[Clap, Model], folder: Path) -> None:
        """The same bits one by one, together, in another order, and from a second copy; long clips included."""
        batch = [sound(noise(0.3, 48_000)), sound(tone(300, 1.0, 48_000)), sound(noise(2.5, 48_000, seed=3))]
        together = scores(clap[0].predict(batch))
        assert together.shape == (3, 3)
        assert (np.abs(together) <= 1.001).all()
        assert (scores(clap[0].predict(batch[::-1]))[::-1] == together).all()
        other, _ = loaded(folder)
        assert (np.concatenate([scores(other.predict([one])) for one in batch]) == together).all()
        assert np.ptp(together, axis=0).max() > 1e-4, "the network hears no difference"
        assert np.ptp(together, axis=1).max() > 1e-4, "the sentences are all alike"

    def test_a_class_scores_alike_whatever_the_others_are(self, clap: tuple[Clap, Model], folder: Path) -> None:
        """The sentences are embedded one by one, without padding: fewer classes change no score of the rest."""
        fewer, _ = loaded(folder, ITEMS[:1])
        clip = sound(noise(0.8, 48_000))
        assert scores(fewer.predict([clip]))[0, 0] == scores(clap[0].predict([clip]))[0, CLASSES.index("dog")]

    def test_it_is_transformers_own_answer(self, clap: tuple[Clap, Model], folder: Path) -> None:
        """Extractor and network of transformers, on tokens written by hand, give the same cosines."""
        import torch

        transformers = import_transformers()
        samples = noise(0.7, 48_000)
        extractor = transformers.ClapFeatureExtractor.from_pretrained(folder)
        network = transformers.ClapModel.from_pretrained(folder).eval()
        features = extractor(samples, sampling_rate=48_000, return_tensors="pt")["input_features"].float()
        names = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
        for name in CLASSES:
            sentence = [names.index(word) for word in ("<s>", *PROMPT.split(), *name.split("_"), "</s>")]
            with torch.inference_mode():
                answer = network(input_ids=torch.tensor([sentence]), input_features=features)
            cosine = float(answer.audio_embeds[0] @ answer.text_embeds[0])
            ours = scores(clap[0].predict([sound(samples)]))[0, CLASSES.index(name)]
            assert ours == pytest.approx(cosine, abs=1e-5), name

    def test_a_clip_without_samples_costs_itself_alone(self, clap: tuple[Clap, Model]) -> None:
        """An empty clip is an error in its place."""
        empty, good = clap[0].predict([sound(np.zeros(0)), sound(noise(0.1, 48_000))])
        assert isinstance(empty, PredictionFailed)
        assert isinstance(good, np.ndarray)
