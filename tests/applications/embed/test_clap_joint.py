"""CLAP's towers in one space: transformers gives the same, lengths are 1, and no vector depends on others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.applications.audio_checkpoints import save_clap
from support.applications.sound_events import noise, scores, sound, tone

from codec_superb.applications.aec.torch_classifier import windows
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.clap_joint import ClapJoint
from codec_superb.applications.interface import Backend, Item, Model, SecondStage, TextQuestion
from codec_superb.applications.transformers_checkpoint import import_transformers

WORDS = ("a", "dog", "barks", "in", "the", "rain", "music")
Loaded = tuple[ClapJoint, Model]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny checkpoint, whose windows are of one second."""
    return save_clap(tmp_path_factory.mktemp("clap") / "tiny", WORDS)


@pytest.fixture(scope="module")
def clap(folder: Path) -> Loaded:
    """Return it loaded."""
    backend = open_backend("clap-joint", folder)
    assert isinstance(backend, ClapJoint)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    return backend, model


def test_both_towers_are_transformers_own(clap: Loaded, folder: Path) -> None:
    """The cosine of a clip and a text, their vectors being of length 1, is that of the whole model of transformers."""
    import torch

    transformers = import_transformers()
    samples = noise(0.7, 48_000)
    extractor = transformers.ClapFeatureExtractor.from_pretrained(folder)
    network = transformers.ClapModel.from_pretrained(folder).eval()
    features = extractor(samples, sampling_rate=48_000, return_tensors="pt")["input_features"].float()
    names = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
    texts = ["a dog barks", "music in the rain"]
    vectors = clap[0].embed(texts, "sentence")
    (heard,) = scores(clap[0].predict([sound(samples)]))
    for text, vector in zip(texts, vectors, strict=True):
        tokens = [names.index(word) for word in ("<s>", *text.split(), "</s>")]
        with torch.inference_mode():
            whole = network(input_ids=torch.tensor([tokens]), input_features=features)
        np.testing.assert_allclose(vector, whole.text_embeds[0], atol=1e-5)
        np.testing.assert_allclose(heard, whole.audio_embeds[0], atol=1e-5)
    assert vectors.dtype == heard.dtype == np.float32
    assert abs(float(vectors[0] @ vectors[1])) < 0.9999, "the texts are all alike"


def test_lengths_are_1_and_neighbours_say_nothing(clap: Loaded) -> None:
    """The same bits alone and beside others, of texts and of sounds; the empty text has a vector too."""
    texts = ["dog", "", "the rain in the rain"]
    together = clap[0].embed(texts, "query")
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_array_equal(clap[0].embed([text], "document")[0], row)
    batch = [sound(noise(0.3, 48_000)), sound(tone(300, 2.6, 48_000))]
    found = scores(clap[0].predict(batch))
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    np.testing.assert_array_equal(scores(clap[0].predict(batch[::-1]))[::-1], found)
    assert clap[0].embed([], "query").shape == (0, 16)


def test_a_long_clip_is_the_mean_of_its_windows(clap: Loaded) -> None:
    """Of their unit vectors, scaled to length 1."""
    samples = noise(2.6, 48_000)
    (whole,) = scores(clap[0].predict([sound(samples)]))
    mean = scores(clap[0].predict([sound(part) for part in windows(samples, 48_000)])).mean(axis=0)
    np.testing.assert_allclose(whole, mean / np.linalg.norm(mean), atol=1e-5)


def test_what_it_is_to_the_rest_of_the_program(clap: Loaded) -> None:
    """A backend that is its own second stage, with nothing to train; a long text is cut off, a question answered."""
    backend, model = clap
    assert isinstance(backend, SecondStage)
    assert type(backend).train is Backend.train
    assert list(backend.classes(model)) == []
    assert (model.name, model.random, model.settings["prompt"]) == ("clap-joint:local:tiny", True, "none")
    long = backend.embed([" ".join(["dog"] * 2000), " ".join(["dog"] * 3000)], "document")
    np.testing.assert_array_equal(long[0], long[1])
    (answer,) = backend.answer([TextQuestion(Item("a", "audio"), "a dog")])
    np.testing.assert_array_equal(np.asarray(answer), backend.embed(["a dog"], "query")[0])
