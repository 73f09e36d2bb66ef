"""A clip of a result: its row, and the sound on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codec_superb.api.given import check_there
from codec_superb.data_manifests import Category
from codec_superb.pipeline.comparison.results import ResultDataset
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import dataset_of_run, load_mono
from codec_superb.pipeline.runs.folder import open_run
from codec_superb.pipeline.tables.rows import ClipRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip through one codec."""

    codec: str
    row: ClipRow
    """Everything that is known of it."""
    origin: ResultDataset

    @property
    def id(self) -> str:
        """Id of the clip in its dataset."""
        return self.row.clip

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.row.dataset

    @property
    def category(self) -> Category:
        """``speech``, ``audio`` or ``music``."""
        return self.row.category

    @property
    def kbps(self) -> float | None:
        """Bitrate; None where it is not known, or where there is no resynthesis."""
        return self.row.kbps

    @property
    def values(self) -> dict[str, float]:
        """Metrics that have a value, by key."""
        return {key: found.value for key, found in self.row.metrics.items() if found.value is not None}

    def reference(self) -> tuple[NDArray[np.float32], int]:
        """Return the original, mono ``(samples,)``, and its rate in Hz. Raises DatasetError where it is not here."""
        return load_mono(dataset_of_run(self.origin.info).clip(self.id))

    def resynthesis(self) -> tuple[NDArray[np.float32], int]:
        """Return what the codec made of it, mono ``(samples,)``, and the rate in Hz.

        Raises PipelineError for a clip that failed, and for one of a submission file, which holds no sound.
        """
        if self.row.resynthesis_sha256 is None:
            raise PipelineError(f"{self.codec}: {self.id} has no resynthesis: {self.row.error}")
        if self.origin.source.is_file():
            raise PipelineError(f"{self.origin.source} is a submission, which holds no sound: load the run folder")
        check_there(self.origin.source)
        return read_audio(open_run(self.origin.source).audio_path(self.id), self.row.resynthesis_sha256)

    def __repr__(self) -> str:
        values = ", ".join(f"{key} {value:.3g}" for key, value in self.values.items())
        return f"<clip {self.id} of {self.dataset} through {self.codec}: {values or self.row.error}>"
