"""UniSpeech's WavLM-Large verifier against a second composition of it, with random weights as a user brings them."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.applications.asv import answers
from support.applications.wavlm_large import (
    ENCODER,
    FILE,
    PUBLISHED,
    composed_embedding,
    random_weights,
    save_weights,
    shapes,
)
from support.audio import speech_like

from codec_superb.applications.asv import wavlm_large_sv
from codec_superb.applications.asv.wavlm_ecapa import TRAINING_ONLY, published_name, speaker_network
from codec_superb.applications.asv.wavlm_large_sv import PAGE, PUBLISHED_BYTES, PUBLISHED_SHA256
from codec_superb.applications.availability import availability
from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend
from codec_superb.applications.ultra.protocol import DATASETS

RATE = 16_000
CLIPS = [speech_like(seconds, RATE, seed=seed) for seed, seconds in enumerate((1.0, 0.4, 1.37))]
LAYER = f"{ENCODER}encoder.layers.1."
TABLE = f"{ENCODER}encoder.layers.0.self_attn.relative_attention_bias.weight"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny checkpoint that nobody trained."""
    return save_weights(tmp_path_factory.mktemp("unispeech"))


@pytest.fixture(scope="module")
def backend(folder: Path) -> Backend:
    """Return the backend as ``--weights`` opens it, loaded."""
    return loaded(folder)


def loaded(folder: Path) -> Backend:
    """Open and load what lies in ``folder``."""
    made = open_backend("wavlm-large-sv", folder)
    made.load(made.prepare(), "cpu", 1)
    return made


class TestEmbeddings:
    """What it answers."""

    @pytest.mark.parametrize("samples", [720, 1_040, 8_000, 16_001])
    def test_equals_a_second_composition(self, backend: Backend, samples: int) -> None:
        """The same weights give the same embedding in plain functions, from two frames on."""
        clip = speech_like(samples / RATE, RATE)
        assert clip.size == samples
        expected = composed_embedding(random_weights(), torch.from_numpy(clip)).numpy()
        (embedded,) = answers(backend, [clip])
        assert (embedded.shape, embedded.dtype) == ((12,), np.float32)
        np.testing.assert_allclose(embedded, expected, rtol=0, atol=1e-5 * np.abs(expected).max())

    @pytest.mark.sample(1, among="vectors of other programs")
    def test_every_weight_counts(self) -> None:
        """Other numbers in any weight change the composition's answer, but in those that can have no effect."""
        weights, clip = random_weights(), torch.from_numpy(CLIPS[1][:2_000])
        expected = composed_embedding(weights, clip)
        idle = set()
        for name, value in weights.items():
            moved = value + torch.linspace(0.1, 0.9, value.numel()).reshape_as(value)
            if torch.allclose(composed_embedding(weights | {name: moved}, clip), expected, rtol=0, atol=1e-9):
                idle.add(name)
        # Masks and counts are for training; a constant over time goes in a softmax over it, or in a normalisation.
        ends = ("mask_emb", "num_batches_tracked", "k_proj.bias", "pooling.linear2.bias", "encoder.layer_norm.bias")
        assert idle == {name for name in weights if name.endswith(ends)} | TRAINING_ONLY

    def test_loudness_does_not_count(self, backend: Backend) -> None:
        """A clip is scaled to variance 1 first, so that half the level is nearly the same embedding."""
        loud, soft = answers(backend, [CLIPS[0], 0.5 * CLIPS[0]])
        np.testing.assert_allclose(loud, soft, rtol=0, atol=0.01 * np.abs(loud).max())

    def test_a_batch_changes_nothing(self, backend: Backend) -> None:
        """Clips together answer as each alone, bit for bit; padding them would not (the check of the check)."""
        together = answers(backend, CLIPS)
        for one, clip in zip(together, CLIPS, strict=True):
            np.testing.assert_array_equal(one, answers(backend, [clip])[0])
        assert np.abs(answers(backend, [np.pad(CLIPS[1], (0, 4_000))])[0] - together[1]).max() > 1e-3

    def test_is_deterministic(self, folder: Path, backend: Backend, tmp_path: Path) -> None:
        """Loaded again it gives the same bits; other clips and other weights give others."""
        first = answers(backend, CLIPS)
        np.testing.assert_array_equal(np.stack(first), np.stack(answers(loaded(folder), CLIPS)))
        assert np.abs(first[0] - first[1]).max() > 1e-2
        assert np.abs(first[0] - answers(loaded(save_weights(tmp_path, seed=1)), CLIPS)[0]).max() > 1e-2

    def test_hopeless_clips_fail_alone(self, backend: Backend) -> None:
        """One frame, silence and numbers that are not finite fail with the reason; the others are answered."""
        broken = np.where(np.arange(8_000) == 9, np.nan, 0.1)
        short, silent, odd, answered = answers(backend, [CLIPS[0][:719], np.zeros(8_000), broken, CLIPS[0]])
        assert all(isinstance(one, PredictionFailed) for one in (short, silent, odd))
        assert "719 samples at 16000 Hz; the speaker model needs 720" in str(short)
        assert np.isfinite(answered).all()

    def test_half_precision_is_widened(self, backend: Backend, tmp_path: Path) -> None:
        """Weights kept in float16 are computed with in float32, and come out close."""
        halved = {
            name: value.half() if value.is_floating_point() else value for name, value in random_weights().items()
        }
        torch.save({"model": halved}, tmp_path / FILE)
        exact, near = answers(backend, CLIPS[:1])[0], answers(loaded(tmp_path), CLIPS[:1])[0]
        np.testing.assert_allclose(near, exact, rtol=0, atol=0.05 * np.abs(exact).max())


