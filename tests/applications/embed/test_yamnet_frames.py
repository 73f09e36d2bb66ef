"""YAMNet's pooled layer: the class scores follow from it, and frames and their pooling say what they are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.applications.sound_events import noise, sound, tone

from codec_superb.applications.aec.onnx_file import read_scalars, results_of, with_output
from codec_superb.applications.aec.yamnet import NETWORK, POOLING
from codec_superb.applications.aec.yamnet_input import patches
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.yamnet_frames import YamNetFrames
from codec_superb.applications.interface import Model

pytestmark = pytest.mark.network
Loaded = tuple[YamNetFrames, Model]
WEIGHTS = ("model.classifier.weight_qdq", "model.classifier.bias")


@pytest.fixture(scope="module")
def yamnet() -> Iterator[Loaded]:
    """Return the embedded model, loaded."""
    backend = open_backend("yamnet-frames")
    assert isinstance(backend, YamNetFrames)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    yield backend, model
    backend.close()


class Classifier(NamedTuple):
    """The network's last layer, out of its file."""

    weights: np.ndarray
    """``(521, 1024)``."""
    biases: np.ndarray
    step: float
    """Of the 8 bits in which it is given a frame."""
    score_step: float
    """Of the 8 bits in which its scores are stored."""


def classifier(model: Model, folder: Path) -> Classifier:
    """Read the layer: its stored weights become outputs, as the pooled layer does."""
    import onnxruntime

    assert model.path is not None
    with zipfile.ZipFile(model.path / NETWORK) as archive:
        archive.extractall(folder)
    (file,) = folder.rglob("*.onnx")
    content = file.read_bytes()
    (pooled,) = results_of(content, POOLING)
    scalars = read_scalars(content)
    for name in WEIGHTS:
        content = with_output(content, name)
    file.write_bytes(content)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    weights, biases = session.run(WEIGHTS, {"audio": np.zeros((1, 1, 96, 64), np.uint8)})
    return Classifier(weights, biases, scalars[f"{pooled}_scale"], scalars["class_scores_scale"])


def test_the_class_scores_follow_from_the_frames(yamnet: Loaded, tmp_path: Path) -> None:
    """The classifier's matrix over a frame, in the steps of its 8 bits, gives the backend ``yamnet``'s own scores."""
    backend, model = yamnet
    layer = classifier(model, tmp_path)
    whole = open_backend("yamnet")
    whole.load(whole.prepare(), "cpu", 1)
    for samples in (noise(0.9), tone(880, 0.9)):
        (patch,) = patches(samples)
        frame = backend.pooled(patch)
        stored = np.rint(frame / layer.step).clip(0, 255)
        logits = layer.weights @ (stored * layer.step) + layer.biases
        (scores,) = whole.predict([sound(samples)])
        assert isinstance(scores, np.ndarray)
        theirs = np.log(scores.astype(float) / (1 - scores))
        assert theirs.max() < 10  # beyond, float32 holds 1 - p too coarsely
        assert np.abs(logits - theirs).max() < 0.51 * layer.score_step
        assert np.ptp(frame / layer.step % 1) > 0.9, "the frame is in steps of 8 bits itself"


def test_frames_are_those_of_the_patches(yamnet: Loaded) -> None:
    """0.975 s make one frame and each 0.48 s begun one more; hop, size and identity are stated."""
    backend, model = yamnet
    short, long = backend.predict([sound(noise(0.975)), sound(noise(0.975 + 0.49))])
    assert np.shape(short) == (1, 1024)
    assert np.shape(long) == (3, 1024)
    assert np.asarray(short).dtype == np.float32
    assert np.asarray(long).min() >= 0
    assert (model.name, model.settings["hop_s"]) == ("yamnet-frames", 0.48)
    assert "pooling" not in model.settings
    assert list(backend.classes(model)) == []


def test_vectors_are_the_frames_pooled(yamnet: Loaded) -> None:
    """The mean of the frames, or their maxima; the pooling is part of the model's identity."""
    frames = np.asarray(yamnet[0].predict([sound(noise(3.0))])[0])
    for spec, pooled in {
        "yamnet-vectors": frames.mean(axis=0),
        "yamnet-vectors:,pooling=max": frames.max(axis=0),
    }.items():
        backend = open_backend(spec)
        model = backend.prepare()
        backend.load(model, "cpu", 1)
        assert model.settings["pooling"] in {"mean", "max"}
        assert model.sha256 == yamnet[1].sha256
        np.testing.assert_allclose(np.asarray(backend.predict([sound(noise(3.0))])[0]), pooled, rtol=1e-6)
