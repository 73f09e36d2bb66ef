"""Frames of transformers' encoders: its own composition and the original Whisper give the same; parts fit together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.applications.audio_checkpoints import save, save_ast, save_wavlm, seeded
from support.applications.sound_events import noise, scores, sound, tone
from support.speech import real_speech

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.transformers_frames import PART_S, parts
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend
from codec_superb.applications.transformers_checkpoint import import_transformers

TINY = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "conv_dim": [16] * 7,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
HEADS = {"hubert": "HubertForCTC", "wav2vec2": "Wav2Vec2ForCTC"}


def save_tiny(kind: str, folder: Path) -> Path:
    """Save a tiny encoder; HuBERT and wav2vec 2.0 under the head that their published checkpoints have."""
    if kind == "wavlm":
        return save_wavlm(folder)
    transformers = import_transformers()
    seeded(0)
    head = getattr(transformers, HEADS[kind])
    network = head(head.config_class(**TINY, vocab_size=32))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4.0 if parameter.dim() > 1 else 1.0)
    return save(network, folder, {"do_normalize": kind == "hubert", "sampling_rate": 16_000})


@pytest.fixture(scope="module", params=["hubert", "wav2vec2", "wavlm"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny checkpoint of each kind."""
    return save_tiny(request.param, tmp_path_factory.mktemp("tiny") / request.param)


def loaded(spec: str) -> Backend:
    """Open a backend as a worker does."""
    backend = open_backend(spec)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


def answer(spec: str, samples: np.ndarray) -> np.ndarray:
    """Return the answer to one sound."""
    return scores(loaded(spec).predict([sound(samples)]))[0]