class TestPublishedSizes:
    """The names and sizes against what is known of the published file."""

    def test_names_fill_the_network(self) -> None:
        """The published names and shapes are those of the network, one by one, and no two weights share a name."""
        with torch.device("meta"):
            published = {name: torch.empty(shape) for name, shape in shapes(PUBLISHED).items()}
        for name in published:
            if name.endswith("num_batches_tracked"):
                published[name] = torch.empty((), dtype=torch.int64, device="meta")
        network = speaker_network(published, FILE)
        names = [published_name(name) for name in network.state_dict()]
        assert sorted(names) == sorted(published.keys() - TRAINING_ONLY)
        assert sum(value.numel() for value in network.wavlm.parameters()) == 315_453_120  # WavLM-Large
        assert network.linear.out_features == 256

    def test_numbers_fill_the_file(self) -> None:
        """711 tensors, and as many bytes as the file has but for the names and headers of its entries."""
        found = shapes(PUBLISHED)
        held = sum(math.prod(shape) * (8 if name.endswith("tracked") else 4) for name, shape in found.items())
        assert len(found) == 711
        assert 100 < (PUBLISHED_BYTES - held) / len(found) < 1_000


class TestModel:
    """Which file runs, and what results call it."""

    def test_other_files_are_not_the_published_one(self, folder: Path, tmp_path: Path) -> None:
        """A file of the published name with other bytes is called local, without its path, and random where marked."""
        model = open_backend("wavlm-large-sv", folder).prepare()
        assert (model.name, model.random) == ("wavlm-large-sv:local:wavlm_large_finetune", True)
        assert model.sha256 != PUBLISHED_SHA256
        assert str(folder) not in f"{model.name}{model.settings}"
        assert not open_backend("wavlm-large-sv", save_weights(tmp_path, marked=False)).prepare().random
        assert all(model.name not in row.backends["sim"] for row in DATASETS)

    def test_the_published_bytes_are_known(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file with the published hash has the name that UltraEval-Audio's average asks for."""
        found = open_backend("wavlm-large-sv", folder).prepare()
        monkeypatch.setattr(wavlm_large_sv, "PUBLISHED_SHA256", found.sha256)
        name = open_backend("wavlm-large-sv", folder).prepare().name
        assert all(row.backends["sim"] == (name,) for row in DATASETS)

    def test_file_and_folder_may_be_named(self, folder: Path, tmp_path: Path) -> None:
        """``wavlm-large-sv:FILE`` and ``wavlm-large-sv:DIR`` are what ``--weights DIR`` is; another name is kept."""
        model = open_backend("wavlm-large-sv", folder).prepare()
        assert open_backend(f"wavlm-large-sv:{folder / FILE}").prepare() == model
        assert open_backend(f"wavlm-large-sv:{folder}").prepare() == model
        other = save_weights(tmp_path / "v1.0", file="other.pth") / "other.pth"
        assert open_backend(f"wavlm-large-sv:{other}").prepare().name == "wavlm-large-sv:local:other"

    def test_the_programs_own_folder_is_looked_in(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an option the file is found in ``models/wavlm-large-sv`` of the program's folder."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        save_weights(tmp_path / "models" / "wavlm-large-sv")
        assert open_backend("wavlm-large-sv").prepare().random

    @pytest.mark.parametrize("spec", ["wavlm-large-sv", "wavlm-large-sv:{}/other.pth", "wavlm-large-sv:{}"])
    def test_a_missing_file_says_where_it_is(self, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error has the file, its folder, where it is published and the option."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        with pytest.raises(MissingModel) as caught:
            open_backend(spec.format(tmp_path)).prepare()
        for part in (FILE, str(tmp_path), PAGE, "Fix pre-train: No", "--weights DIR"):
            assert part in str(caught.value)

    def test_the_list_of_backends_asks_for_its_file(self) -> None:
        """The catalogue calls it UltraEval-Audio's, and its state asks for a file, not for a name on the hub."""
        entry = BACKENDS["wavlm-large-sv"]
        assert "UltraEval-Audio's" in entry.summary
        assert availability(entry).state == "needs model"
        assert availability(entry).detail == "bring its file: by --weights DIR or wavlm-large-sv:FILE"


class _Command:
    """What a hostile pickle asks for."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self._place,)


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in random_weights().items() if key != name}


def _with(name: str, value: Any) -> dict[str, Any]:
    return random_weights() | {name: value}


class TestOtherFiles:
    """A damaged download, or another network's state, is an error that says so and never a similarity."""

    def refused(self, folder: Path, content: Any) -> str:
        """Return what is said of a file with this content."""
        if isinstance(content, bytes):
            (folder / FILE).write_bytes(content)
        else:
            torch.save(content, folder / FILE)
        with pytest.raises(MissingModel) as caught:
            loaded(folder)
        assert FILE in str(caught.value)
        return str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"<!doctype html>", pickle.dumps({"model": {}})[:9]])
    def test_damaged(self, tmp_path: Path, content: bytes) -> None:
        """No checkpoint at all: nothing, the page of a download, a torn file."""
        assert "cannot be read as a checkpoint of tensors" in self.refused(tmp_path, content)

    def test_hostile(self, tmp_path: Path) -> None:
        """A pickle that asks for a command is refused, and the command does not run."""
        assert "cannot be read" in self.refused(tmp_path, {"model": _Command(tmp_path / "ran")})
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        ("content", "came"),
        [
            ([torch.zeros(1)], "got list"),
            (random_weights(), "got entries feature_weight"),
            ({"model": torch.zeros(1)}, "got entries model"),
            ({"model": {"conv.weight": 1}}, "got entries model"),
            ({"model": {1: torch.zeros(1)}}, "got entries model"),
        ],
        ids=["list", "bare state", "tensor", "number", "no name"],
    )
    def test_another_form(self, tmp_path: Path, content: Any, came: str) -> None:
        """Anything but weights by name under ``model`` is said, with what came and where the file is had."""
        said = self.refused(tmp_path, content)
        assert "expected weights by name under 'model'" in said
        assert came in said
        assert PAGE in said

    @pytest.mark.sample(6)
    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ({}, "lacks feature_extract.model.feature_extractor.conv_layers.0.0.weight"),
            (_without(f"{LAYER}fc1.bias"), f"lacks {LAYER}fc1.bias, the first of 1"),
            (_without("layer3.Res2Conv1dReluBn.bns.6.running_var"), "lacks layer3.Res2Conv1dReluBn.bns.6.running_var"),
            (_without("pooling.linear1.weight"), "lacks pooling.linear1.weight"),
            (_with("layer5.bias", torch.zeros(1)), "has layer5.bias, the first of 1"),
            (_with("wavlm.masked_spec_embed", torch.zeros(16)), "has wavlm.masked_spec_embed"),
            (_with(f"{ENCODER}masked_spec_embed", torch.zeros(16)), f"has {ENCODER}masked_spec_embed"),
            (_with(f"{ENCODER}encoder.layers.3.fc1.bias", torch.zeros(24)), f"lacks {ENCODER}encoder.layers.3"),
            (_with("feature_weight", torch.zeros(5)), "expected feature_weight to be torch.float32 of shape (4,)"),
            (_with("layer1.conv.weight", torch.zeros(16, 24, 5)), "to be torch.float32 of shape (16, 16, 5)"),
            (_with("layer1.conv.weight", torch.zeros(20, 16, 5)), "expected a multiple of 8 channels, got 20"),
            (_with("layer1.conv.weight", torch.zeros(16, 16)), "expected layer1.conv.weight to have 3 dimensions"),
            (_with("conv.weight", torch.zeros(0, 48, 1)), "got shape (0, 48, 1)"),
            (_with("bn.bias", torch.zeros(40, dtype=torch.int64)), "got torch.int64 of shape (40,)"),
            (_with(TABLE, torch.zeros(12, 3)), "cannot be built: embed_dim must be divisible by num_heads"),
            (_with(f"{ENCODER}encoder.pos_conv.0.weight_v", torch.zeros(16, 5, 8)), "cannot be built"),
        ],
    )  # fmt: skip
    def test_another_network(self, tmp_path: Path, weights: dict[str, Any], said: str) -> None:
        """The first weight that is missing, unknown or of another shape is named."""
        assert said in self.refused(tmp_path, {"model": weights})

    def test_the_training_classifier_is_passed_over(self, backend: Backend, tmp_path: Path) -> None:
        """A file without the classifier of the training speakers answers the same."""
        torch.save({"model": _without("loss_calculator.projection.weight")}, tmp_path / FILE)
        np.testing.assert_array_equal(answers(loaded(tmp_path), CLIPS[:1])[0], answers(backend, CLIPS[:1])[0])
