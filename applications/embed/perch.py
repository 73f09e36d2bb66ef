"""Backend ``perch``: Google's Perch 2, 1536 numbers of bird song and other animals, from a file of the user's.

It is published as a TensorFlow SavedModel, which only TensorFlow runs; this program runs an export of it, ``.onnx`` by
ONNX Runtime or ``.tflite`` by LiteRT. As in MSEB's encoder a clip is cut into windows of 5 s at 32 kHz, the last one
filled with silence, at the level it has. The published network has not been run in this project: the code is tested on
files that the tests write.

Paper: van Merriënboer et al., Perch 2.0: The Bittern Lesson for Bioacoustics, 2025.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from typing import ClassVar

import numpy as np

from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.applications.model_files import sha256_of
from codec_superb.applications.packages import require_packages

RATE, WINDOW, DIMENSIONS = 32_000, 160_000, 1536
OUTPUT = "embedding"
"""What the published network calls the output that is taken; it has logits and spectra besides."""
FILES = ("perch_v2.onnx", "perch_v2.tflite")
_HOW = (
    "fetch perch_v2.onnx (huggingface.co/justinchuby/Perch-onnx has an export), or export the SavedModel of "
    "kaggle.com/models/google/bird-vocalization-classifier by tf2onnx or LiteRT's converter"
)
_Network = Callable[[Samples], Samples]


class Perch(FrameBackend):
    """One vector ``(1536,)`` a clip, pooled over its windows of 5 s: ``perch:FILE``, or a folder by ``--weights``."""

    rate: ClassVar[int] = RATE
    one_copy_per_worker: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean"}

    def prepare(self) -> Model:
        """Find the file. Raises MissingModel, and MissingPackage without what runs it."""
        given = self.chosen or self.weights
        if not given:
            raise MissingModel(f"perch: name a file of it, perch:FILE or --weights DIR; {_HOW}")
        file = _file(Path(given).expanduser())
        if file.suffix == ".tflite":
            require_packages("perch", "lyra", "ai_edge_litert")
        settings: dict[str, Setting] = {"window_s": WINDOW / RATE, "hop_s": WINDOW / RATE, **self.options}
        return Model("perch", sha256_of([file]), settings, file)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- always on the CPU
        """Open the network. Raises ApplicationError where the file is another one."""
        assert model.path is not None
        opener = _open_litert if model.path.suffix == ".tflite" else _open_onnx
        try:
            self._network = opener(model.path, threads)
        except ApplicationError:
            raise
        except Exception as error:
            raise ApplicationError(f"{model.path} cannot be opened: {str(error)[:300]}; {_HOW}") from error

    def frames(self, samples: Samples) -> Frames:
        """Return one vector a window."""
        count = ceil(samples.size / WINDOW)
        filled = np.pad(samples, (0, count * WINDOW - samples.size)).astype(np.float32)
        return np.concatenate([self._network(window[None]) for window in filled.reshape(count, WINDOW)])

    def close(self) -> None:
        """Release the network."""
        del self._network


def _file(given: Path) -> Path:
    """Return the file itself, or one of the known names in a folder. Raises MissingModel."""
    if (given / "saved_model.pb").is_file():
        raise MissingModel(f"perch: {given} is a SavedModel, which only TensorFlow runs; {_HOW}")
    for file in (given, *(given / name for name in FILES)):
        if file.is_file() and file.suffix in {".onnx", ".tflite"}:
            return file.resolve()
    raise MissingModel(f"perch: expected a file .onnx or .tflite, or {' or '.join(FILES)} in {given}; {_HOW}")


def _open_onnx(file: Path, threads: int) -> _Network:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(1, threads)
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    shapes = {output.name: tuple(output.shape) for output in session.get_outputs()}
    _check(file, tuple(session.get_inputs()[0].shape), shapes)
    own = session.get_inputs()[0].name

    def run(window: Samples) -> Samples:
        found: Samples = session.run([OUTPUT], {own: window})[0]
        return found

    return run


def _open_litert(file: Path, threads: int) -> _Network:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(file), num_threads=max(1, threads))
    signatures = interpreter.get_signature_list()
    if len(signatures) != 1:
        raise ApplicationError(f"{file}: expected a network with one signature, got {len(signatures)}; {_HOW}")
    runner = interpreter.get_signature_runner(*signatures)
    (own, taken), *_ = runner.get_input_details().items()
    shapes = {name: tuple(its["shape"].tolist()) for name, its in runner.get_output_details().items()}
    _check(file, tuple(taken["shape"].tolist()), shapes)

    def run(window: Samples) -> Samples:
        found: Samples = runner(**{own: window})[OUTPUT]
        return found

    return run


def _check(file: Path, taken: tuple[object, ...], given: Mapping[str, tuple[object, ...]]) -> None:
    """Raise ApplicationError unless a network takes windows and gives embeddings; a batch may be of any size."""
    if taken[1:] != (WINDOW,) or given.get(OUTPUT, ())[1:] != (DIMENSIONS,):
        raise ApplicationError(
            f"{file}: expected a network of windows of {WINDOW} samples with an output {OUTPUT} of {DIMENSIONS} "
            f"numbers, got {taken} and {dict(given)}; {_HOW}"
        )
