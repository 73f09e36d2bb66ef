"""FunASR really installed: its own Paraformer and emotion2vec, small, with random weights, through the worker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from codec_superb.applications.asr.paraformer import Paraformer
from codec_superb.applications.er.emotion2vec import Emotion2Vec
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Item, Model, Sound
from codec_superb.applications.isolated.funasr import FunASRBackend
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock

pytestmark = pytest.mark.isolated

SCRIPT = Path(__file__).with_name("funasr_checkpoints.py")
BACKENDS: dict[str, type[FunASRBackend]] = {"paraformer": Paraformer, "emotion2vec": Emotion2Vec}


class Made(NamedTuple):
    """A backend with a checkpoint of random weights."""

    name: str
    python: Path
    folder: Path
    backend: FunASRBackend
    model: Model


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build the environment in a home of its own, which is removed afterwards."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(home))
        yield ensure_built(open_lock("funasr")).python
    shutil.rmtree(home)


@pytest.fixture(scope="module", params=BACKENDS)
def made(request: pytest.FixtureRequest, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Make the checkpoint with the package itself, and open it as `--weights DIR` does."""
    folder = tmp_path_factory.mktemp(request.param)
    subprocess.run([python, "-I", SCRIPT, "make", request.param, folder], check=True, capture_output=True)
    backend = BACKENDS[request.param]("", folder)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    yield Made(request.param, python, folder, backend, model)
    backend.close()


def sound(seconds: float, seed: int = 0) -> Sound:
    """Return noise at 16 kHz."""
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * 16000))
    return Sound(Item(f"c{seconds}", "speech", language="zh"), samples.astype(np.float32))


def the_package_itself(made: Made, samples: Any, folder: Path) -> Any:
    """Return what the package says without a worker."""
    np.save(folder / "clip.npy", samples)
    files = [folder / "clip.npy", folder / "answer.json"]
    subprocess.run([made.python, "-I", SCRIPT, "ask", made.name, made.folder, *files], check=True, capture_output=True)
    return json.loads((folder / "answer.json").read_text())


def test_the_worker_gives_what_the_package_gives_by_itself(made: Made, tmp_path: Path) -> None:
    """The transcript but for spaces between characters, the scores to the last bit that float32 holds."""
    clip = sound(2.0)
    (answer,) = made.backend.predict([clip])
    direct = the_package_itself(made, clip.samples, tmp_path)
    if made.name == "paraformer":
        assert answer == direct.replace(" ", "")
        assert isinstance(answer, str)
        assert len(answer) >= 3
    else:
        assert isinstance(answer, np.ndarray)
        assert np.array_equal(answer, np.asarray(direct, np.float32))
        assert answer.sum() == pytest.approx(1.0, abs=1e-5)
        assert len(made.backend.classes(made.model)) == answer.size == 9


def test_answers_depend_on_the_sound_and_not_on_the_batch(made: Made) -> None:
    """Other sounds get other answers; order and neighbours change none of them."""
    clips = [sound(seconds, seed) for seed, seconds in enumerate((1.0, 2.5, 0.7))]
    one_by_one = [made.backend.predict([clip])[0] for clip in clips]
    together = made.backend.predict(clips[::-1])[::-1]
    assert all(np.array_equal(a, b) for a, b in zip(one_by_one, together, strict=True))
    assert not np.array_equal(one_by_one[0], one_by_one[1])


def test_a_clip_of_a_few_samples_costs_itself(made: Made) -> None:
    """What is shorter than the model's window fails or gets an answer; the next clip works."""
    short, usual = made.backend.predict([sound(0.002), sound(1.0)])
    assert isinstance(short, PredictionFailed | str)
    assert not isinstance(usual, Exception)


def test_the_model_is_named_and_marked_as_random(made: Made) -> None:
    """The results of these weights can be told from those of the publisher's."""
    assert made.model.random
    assert made.model.name == f"{made.name}:local:{made.folder.name}"


def test_weights_that_lack_parameters_are_refused(made: Made, tmp_path: Path) -> None:
    """The package itself leaves what is missing at random, and goes on."""
    for file in made.folder.iterdir():
        os.link(file, tmp_path / file.name)
    (tmp_path / "model.pt").unlink()
    code = (
        "import sys, torch; source, target = sys.argv[1:]; state = torch.load(source)['model']; "
        "state.pop([name for name in state if 'blocks' in name or 'encoders0' in name][0]); torch.save(state, target)"
    )
    files = [made.folder / "model.pt", tmp_path / "model.pt"]
    subprocess.run([made.python, "-I", "-c", code, *files], check=True)
    backend = BACKENDS[made.name]("", tmp_path)
    with pytest.raises(ApplicationError, match="expected weights of the whole model, 1 parameters are missing"):
        backend.load(backend.prepare(), "cpu", 1)


def test_without_weights_the_publisher_is_named(made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Offline and without a folder, the error says which model of which publisher is missing."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        MissingModel, match=f"{made.backend.default_repository.owner_and_name} at revision v2.0.4 is not on this"
    ):
        BACKENDS[made.name]().prepare()


def test_a_long_sound_is_transcribed_in_parts(python: Path, made: Made) -> None:
    """Seventy seconds come back as the transcripts of the parts, joined."""
    from codec_superb.applications.asr.segmenting import segments

    if made.name != "paraformer":
        assert made.backend.predict([sound(40.0)])[0].size == 9  # type: ignore[union-attr]
        return
    clip = sound(70.0)
    parts = segments(clip.samples, 16000)
    texts = made.backend.predict([Sound(clip.item, part) for part in parts])
    assert len(parts) >= 3
    assert made.backend.predict([clip]) == ["".join(str(text) for text in texts)]
