"""ECAPA-TDNN of SpeechBrain, from checkpoints with random weights in the files of the hub's repository."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.applications.asv import answers, clips, save_ecapa

from codec_superb.applications.asv.ecapa_parameters import read_parameters
from codec_superb.applications.asv.speechbrain_ecapa import SpeechBrainEcapa, import_speechbrain
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend

SPEECH = {name: clip[:24_000] for name, clip in clips().items()}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as ``hf download`` leaves it."""
    return save_ecapa(tmp_path_factory.mktemp("hub") / "spkrec-ecapa-voxceleb")


@pytest.fixture(scope="session")
def ecapa(folder: Path) -> Backend:
    """Return the backend as ``--weights`` opens it, loaded."""
    backend = open_backend("speechbrain", folder)
    backend.load(backend.prepare(), "cpu", 1)
    return backend


class TestEmbeddings:
    """What it answers."""

    def test_is_what_speechbrain_computes(self, folder: Path, ecapa: Backend) -> None:
        """The same as SpeechBrain's own modules put together as its encoder does, one clip at a time."""
        import_speechbrain()
        features = importlib.import_module("speechbrain.lobes.features").Fbank(n_mels=80)
        normalise = importlib.import_module("speechbrain.processing.features").InputNormalization(
            norm_type="sentence", std_norm=False
        )
        network: Any = importlib.import_module("speechbrain.lobes.models.ECAPA_TDNN").ECAPA_TDNN(
            80, channels=[16, 16, 16, 16, 48], attention_channels=8, lin_neurons=24
        )
        network.load_state_dict(torch.load(folder / "embedding_model.ckpt", weights_only=True))
        whole = torch.ones(1)
        for name, clip in SPEECH.items():
            with torch.no_grad():
                expected = network.eval()(normalise(features(torch.tensor(clip)[None]), whole), whole)[0, 0].numpy()
            np.testing.assert_allclose(answers(ecapa, [clip])[0], expected, rtol=1e-5, atol=1e-6, err_msg=name)

    def test_a_batch_changes_nothing(self, ecapa: Backend) -> None:
        """Clips together answer as each alone, bit for bit; padding them would not (the check of the check)."""
        sounds = [*SPEECH.values(), SPEECH["middle"][::-1].copy(), SPEECH["middle"][:16_000]]
        together = answers(ecapa, sounds)
        for one, clip in zip(together, sounds, strict=True):
            np.testing.assert_array_equal(one, answers(ecapa, [clip])[0])
        padded = answers(ecapa, [np.pad(sounds[-1], (0, 8_000))])[0]
        assert np.abs(padded - together[-1]).max() > 1e-3

    def test_is_deterministic(self, folder: Path, ecapa: Backend) -> None:
        """Loaded again, and asked again, it gives the same bits."""
        again = open_backend(f"speechbrain:{folder}")
        again.load(again.prepare(), "cpu", 1)
        for one, other, third in zip(
            *(answers(it, list(SPEECH.values())) for it in (ecapa, again, ecapa)), strict=True
        ):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, third)
        again.close()

    def test_clips_differ(self, ecapa: Backend) -> None:
        """Embeddings have 24 numbers here, and those of two clips are not alike."""
        one, other = answers(ecapa, [SPEECH["middle"], SPEECH["long"]])
        assert one.shape == (24,)
        assert one.dtype == np.float32
        assert np.abs(one - other).max() > 1e-3

    def test_hopeless_clips_fail_alone(self, ecapa: Backend) -> None:
        """Silence, a clip of 50 ms and one with NaN fail with the reason; the clip beside them is answered."""
        bad = [np.zeros(8_000), SPEECH["middle"][:800], np.full(8_000, np.nan)]
        *failed, answered = answers(ecapa, [*bad, SPEECH["middle"]])
        for error, reason in zip(failed, ("silent", "800 samples at 16000 Hz", "not finite"), strict=True):
            assert isinstance(error, PredictionFailed)
            assert reason in str(error)
        np.testing.assert_array_equal(answered, answers(ecapa, [SPEECH["middle"]])[0])

    def test_answers_that_are_no_numbers_fail(self, folder: Path, tmp_path: Path) -> None:
        """A network that answers NaN fails the clip."""
        state = torch.load(folder / "embedding_model.ckpt", weights_only=True)
        state["fc.conv.bias"][:] = torch.nan
        (tmp_path / "hyperparams.yaml").write_text((folder / "hyperparams.yaml").read_text())
        torch.save(state, tmp_path / "embedding_model.ckpt")
        backend = open_backend("speechbrain", tmp_path)
        backend.load(backend.prepare(), "cpu", 1)
        assert "not finite" in str(answers(backend, [SPEECH["middle"]])[0])

    @pytest.mark.parametrize(
        "error",
        [torch.cuda.OutOfMemoryError("CUDA out of memory"),
         RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")],
    )  # fmt: skip
    def test_memory_is_an_error_of_its_own(
        self, ecapa: Backend, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What torch says when memory runs out becomes OutOfMemory, so that the batch is halved."""

        def fail(*_: Any) -> None:
            raise error

        monkeypatch.setattr(SpeechBrainEcapa, "embed", fail)
        with pytest.raises(OutOfMemory):
            answers(ecapa, [SPEECH["middle"]])


class TestPreparation:
    """Finding the files."""

    def test_identity(self, folder: Path) -> None:
        """The model is named without its path, marked as random, and its hash is that of both files."""
        model = open_backend("speechbrain", folder).prepare()
        assert model.name == "speechbrain:local:spkrec-ecapa-voxceleb"
        assert model.random
        assert open_backend(f"speechbrain:{folder}").prepare() == model
        assert open_backend("speechbrain", folder.parent).prepare() == model  # the folder that holds it

    def test_other_weights_are_another_model(self, folder: Path, tmp_path: Path) -> None:
        """The hash changes with the weights and with the parameters."""
        first = open_backend("speechbrain", folder).prepare()
        other = open_backend("speechbrain", save_ecapa(tmp_path / "other", seed=1)).prepare()
        file = tmp_path / "other" / "hyperparams.yaml"
        file.write_text(file.read_text().replace("sentence", "global"))
        third = open_backend("speechbrain", tmp_path / "other").prepare()
        assert len({first.sha256, other.sha256, third.sha256}) == 3

    def test_missing_files_are_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An empty folder, and a hub that is not asked, are answered with the files, the command and the option."""
        for given in (tmp_path, None):
            if given is None:
                monkeypatch.setenv("HF_HUB_OFFLINE", "1")
            with pytest.raises(MissingModel, match="hf download speechbrain/spkrec-ecapa-voxceleb") as caught:
                open_backend("speechbrain", given).prepare()
            for part in ("hyperparams.yaml", "embedding_model.ckpt", "--weights"):
                assert part in str(caught.value)

    def test_weights_that_do_not_fit(self, folder: Path, tmp_path: Path) -> None:
        """Weights of another size, and a file that is no checkpoint, are named when loaded."""
        text = (folder / "hyperparams.yaml").read_text()
        (tmp_path / "hyperparams.yaml").write_text(text.replace("lin_neurons: 24", "lin_neurons: 32"))
        for content, reason in (
            (None, "does not fit the network"),
            (b"no checkpoint", "cannot be read as a checkpoint"),
        ):
            (tmp_path / "embedding_model.ckpt").write_bytes(content or (folder / "embedding_model.ckpt").read_bytes())
            backend = open_backend("speechbrain", tmp_path)
            with pytest.raises(MissingModel, match=reason):
                backend.load(backend.prepare(), "cpu", 1)

    def test_a_checkpoint_runs_no_code(self, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """A pickle that calls a function is refused."""

        class Calls:
            def __reduce__(self) -> Any:
                return print, ("called",)

        (tmp_path / "hyperparams.yaml").write_text((folder / "hyperparams.yaml").read_text())
        torch.save({"a": Calls()}, tmp_path / "embedding_model.ckpt")
        backend = open_backend("speechbrain", tmp_path)
        with pytest.raises(MissingModel, match="cannot be read as a checkpoint"):
            backend.load(backend.prepare(), "cpu", 1)
        assert "called" not in capfd.readouterr().out


class TestParameters:
    """``hyperparams.yaml`` as data."""

    def test_references_are_followed(self, folder: Path) -> None:
        """``!ref <n_mels>`` is the number that stands above."""
        parameters = read_parameters(folder / "hyperparams.yaml")
        assert parameters.features == {"n_mels": 80}
        assert parameters.normalisation == {"norm_type": "sentence", "std_norm": False}
        assert parameters.network["input_size"] == 80
        assert parameters.network["channels"] == [16, 16, 16, 16, 48]
        assert parameters.random

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("!new:speechbrain.lobes.features.Fbank", "!new:os.system", "expected compute_features to be .*os.system"),
            ("!new:speechbrain.lobes.features.Fbank", "!apply:os.system", "got dict|expected compute_features"),
            ("!new:speechbrain.lobes.features.Fbank", "!!python/object/apply:os.system", "cannot be read as YAML"),
            ("input_size: !ref <n_mels>", "input_size: !ref <absent>", "expected a number"),
            ("input_size: !ref <n_mels>", "input_size: !new:os.system {}", "expected a number"),
            ("lin_neurons: 24", "activation: !name:os.system", "activation, of which this program knows nothing"),
            ("lin_neurons: 24", "lin_neurons: [a, b]", "expected a number"),
            ("embedding_model: !new", "another: !new", "expected embedding_model to be"),
            ("n_mels: 80", "n_mels: {", "cannot be read as YAML"),
        ],
    )
    def test_anything_else_is_refused(self, folder: Path, tmp_path: Path, old: str, new: str, reason: str) -> None:
        """Other classes, objects as arguments, references to nothing and unknown arguments are named, and not made."""
        text = (folder / "hyperparams.yaml").read_text()
        assert old in text
        (tmp_path / "hyperparams.yaml").write_text(text.replace(old, new, 1))
        with pytest.raises(MissingModel, match=reason):
            read_parameters(tmp_path / "hyperparams.yaml")

    def test_no_mapping(self, tmp_path: Path) -> None:
        """A list is no parameters."""
        (tmp_path / "hyperparams.yaml").write_text("- 1")
        with pytest.raises(MissingModel, match="expected a mapping, got list"):
            read_parameters(tmp_path / "hyperparams.yaml")
