"""WavLM for emotions, end to end: trained on a small synthetic set, asked by the heads that have not heard a clip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.applications.audio_checkpoints import save_wavlm
from support.applications.emotions import synthetic_items, synthetic_sound
from support.profile import amount

from codec_superb.applications.catalogue import open_backend, score
from codec_superb.applications.er.emotions import IEMOCAP_CLASSES
from codec_superb.applications.er.wavlm_emotion import WavLMEmotion, WavLMFeatures
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Item, Model, Samples, ScoringInput, Sound
from codec_superb.applications.metric_functions import Evidence, percentage
from codec_superb.applications.transformers_checkpoint import import_transformers

SESSIONS = amount(3, 5)
"""A head for each is trained on all others."""
ITEMS = synthetic_items(SESSIONS, amount(1, 2))


class Trained(NamedTuple):
    """A backend after a run's preparation, and what it says about the references."""

    backend: WavLMEmotion
    model: Model
    answers: dict[str, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny WavLM."""
    return save_wavlm(tmp_path_factory.mktemp("wavlm") / "tiny")


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """Open, prepare, train on the references, load, and ask about them, as a run does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(tmp_path_factory.mktemp("home")))
        backend = open_backend("wavlm-emotion", folder)
        assert isinstance(backend, WavLMEmotion)
        model = backend.train(ITEMS, synthetic_sound, backend.prepare())
        backend.load(model, "cpu", 1)
        answers = backend.predict([Sound(item, synthetic_sound(item.clip)) for item in ITEMS])
        yield Trained(
            backend, model, {item.clip: np.asarray(found) for item, found in zip(ITEMS, answers, strict=True)}
        )
        backend.close()


def accuracy(trained: Trained, resynthesis: dict[str, np.ndarray]) -> tuple[float, float]:
    """Score through the catalogue and the figure; return percent on both sides."""
    question = ScoringInput(
        "synthetic", ITEMS, trained.answers, resynthesis, classes=trained.backend.classes(trained.model)
    )
    outcomes = score("er", question).outcomes
    sides = [[getattr(outcomes[item.clip], side)["correct"] for item in ITEMS] for side in ("reference", "resynthesis")]
    found = [percentage(Evidence({"c": np.array(side)}), np.ones((1, len(ITEMS))), "c")[0] for side in sides]
    return float(found[0]), float(found[1])


@pytest.mark.sample(1, among="emotions to the end")
class TestEndToEnd:
    """The synthetic set: pitch and tempo say the emotion."""

    def test_references_are_named_far_above_chance_and_noise_is_not(self, trained: Trained) -> None:
        """Held-out clips: over 80 % right where the commonest class has 40 %; drowned in noise, less."""
        drowned = [Sound(item, synthetic_sound(item.clip, noise=1.0)) for item in ITEMS]
        answers = trained.backend.predict(drowned)
        noisy = {item.clip: np.asarray(found) for item, found in zip(ITEMS, answers, strict=True)}
        reference, resynthesis = accuracy(trained, noisy)
        assert reference > 80
        assert resynthesis < reference - 10

    def test_the_batch_says_nothing(self, trained: Trained) -> None:
        """One by one, in another order, and after another loading, answers are the same bits."""
        again = WavLMEmotion()
        again.load(trained.model, "cpu", 1)
        for item in ITEMS[::-7]:
            found = again.predict([Sound(item, synthetic_sound(item.clip))])[0]
            assert isinstance(found, np.ndarray)
            assert found.dtype == np.float32
            assert (found == trained.answers[item.clip]).all()

    def test_it_is_trained_once_for_a_dataset(self, trained: Trained, folder: Path) -> None:
        """The second codec's run finds the heads: no reference is read again, and the model is the same."""

        def never(clip: str) -> Samples:
            raise AssertionError(clip)

        backend = WavLMEmotion(str(folder))
        assert backend.train(ITEMS[::-1], never, backend.prepare()) == trained.model

    def test_it_is_trained_on_the_device_that_was_asked_for(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """``--device cpu`` reaches the training too, whatever devices there are."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        backend = WavLMEmotion(str(folder))
        opened: list[str] = []
        features = WavLMEmotion._features

        def spy(model: Model, device: str, threads: int) -> object:
            opened.append(device)
            return features(model, "cpu", threads)

        monkeypatch.setattr(WavLMEmotion, "_features", staticmethod(spy))
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        backend.train(ITEMS, synthetic_sound, backend.prepare(), "cpu")
        assert opened == ["cpu"]

    def test_the_model_says_how_it_was_made(self, trained: Trained) -> None:
        """Name without a path, the mark of a random WavLM, folds, training and the identity of the heads."""
        settings = trained.model.settings
        assert (trained.model.name, trained.model.random) == ("wavlm-emotion:local:tiny", True)
        assert (settings["folds"], settings["seed"]) == (f"{SESSIONS} by session", 0)
        assert len(str(settings["heads"])) == 16
        assert tuple(trained.backend.classes(trained.model)) == IEMOCAP_CLASSES

    def test_a_clip_that_no_fold_holds_out_and_a_short_one_cost_themselves(self, trained: Trained) -> None:
        """A clip of another emotion has no head; less than 25 ms has no frame; the neighbour gets its answer."""
        stranger = Sound(Item("elsewhere", "speech", emotion="fear"), synthetic_sound(ITEMS[0].clip))
        short = Sound(ITEMS[0], np.zeros(399, np.float32))
        first, second, third = trained.backend.predict(
            [stranger, short, Sound(ITEMS[0], synthetic_sound(ITEMS[0].clip))]
        )
        assert isinstance(first, PredictionFailed)
        assert isinstance(second, PredictionFailed)
        assert "400" in str(second)
        assert isinstance(third, np.ndarray)


class TestFeatures:
    """Layers averaged over time."""

    def test_they_are_transformers_own(self, folder: Path) -> None:
        """Extractor and network of transformers, used as their manual says, give the same means of all layers."""
        import torch

        transformers = import_transformers()
        samples = synthetic_sound(ITEMS[3].clip)
        extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=True)
        network = transformers.WavLMModel.from_pretrained(folder).eval()
        with torch.inference_mode():
            inputs = extractor(samples, sampling_rate=16_000, return_tensors="pt").input_values
            theirs = torch.stack(network(inputs, output_hidden_states=True).hidden_states)[:, 0].mean(dim=1)
        ours = WavLMFeatures(folder, "cpu", 1).pooled(samples)
        assert ours.shape == (3, 16)
        assert ours == pytest.approx(theirs.numpy(), abs=1e-5)


class TestMissing:
    """What is said where something lacks."""

    def test_offline_it_says_that_there_is_no_emotion_model_and_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Without the hub: the files, the command that fetches them, and the option that names their folder."""
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(MissingModel, match=r"(?s)no emotion model.*hf download microsoft/wavlm-large.*--weights"):
            WavLMEmotion().prepare()

    def test_heads_that_are_not_there_are_said(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Loading before training names what is missing."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        backend = WavLMEmotion("", folder)
        with pytest.raises(MissingModel, match="no trained heads"):
            backend.load(backend.prepare(), "cpu", 1)
