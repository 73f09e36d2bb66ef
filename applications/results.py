"""What probes found on a codec's resyntheses, and how they were run: the records that all later parts share."""

from __future__ import annotations

from pydantic import Field, FiniteFloat

from codec_superb.metrics.results import Score
from codec_superb.record import Record


class ApplicationAggregate(Record):
    """One figure of a probe on one dataset: the ceiling, the value, and what the codec lost."""

    probe: str
    """Key of the probe; ``ultra`` for the average over several."""
    figure: str
    """Key of the figure, see ``applications.table``."""
    dataset: str
    """Name of the dataset; '' for a figure over several datasets."""
    n: int
    """Clips that take part."""
    left_out: int
    """Clips without the label that the probe needs."""
    failed: int
    """Clips without a resynthesis, or on which a model gave no answer."""
    pairs: int
    """Trials or ranks behind the figure; 0 for a figure of single clips."""
    reference: Score
    """On the original audio."""
    resynthesis: Score
    """On what the codec gave back."""
    loss: Score
    """Paired difference, positive where the codec lost: of errors resynthesis minus reference, else the opposite."""
    totals: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Sums of counts: ``words``, ``reference.substitutions``, …; empty for means."""


class ProbeInfo(Record):
    """How a probe was run: what a reader must know before comparing two results of it."""

    probe: str
    """Key of the probe."""
    version: str
    """Version of its definition."""
    backend: str
    """Model that answered, such as ``faster-whisper:tiny.en``."""
    model_sha256: str
    """Of the model's files."""
    random: bool = False
    """Whether nobody trained the model: such a result is never packed."""
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Decoding, normaliser, trial list and seed, parameters of a cost."""
