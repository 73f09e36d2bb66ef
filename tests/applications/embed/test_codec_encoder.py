"""A codec as an encoder: its own tokens and latents, what is part of its identity, and what it says it lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.applications.sound_events import noise, scores, sound
from support.codecs.checkpoints import checkpoint
from support.codecs.published import needs_published, published_weights
from support.speech import real_speech

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Backend, Model, Samples
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec

NAME, FAMILY = "encodec_24k_6bps", "encodec"


@pytest.fixture(scope="module")
def folder() -> Path:
    """Return a tiny EnCodec with random weights."""
    return checkpoint(FAMILY)


def loaded(spec: str, weights: Path | None) -> tuple[Backend, Model]:
    """Open a backend as a worker does."""
    backend = open_backend(spec, weights)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    return backend, model


def answer(spec: str, weights: Path | None, samples: Samples) -> np.ndarray:
    """Return the answer to one sound."""
    return scores(loaded(spec, weights)[0].predict([sound(samples)]))[0]


def test_codes_are_the_codecs_own_tokens(folder: Path) -> None:
    """Frames x codebooks, as ``resynth`` would store them; rate, hop, codebooks and random weights are known."""
    backend, model = loaded(f"codec-codes:{NAME}", folder)
    samples = noise(0.8, 24_000)
    codec = open_codec(NAME, options=CodecOptions(weights=str(folder)))
    tokens = codec.encode(samples[None], 24_000).payload
    assert isinstance(tokens, np.ndarray)
    (found,) = scores(backend.predict([sound(samples)]))
    np.testing.assert_array_equal(found, tokens.T)
    fewer = answer(f"codec-codes:{NAME},codebooks=2", folder, samples)
    np.testing.assert_array_equal(fewer, tokens[:2].T)
    assert open_backend(f"codec-codes:{NAME},codebooks=2", folder).prepare().settings["codebooks"] == 2
    assert (backend.rate, model.name, model.random) == (24_000, f"codec-codes:{NAME}", True)
    assert model.settings == {"hop_s": pytest.approx(1 / 75), "codebooks": 8}


def test_frames_and_vectors_are_its_latents(folder: Path) -> None:
    """Quantised, or continuous where asked; a vector is their mean."""
    samples = noise(0.8, 24_000)
    codec = open_codec(NAME, options=CodecOptions(weights=str(folder)))
    latents = codec.latents(samples[None], 24_000)
    np.testing.assert_array_equal(answer(f"codec-frames:{NAME}", folder, samples), latents.quantised)
    np.testing.assert_array_equal(
        answer(f"codec-frames:{NAME},latents=continuous", folder, samples), latents.continuous
    )
    vector = answer(f"codec-vectors:{NAME},latents=continuous", folder, samples)
    np.testing.assert_allclose(vector, latents.continuous.mean(axis=0), rtol=1e-5, atol=1e-7)


def test_weights_options_and_codec_are_its_identity(tmp_path: Path, folder: Path) -> None:
    """Other weights, another bitrate and the other latents are other models; another folder is not."""
    from support.codecs.checkpoints import save_checkpoint

    def identity(spec: str, weights: Path) -> tuple[str, str, dict[str, object]]:
        model = open_backend(spec, weights).prepare()
        return model.name, model.sha256, dict(model.settings)

    usual = identity(f"codec-frames:{NAME}", folder)
    assert identity(f"codec-frames:{NAME},latents=continuous", folder) != usual
    assert identity("codec-frames:encodec_24k_3bps", folder) != usual
    assert identity(f"codec-frames:{NAME}", save_checkpoint(FAMILY, tmp_path / "other", seed=1)) != usual
    assert identity(f"codec-frames:{NAME}", save_checkpoint(FAMILY, tmp_path / "same")) == usual


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("codec-codes", "expected the name of a codec"),
        ("codec-codes:opus_6k", "opus_6k gives bytes"),
        ("codec-codes:encodec_24k", "encodec_24k"),
        (f"codec-frames:{NAME},latents=raw", "quantised or continuous, got 'raw'"),
        (f"codec-codes:{NAME},latents=continuous", "got 'latents'"),
        (f"codec-codes:{NAME},codebooks=9", "expected 1 to 8, or 0 for all, got 9"),
    ],
)
def test_what_it_cannot_be_asked_for(spec: str, said: str, folder: Path) -> None:
    """An error that names what came, before anything is loaded."""
    with pytest.raises(ApplicationError, match=said):
        open_backend(spec, folder).prepare()


def test_missing_weights_are_named(tmp_path: Path) -> None:
    """As ``resynth`` names them."""
    with pytest.raises(MissingModel, match=r"config\.json"):
        open_backend(f"codec-codes:{NAME}", tmp_path).prepare()


def test_a_codec_without_latents_ends_the_run() -> None:
    """The same for every clip: one sentence, and no clip is counted as failed."""
    backend, _ = loaded("codec-frames:encodec_48k_3bps", checkpoint("encodec_48k"))
    (found,) = backend.predict([sound(noise(0.3, 48_000))])
    assert isinstance(found, ModelUnusable)
    assert "chunks that overlap" in str(found)


def test_a_bad_clip_costs_itself_alone(folder: Path) -> None:
    """NaN and an empty clip fail, their neighbour has its answer."""
    backend, _ = loaded(f"codec-codes:{NAME}", folder)
    bad, empty, good = backend.predict([sound(np.full(2400, np.nan)), sound(np.zeros(0)), sound(noise(0.2, 24_000))])
    assert isinstance(bad, PredictionFailed)
    assert isinstance(empty, PredictionFailed)
    assert isinstance(good, np.ndarray)


@needs_published("lyra_3.2k")
@pytest.mark.network
def test_lyras_codes_and_latents_for_real() -> None:
    """With its published weights: 16 codes of 4 bits and 64 features every 20 ms, and what its quantizer leaves."""
    weights = published_weights("lyra_3.2k")
    speech = real_speech(16_000, 1.5)[0]
    codes = answer("codec-codes:lyra_3.2k", weights, speech)
    assert codes.shape == (75, 16)
    assert set(np.unique(codes)) == set(range(16))
    quantised = answer("codec-frames:lyra_3.2k", weights, speech)
    continuous = answer("codec-frames:lyra_3.2k,latents=continuous", weights, speech)
    assert quantised.shape == continuous.shape == (75, 64)
    kinship = np.corrcoef(quantised.ravel(), continuous.ravel())[0, 1]
    assert 0.8 < kinship < 0.9999
