"""UTMOS's network against a second composition of it, with random weights through the path that a user takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.applications.quality import Samples, sound
from support.applications.utmos import composed_opinion, random_export, save_export
from support.audio import speech_like

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.quality.utmos import FILE, URL, Utmos, renamed, strong_learner
from codec_superb.applications.ultra.protocol import DATASETS

RATE = 16_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny export that nobody trained."""
    return save_export(tmp_path_factory.mktemp("utmos"))


@pytest.fixture(scope="module")
def backend(folder: Path) -> Utmos:
    """Return UTMOS with that export, opened as the command line does."""
    made = open_backend("utmos", folder)
    assert isinstance(made, Utmos)
    made.load(made.prepare(), "cpu", 1)
    return made


def opinion(backend: Utmos, samples: Samples) -> float:
    """Return what it says of one clip."""
    (answer,) = backend.predict([sound(samples)])
    assert isinstance(answer, np.ndarray)
    assert answer.shape == (1,)
    return float(answer[0])


@pytest.mark.parametrize("seconds", [0.025, 0.5, 1.33])
def test_opinions_equal_a_second_composition(backend: Utmos, seconds: float) -> None:
    """The network says what the same weights give in plain functions, for one frame, even and odd numbers of frames."""
    samples = speech_like(seconds, RATE)
    expected = composed_opinion(random_export(), torch.from_numpy(samples))
    assert opinion(backend, samples) == pytest.approx(expected, abs=1e-4)


def test_opinions_differ_with_sound_and_weights(backend: Utmos, tmp_path: Path) -> None:
    """Another sound, and other weights, are given another opinion."""
    samples = speech_like(0.5, RATE)
    other = Utmos(weights=save_export(tmp_path, seed=1))
    other.load(other.prepare(), "cpu", 1)
    assert opinion(backend, samples) != opinion(backend, speech_like(0.5, RATE, seed=3))
    assert opinion(backend, samples) != opinion(other, samples)


def test_answers_do_not_depend_on_the_batch(backend: Utmos) -> None:
    """A clip gets the same opinion to the last bit alone and among longer ones; one of 24 ms costs itself alone."""
    clips = [speech_like(seconds, RATE) for seconds in (0.3, 1.0)]
    first, short, second = backend.predict([sound(clips[0]), sound(clips[0][:399]), sound(clips[1])])
    assert [float(np.asarray(answer)[0]) for answer in (first, second)] == [opinion(backend, clip) for clip in clips]
    assert isinstance(short, PredictionFailed)
    assert "at least 400 samples, got 399" in str(short)


def test_the_published_shapes_fit() -> None:
    """A state dict of the export's 12 layers and widths fills transformers' base encoder, name by name."""
    with torch.device("meta"):
        published = {name: torch.empty(value) for name, value in _published_shapes().items()}
        network = strong_learner(published, FILE)
    assert network.encoder.config.num_attention_heads == 12
    assert network.encoder.config.num_conv_pos_embedding_groups == 16
    assert network.state_dict().keys() == {renamed(name) for name in published}
    encoder = sum(value.numel() for name, value in published.items() if name.startswith("wav2vec2."))
    assert encoder == 94_371_712  # the parameters of wav2vec 2.0 base


def _published_shapes() -> dict[str, Any]:
    return {name: value.shape for name, value in random_export(layers=12, tiny=False).items()}


class TestModel:
    """Which file runs, and what is said when it is not there or is another."""

    def test_a_model_that_nobody_trained_is_marked(self, folder: Path, tmp_path: Path) -> None:
        """The mark beside the file makes results random; without it they are not. No path is in the identity."""
        model = Utmos(weights=folder).prepare()
        unmarked = Utmos(weights=save_export(tmp_path, marked=False)).prepare()
        assert (model.name, model.random, unmarked.random) == ("utmos:utmos22_strong", True, False)
        assert model.sha256 == unmarked.sha256
        assert model.name in DATASETS[0].backends["utmos"]

    def test_the_file_itself_may_be_named(self, folder: Path) -> None:
        """``utmos:FILE`` is the same model as the folder that holds it."""
        assert open_backend(f"utmos:{folder / FILE}").prepare() == Utmos(weights=folder).prepare()

    def test_the_programs_own_folder_is_looked_in(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without ``--weights`` the file is found in ``models/utmos`` of the program's folder."""
        home = folder / "home"
        (home / "models").mkdir(parents=True)
        (home / "models" / "utmos").symlink_to(folder)
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(home))
        assert Utmos().prepare().sha256 == Utmos(weights=folder).prepare().sha256

    def test_a_missing_file_says_what_to_download(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error has the address, the name, and the folder where it belongs."""
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
        with pytest.raises(MissingModel) as raised:
            Utmos().prepare()
        assert URL in str(raised.value)
        assert f"no file {FILE} in {tmp_path / 'models' / 'utmos'}" in str(raised.value)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "cannot be read as a state dict"),
            (b"<!doctype html>", "cannot be read as a state dict"),
            ({"weight": torch.zeros(1)}, "is not the state dict of"),
            ([torch.zeros(1)], "expected a plain state dict .* got list"),
            (random_export() | {"judge_emb": torch.zeros(1, 9)}, "is not the state dict of"),
            (
                {name: value for name, value in random_export().items() if name != "blstm.bias_hh_l0"},
                "blstm.bias_hh_l0",
            ),
        ],
        ids=["empty", "page", "other network", "list", "other shape", "incomplete"],
    )
    def test_another_file_is_refused(self, tmp_path: Path, content: Any, said: str) -> None:
        """A damaged download or the state of another network is an error that says so, not a score."""
        if isinstance(content, bytes):
            (tmp_path / FILE).write_bytes(content)
        else:
            torch.save(content, tmp_path / FILE)
        made = Utmos(weights=tmp_path)
        with pytest.raises(MissingModel, match=said):
            made.load(made.prepare(), "cpu", 1)
