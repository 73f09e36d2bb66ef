"""Backend ``resemblyzer``: the GE2E speaker encoder of the package Resemblyzer, in numpy, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from codec_superb.applications.asv.ge2e import PARTIAL_FRAMES, STEP_FRAMES, Ge2eEncoder
from codec_superb.applications.asv.legacy_checkpoint import BadCheckpoint, read_legacy_checkpoint
from codec_superb.applications.asv.voice_trimming import LEVEL_DBFS, STRICTEST, trim_silences
from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.model_files import embedded_model_folder, embedded_models, sha256_of
from codec_superb.applications.packages import require_packages

FILE = "pretrained.pt"


class Resemblyzer(Backend):
    """Embeds a clip as a unit vector of 256 numbers.

    The model comes from a package file; ``--weights DIR`` or ``resemblyzer:DIR`` names a folder with another
    ``pretrained.pt`` of the same network. A clip without speech fails; see :func:`voice_trimming.trim_silences`.
    """

    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Find ``pretrained.pt``."""
        require_packages("resemblyzer", "probes", "webrtcvad")
        given = self.variant or self.weights
        file = _local(Path(given)) if given else embedded_model_folder("resemblyzer") / FILE
        settings: dict[str, Setting] = {
            "voice_activity_detector": f"webrtcvad, mode {STRICTEST}",
            "raised_to_dbfs": LEVEL_DBFS,
            "partial_seconds": PARTIAL_FRAMES / 100,
            "partial_step_seconds": STEP_FRAMES / 100,
        }
        name = f"resemblyzer:local:{file.parent.name}" if given else "resemblyzer"
        return Model(name, sha256_of([file]), settings, file)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- numpy knows neither
        """Read the weights; the encoder always runs on the CPU, with numpy's own number of threads."""
        assert model.path is not None
        checkpoint = read_legacy_checkpoint(model.path)
        try:
            self._encoder = Ge2eEncoder(checkpoint["model_state"])
        except KeyError as error:
            raise BadCheckpoint(f"{FILE} is no speaker encoder of Resemblyzer: it has no {error}") from error

    def predict(self, batch: Sequence[Sound]) -> list[Prediction | Exception]:
        """Embed each clip, shape ``(256,)``."""
        return [self._embed(sound.samples) for sound in batch]

    def _embed(self, samples: Samples) -> Prediction | Exception:
        try:
            return self._encoder.embed(trim_silences(samples))
        except PredictionFailed as error:
            return error

    def close(self) -> None:
        """Release the weights."""
        del self._encoder


def _local(given: Path) -> Path:
    """Return the checkpoint in a folder, or the file itself."""
    given = given.expanduser()
    for file in (given, given / FILE, given / "resemblyzer" / FILE):
        if file.is_file():
            return file.resolve()
    package = embedded_models()["resemblyzer"].file.filename
    raise MissingModel(f"resemblyzer: no file {given / FILE}; take {FILE} out of {package} and put it there")