def test_it_is_transformers_own_answer(folder: Path) -> None:
    """Extractor and network of transformers give the same last layer, and each other one; vectors pool them."""
    transformers = import_transformers()
    samples = noise(0.7) + tone(300, 0.7)
    extractor: Any = transformers.Wav2Vec2FeatureExtractor.from_pretrained(folder)
    network: Any = transformers.AutoModel.from_pretrained(folder).eval()
    values = extractor(samples, sampling_rate=16_000, return_tensors="pt").input_values
    with torch.inference_mode():
        theirs = network(values, output_hidden_states=True)
    last = answer(f"transformers-frames:{folder}", samples)
    assert last.shape == ((samples.size - 400) // 320 + 1, 16)
    np.testing.assert_allclose(last, theirs.last_hidden_state[0], atol=1e-4)
    assert np.ptp(last, axis=0).max() > 0.01
    for layer in (0, 1, 2):
        expected = theirs.hidden_states[layer][0]
        np.testing.assert_allclose(answer(f"transformers-frames:{folder},layer={layer}", samples), expected, atol=1e-4)
    vector = answer(f"pooled-transformers:{folder},pooling=max,layer=1", samples)
    np.testing.assert_allclose(vector, theirs.hidden_states[1][0].amax(dim=0), atol=1e-4)


def test_settings_and_failures(folder: Path) -> None:
    """Hop, layer, pooling and random weights are stated; too short a clip costs itself alone."""
    backend = open_backend(f"pooled-transformers:{folder}")
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    assert (model.name, model.random) == (f"pooled-transformers:local:{folder.name}", True)
    assert model.settings["hop_s"] == 0.02
    assert (model.settings["layer"], model.settings["pooling"]) == (-1, "mean")
    short, one, two = backend.predict([sound(noise(399 / 16_000)), sound(noise(0.025)), sound(noise(1.0))])
    assert isinstance(short, PredictionFailed)
    assert "399 samples" in str(short)
    (alone,) = backend.predict([sound(noise(1.0))])
    np.testing.assert_array_equal(np.asarray(alone), np.asarray(two))
    assert np.asarray(one).shape == (16,)


def test_a_long_clip_has_every_frame(folder: Path) -> None:
    """31 s in two parts have as many frames as in one; the first part's are those of the part alone."""
    samples = noise(31.0)
    backend = loaded(f"transformers-frames:{folder}")
    (found,) = scores(backend.predict([sound(samples)]))
    (first,) = scores(backend.predict([sound(parts(samples, 320, 400)[0])]))
    assert len(found) == (samples.size - 400) // 320 + 1
    np.testing.assert_array_equal(found[: len(first)], first)


@given(st.integers(400, 200 * 16_000))
def test_parts_lose_no_frame(size: int) -> None:
    """Whatever the length: at most 30 s of hops each, and as many frames in all as the whole has."""
    found = parts(np.broadcast_to(np.float32(0), size), 320, 400)
    counts = [(part.size - 400) // 320 + 1 for part in found]
    assert sum(counts) == (size - 400) // 320 + 1
    assert min(counts) > 0
    assert max(counts) <= PART_S * 50


@pytest.mark.network
class TestWhisper:
    """The encoder of tiny.en, with its real weights."""

    @pytest.mark.sample(1, among="vectors of other programs")
    def test_the_original_gives_the_same(self, tmp_path: Path) -> None:
        """OpenAI's own encoder on its own spectrogram of speech: the frames that hold sound, 20 ms each."""
        import whisper
        from support.applications.ct2 import openai_checkpoint
        from support.applications.recognisers import save_tiny_en

        from codec_superb.applications.model_files import embedded_model_folder

        tiny_en = tmp_path / "tiny.en"
        save_tiny_en(tiny_en)
        checkpoint = openai_checkpoint(embedded_model_folder("whisper-tiny.en"))
        original = whisper.model.Whisper(whisper.model.ModelDimensions(**checkpoint["dims"])).eval()
        original.load_state_dict(checkpoint["model_state_dict"], strict=False)
        speech = real_speech(16_000, 3.01)[0]
        spectra = whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(speech)))
        with torch.inference_mode():
            theirs = original.encoder(spectra[None])[0]
        ours = answer(f"transformers-frames:{tiny_en}", speech)
        assert ours.shape == (151, 384)
        np.testing.assert_allclose(ours, theirs[:151], atol=2e-2)
        assert np.corrcoef(ours.ravel(), theirs[:151].ravel())[0, 1] > 0.99999
        vector = answer(f"pooled-transformers:{tiny_en},pooling=last", speech)
        np.testing.assert_array_equal(vector, ours[-1])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("pooled-transformers", "name a checkpoint"),
        ("pooled-transformers:{},layer=3", "expected 0 to 2, got 3"),
        ("pooled-transformers:{},layer=-2", "expected 0 to 2, got -2"),
        ("pooled-transformers:{},pooling=median", "mean, max, last, got 'median'"),
        ("transformers-frames:{},pooling=max", "got 'pooling'"),
    ],
)
def test_what_it_cannot_be_asked_for(spec: str, said: str, tmp_path: Path) -> None:
    """An error that names what came, before anything is loaded."""
    folder = save_tiny("wav2vec2", tmp_path / "tiny")
    with pytest.raises(ApplicationError, match=said):
        open_backend(spec.format(folder)).prepare()


def test_another_network_or_rate_is_refused(tmp_path: Path) -> None:
    """A spectrogram transformer, a model of 8 kHz, one without its weights: each error says what came."""
    with pytest.raises(ApplicationError, match="got audio-spectrogram-transformer"):
        open_backend(f"pooled-transformers:{save_ast(tmp_path / 'ast')}").prepare()
    folder = save_tiny("hubert", tmp_path / "hubert")
    (folder / "preprocessor_config.json").write_text(json.dumps({"sampling_rate": 8000}))
    with pytest.raises(ApplicationError, match="got 8000 Hz"):
        open_backend(f"pooled-transformers:{folder}").prepare()
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingModel, match=r"model\.safetensors"):
        open_backend(f"pooled-transformers:{folder}").prepare()
