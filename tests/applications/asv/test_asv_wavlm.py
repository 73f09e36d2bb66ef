"""WavLM with an x-vector head, from tiny checkpoints with random weights as transformers saves them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.applications.asv import answers, clips, save_wavlm

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend

SPEECH = {name: clip[:16_000] for name, clip in clips().items()}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as ``hf download`` leaves it."""
    return save_wavlm(tmp_path_factory.mktemp("hub") / "wavlm-base-plus-sv")


@pytest.fixture(scope="session")
def wavlm(folder: Path) -> Backend:
    """Return the backend as ``--weights`` opens it, loaded."""
    backend = open_backend("wavlm-sv", folder)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


class TestEmbeddings:
    """What it answers."""

    @pytest.mark.parametrize("unit_variance", [True, False])
    def test_is_what_transformers_computes(self, tmp_path: Path, unit_variance: bool) -> None:
        """The same as transformers' own feature extractor and model, one clip at a time."""
        saved = save_wavlm(tmp_path, unit_variance=unit_variance)
        backend = open_backend("wavlm-sv", saved)
        model = backend.prepare()
        assert model.settings == {"unit_variance": unit_variance}
        backend.load(model, "cpu", 1)
        from transformers import Wav2Vec2FeatureExtractor, WavLMForXVector

        extractor = Wav2Vec2FeatureExtractor.from_pretrained(saved)
        network = WavLMForXVector.from_pretrained(saved).eval()
        for clip in SPEECH.values():
            with torch.no_grad():
                inputs = extractor(clip, sampling_rate=16_000, return_tensors="pt").input_values
                expected = network(inputs).embeddings[0].numpy()
            np.testing.assert_allclose(answers(backend, [clip])[0], expected, rtol=1e-4, atol=1e-5)
        backend.close()

    def test_a_batch_changes_nothing(self, wavlm: Backend) -> None:
        """Clips together answer as each alone, bit for bit; padding them would not (the check of the check)."""
        sounds = [*SPEECH.values(), SPEECH["middle"][::-1].copy(), SPEECH["middle"][:12_000]]
        together = answers(wavlm, sounds)
        for one, clip in zip(together, sounds, strict=True):
            np.testing.assert_array_equal(one, answers(wavlm, [clip])[0])
        padded = answers(wavlm, [np.pad(sounds[-1], (0, 4_000))])[0]
        assert np.abs(padded - together[-1]).max() > 1e-3

    def test_is_deterministic(self, folder: Path, wavlm: Backend) -> None:
        """Asked again and loaded again it gives the same bits; clips differ."""
        again = open_backend(f"wavlm-sv:{folder}")
        again.load(again.prepare(), "cpu", 1)
        first, second = (answers(backend, list(SPEECH.values())) for backend in (wavlm, again))
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(first, answers(wavlm, list(SPEECH.values())))
        assert first[0].shape == (24,)
        assert np.abs(first[0] - first[1]).max() > 1e-3

    def test_hopeless_clips_fail_alone(self, wavlm: Backend) -> None:
        """A clip too short for the head, and silence, fail with the reason; the shortest that it takes is answered."""
        short, silent, answered = answers(wavlm, [SPEECH["middle"][:5_199], np.zeros(8_000), SPEECH["middle"][:5_200]])
        assert isinstance(short, PredictionFailed)
        assert "5199 samples at 16000 Hz; the speaker model needs 5200" in str(short)
        assert isinstance(silent, PredictionFailed)
        assert np.isfinite(answered).all()


class TestPreparation:
    """Finding the files."""

    def test_identity(self, folder: Path, tmp_path: Path) -> None:
        """The model is named without its path and marked as random; other weights have another hash."""
        model = open_backend("wavlm-sv", folder).prepare()
        assert model.name == "wavlm-sv:local:wavlm-base-plus-sv"
        assert model.random
        assert open_backend("wavlm-sv", save_wavlm(tmp_path, seed=1)).prepare().sha256 != model.sha256

    def test_takes_older_files_of_weights(self, folder: Path, tmp_path: Path, wavlm: Backend) -> None:
        """A folder with ``pytorch_model.bin``, as older repositories have it, answers the same."""
        for name in ("config.json", "preprocessor_config.json"):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
        torch.save(load_file(folder / "model.safetensors"), tmp_path / "pytorch_model.bin")
        backend = open_backend("wavlm-sv", tmp_path)
        backend.load(backend.prepare(), "cpu", 1)
        clip = SPEECH["middle"]
        np.testing.assert_array_equal(answers(backend, [clip])[0], answers(wavlm, [clip])[0])

    def test_missing_files_are_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An empty folder, and a hub that is not asked, are answered with the files, the command and the option."""
        for given in (tmp_path, None):
            if given is None:
                monkeypatch.setenv("HF_HUB_OFFLINE", "1")
            with pytest.raises(MissingModel, match="hf download microsoft/wavlm-base-plus-sv") as caught:
                open_backend("wavlm-sv", given).prepare()
            for part in ("config.json", "preprocessor_config.json", "--weights"):
                assert part in str(caught.value)

    def test_a_checkpoint_without_the_head_is_refused(self, tmp_path: Path, folder: Path) -> None:
        """WavLM alone would get a head of random numbers: it is refused, naming what it lacks."""
        from transformers import Wav2Vec2FeatureExtractor, WavLMForXVector, WavLMModel

        WavLMModel(WavLMForXVector.from_pretrained(folder).config).save_pretrained(tmp_path)
        Wav2Vec2FeatureExtractor().save_pretrained(tmp_path)
        backend = open_backend("wavlm-sv", tmp_path)
        with pytest.raises(MissingModel, match=r"no checkpoint of WavLMForXVector: it lacks classifier"):
            backend.load(backend.prepare(), "cpu", 1)

    @pytest.mark.parametrize("content", ["{", "[]"])
    def test_damaged_descriptions_are_named(self, folder: Path, tmp_path: Path, content: str) -> None:
        """A configuration that is no JSON object is said before anything is loaded."""
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(MissingModel, match=r"config\.json"):
            open_backend("wavlm-sv", tmp_path).prepare()

    def test_the_mark_of_random_weights_is_needed(self, folder: Path, tmp_path: Path) -> None:
        """Without the mark a model counts as trained: only tests write it."""
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        config = json.loads((tmp_path / "config.json").read_text())
        del config["codec_superb_random"]
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert not open_backend("wavlm-sv", tmp_path).prepare().random
