"""AST: its input against torchaudio's Kaldi, its answers on a tiny random checkpoint, and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.applications.audio_checkpoints import AST_CLASSES, save_ast
from support.applications.sound_events import noise, scores, sound, tone

from codec_superb.applications.aec.ast import AudioSpectrogramTransformer
from codec_superb.applications.aec.ast_input import AstInput, filter_bank
from codec_superb.applications.aec.torch_classifier import windows
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.transformers_checkpoint import import_transformers
from codec_superb.base_codec.torchaudio_import import import_torchaudio


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny checkpoint."""
    return save_ast(tmp_path_factory.mktemp("ast") / "tiny")


@pytest.fixture(scope="module")
def ast(folder: Path) -> AudioSpectrogramTransformer:
    """Return it loaded, as ``--weights`` would."""
    backend = open_backend("ast", folder)
    assert isinstance(backend, AudioSpectrogramTransformer)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


class TestInput:
    """Kaldi's filter bank in numpy."""

    @pytest.mark.parametrize(("bands", "seconds"), [(128, 1.0), (64, 0.333), (128, 0.025)])
    def test_it_is_kaldis(self, bands: int, seconds: float) -> None:
        """The port of Kaldi in torchaudio, with the Hann window, gives the same in float32."""
        import torch

        import_torchaudio()
        from torchaudio.compliance import kaldi

        samples = noise(seconds) + tone(440, seconds)
        theirs = kaldi.fbank(torch.from_numpy(samples)[None], num_mel_bins=bands, window_type="hanning")
        assert filter_bank(samples, bands) == pytest.approx(theirs.numpy(), abs=2e-3)

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("seconds", [0.5, 10.0, 10.24])
    def test_it_is_what_transformers_feeds(self, seconds: float) -> None:
        """The feature extractor of transformers, with its defaults for AudioSet, gives the same whole input."""
        samples = noise(seconds)
        theirs = import_transformers().ASTFeatureExtractor()(samples, sampling_rate=16_000)["input_values"][0]
        ours = AstInput()(samples)
        assert ours.shape == (1024, 128)
        assert ours == pytest.approx(np.asarray(theirs), abs=2e-4)

    def test_digital_silence_is_the_floor(self) -> None:
        """Zeros give the logarithm of the resolution of float32 and nothing infinite."""
        assert filter_bank(np.zeros(800, np.float32), 32) == pytest.approx(np.log(np.finfo(np.float32).eps))


class TestWindows:
    """How a long clip is cut."""

    @pytest.mark.parametrize(
        ("samples", "starts"), [(5, [0]), (10, [0]), (11, [0, 1]), (20, [0, 10]), (21, [0, 6, 11]), (25, [0, 8, 15])]
    )
    def test_windows_cover_the_clip_evenly(self, samples: int, starts: list[int]) -> None:
        """As few windows of 10 as cover the clip, the last ending with it; a short clip is one as it is."""
        clip = np.arange(samples, dtype=np.float32)
        found = windows(clip, 10)
        assert [int(window[0]) for window in found] == starts
        assert {window.size for window in found} == {min(samples, 10)}
        assert set(np.concatenate(found)) == set(clip)


