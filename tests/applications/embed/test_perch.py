"""Perch from a file: windows of 5 s, either runtime, and what is said of other files.

The network is one that the tests write, which gives the first 1536 samples of a window: known answers for all but the
published network itself, which was not there to be run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.applications.networks import save_onnx, save_tflite
from support.applications.sound_events import noise, scores, sound

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.perch import DIMENSIONS, RATE, WINDOW
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend, Model

FORMS = {".onnx": save_onnx, ".tflite": save_tflite}
of_either = pytest.mark.parametrize("form", FORMS)


def loaded(spec: str, weights: Path | None = None) -> tuple[Backend, Model]:
    """Open a backend as a worker does."""
    backend = open_backend(spec, weights)
    model = backend.prepare()
    backend.load(model, "cpu", 1)
    return backend, model


@of_either
def test_windows_of_5_seconds_are_averaged(tmp_path: Path, form: str) -> None:
    """A clip of 12 s has three, of which the last is filled with silence; a short one has one, at its own level."""
    file = FORMS[form](tmp_path / f"mine{form}", WINDOW, DIMENSIONS)
    backend, model = loaded(f"perch:{file}")
    long, short = noise(12.0, RATE), noise(0.02, RATE)
    found = scores(backend.predict([sound(long), sound(short)]))
    expected = np.mean([long[start : start + DIMENSIONS] for start in (0, WINDOW, 2 * WINDOW)], axis=0)
    np.testing.assert_allclose(found[0], expected, atol=1e-7)
    np.testing.assert_array_equal(found[1], np.pad(short, (0, DIMENSIONS - short.size)))
    assert (backend.rate, model.name, model.settings["window_s"], model.settings["pooling"]) == (
        RATE,
        "perch",
        5,
        "mean",
    )
    (empty,) = backend.predict([sound(np.zeros(0))])
    assert isinstance(empty, PredictionFailed)


def test_a_folder_holds_either_file(tmp_path: Path) -> None:
    """By the names under which exports are published; the largest of the windows where asked for."""
    save_onnx(tmp_path / "perch_v2.onnx", WINDOW, DIMENSIONS)
    backend, model = loaded("perch:,pooling=max", tmp_path)
    clip = noise(10.0, RATE)
    (found,) = scores(backend.predict([sound(clip)]))
    np.testing.assert_array_equal(found, np.maximum(clip[:DIMENSIONS], clip[WINDOW : WINDOW + DIMENSIONS]))
    assert len(model.sha256) == 64


@of_either
@pytest.mark.parametrize(("taken", "given", "output"), [(80_000, 1536, "embedding"), (WINDOW, 1280, "embedding"),
    (WINDOW, 1536, "label")])  # fmt: skip
def test_another_network_is_refused(tmp_path: Path, form: str, taken: int, given: int, output: str) -> None:
    """Other windows, another size (Perch 1 has 1280), another output: the error says what came."""
    save: Callable[..., Path] = FORMS[form]
    file = save(tmp_path / f"other{form}", taken, given, output)
    with pytest.raises(ApplicationError, match=f"expected a network of windows of 160000 .*{output}"):
        loaded(f"perch:{file}")


@of_either
def test_a_file_of_something_else_is_refused(tmp_path: Path, form: str) -> None:
    """No network at all, with its name."""
    (tmp_path / f"mine{form}").write_bytes(b"version https://git-lfs.github.com/spec/v1\n" * 20)
    with pytest.raises(ApplicationError, match="cannot be opened"):
        loaded(f"perch:{tmp_path / f'mine{form}'}")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Without a file, with an empty folder, and with a SavedModel, each with what to do."""
    with pytest.raises(MissingModel, match=r"perch:FILE or --weights DIR; fetch perch_v2\.onnx"):
        open_backend("perch").prepare()
    with pytest.raises(MissingModel, match=r"perch_v2\.onnx or perch_v2\.tflite in"):
        open_backend("perch", tmp_path).prepare()
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(MissingModel, match="which only TensorFlow runs"):
        open_backend(f"perch:{tmp_path}").prepare()