class TestModel:
    """What the checkpoint is said to be."""

    def test_a_folder_is_named_without_its_path_and_marked_as_random(self, folder: Path) -> None:
        """Name, hash, settings, the mark of a model that nobody trained, and the classes of its configuration."""
        backend = AudioSpectrogramTransformer(str(folder))
        model = backend.prepare()
        assert (model.name, model.random) == ("ast:local:tiny", True)
        assert model.settings["window_s"] == 0.64
        assert tuple(backend.classes(model)) == AST_CLASSES

    def test_other_weights_are_another_model(self, folder: Path, tmp_path: Path) -> None:
        """The hash tells checkpoints apart."""
        other = save_ast(tmp_path, seed=1)
        assert (
            AudioSpectrogramTransformer("", other).prepare().sha256
            != AudioSpectrogramTransformer("", folder).prepare().sha256
        )

    def test_a_missing_file_is_named_with_the_command(self, tmp_path: Path) -> None:
        """The repository, the file and where to put it."""
        with pytest.raises(MissingModel, match=r"(?s)config.json.*hf download MIT/ast-finetuned.*--weights"):
            AudioSpectrogramTransformer("", tmp_path).prepare()

    def test_input_of_another_kind_is_refused(self, folder: Path, tmp_path: Path) -> None:
        """A preprocessor of another rate would be fed the wrong spectrogram."""
        save_ast(tmp_path)
        (tmp_path / "preprocessor_config.json").write_text(json.dumps({"sampling_rate": 32_000}))
        with pytest.raises(MissingModel, match="16000 Hz, got another"):
            AudioSpectrogramTransformer("", tmp_path).prepare()

    def test_a_checkpoint_of_another_network_is_refused(self, tmp_path: Path) -> None:
        """Weights without the classifier's tensors are no AST classifier, and never a random one."""
        from safetensors.torch import load_file, save_file

        save_ast(tmp_path)
        file = tmp_path / "model.safetensors"
        kept = {name: value for name, value in load_file(file).items() if "classifier" not in name}
        save_file(kept, file, metadata={"format": "pt"})
        backend = AudioSpectrogramTransformer("", tmp_path)
        with pytest.raises(MissingModel, match="it lacks classifier"):
            backend.load(backend.prepare(), "cpu", 1)


class TestAnswers:
    """Probabilities of a tiny random network."""

    def test_the_batch_says_nothing(self, ast: AudioSpectrogramTransformer, folder: Path) -> None:
        """The same bits one by one, together, in another order, and from a second copy; long clips included."""
        batch = [sound(noise(0.3)), sound(tone(300, 0.64)), sound(noise(2.1, seed=3)), sound(tone(900, 7.0))]
        together = scores(ast.predict(batch))
        assert together.shape == (4, len(AST_CLASSES))
        assert ((together > 0) & (together < 1)).all()
        assert (scores(ast.predict(batch[::-1]))[::-1] == together).all()
        other = AudioSpectrogramTransformer("", folder)
        other.load(other.prepare(), "cpu", 1)
        assert (np.concatenate([scores(other.predict([one])) for one in batch]) == together).all()
        assert np.ptp(together, axis=0).max() > 1e-4, "the network hears no difference"

    def test_it_is_transformers_own_answer(self, ast: AudioSpectrogramTransformer, folder: Path) -> None:
        """Extractor and network of transformers, used as its manual says, give the same probabilities."""
        import torch

        transformers = import_transformers()
        samples = noise(0.5)
        extractor = transformers.ASTFeatureExtractor.from_pretrained(folder)
        network = transformers.ASTForAudioClassification.from_pretrained(folder).eval()
        with torch.inference_mode():
            theirs = network(**extractor(samples, sampling_rate=16_000, return_tensors="pt")).logits.sigmoid()[0]
        assert scores(ast.predict([sound(samples)]))[0] == pytest.approx(theirs.numpy(), abs=1e-5)

    def test_a_long_clip_is_the_mean_of_its_windows(self, ast: AudioSpectrogramTransformer) -> None:
        """Two windows: the mean of what each half scores."""
        clip = noise(1.28)
        halves = scores(ast.predict([sound(clip[:10_240]), sound(clip[10_240:])]))
        assert scores(ast.predict([sound(clip)]))[0] == pytest.approx(halves.mean(axis=0), abs=1e-6)

    def test_a_clip_too_short_for_a_frame_costs_itself_alone(self, ast: AudioSpectrogramTransformer) -> None:
        """Less than 25 ms is an error in its place."""
        short, good = ast.predict([sound(noise(0.02)), sound(noise(0.1))])
        assert isinstance(short, PredictionFailed)
        assert "needs 400" in str(short)
        assert isinstance(good, np.ndarray)
