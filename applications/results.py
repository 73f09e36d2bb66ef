"""Records of application metrics and of how their probes were run, shared by pipeline, service and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, FiniteFloat, SerializerFunctionWrapHandler, model_serializer

from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.metrics.results import Score
from codec_superb.record import Record


class ApplicationAggregate(Record):
    """One application metric on one dataset: the ceiling, the value, and the loss by the codec."""

    probe: str
    """Key of the probe; ``ultra`` or ``mseb.<group>`` for an average over several figures."""
    figure: str
    """Key of the figure, see ``applications.table``."""
    dataset: str
    """Name of the dataset; '' for a figure over several datasets."""
    slice: str = ""
    """Label of the clips that it is limited to, such as a recording condition; '' for all clips."""
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
    """On the resyntheses of the codec."""
    loss: Score
    """Paired difference, positive where the codec lost: of errors resynthesis minus reference, else the opposite."""
    totals: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Sums of counts: ``words``, ``reference.substitutions``, …; empty for means. Of the accuracy of a task ``lost``
    and ``gained``: clips answered rightly on the original only, and on the resynthesis only."""
    mcnemar_p: FiniteFloat | None = None
    """Of the latter two: McNemar's exact p-value, of clips taken as independent; None for other figures."""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave newer fields out where they are empty: a file of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        if not self.slice:
            written.pop("slice", None)
        if self.mcnemar_p is None:
            written.pop("mcnemar_p", None)
        return written


NEAR_SHARE, NEAR_OF_INTERVAL = 0.05, 0.1
"""By how much a model's value on the same originals may differ elsewhere: a share of the value, and of its interval. In
23 clips with 230 words, of which 9 are wrong, four more or less may be: another machine rounds otherwise."""


def is_near(value: float, other: Mapping[str, float | None], slack: float = 0.0, *, least: float = 0.0) -> bool:
    """Whether a value on the originals is another one (``value``, ``low``, ``high``) up to what a machine changes.

    Not whether it lies within its interval, which says how other clips would differ: these are the same. ``slack`` is a
    share beyond that, ``least`` what any value may differ by (``ProbeMetric.near``).
    """
    middle, low, high = (other[name] for name in ("value", "low", "high"))
    if middle is None:
        return False
    width = 0.0 if low is None or high is None else high - low
    return abs(value - middle) <= least + (NEAR_SHARE + slack) * abs(middle) + NEAR_OF_INTERVAL * width


class RemoteAnswers(Record):
    """What is known of answers of a server's model, of which nobody has the hash."""

    answers: int
    """Of both sides."""
    cost: FiniteFloat
    """What they cost together, when they were made."""
    currency: str
    """Of ``cost``: ``USD``."""
    fingerprints: tuple[str, ...]
    """What the server said of its model's state, each once."""
    drifted: bool
    """Whether a clip's two sides were answered by different states: its loss may be the server's."""


class ProbeInfo(Record):
    """How a probe was run: two results are comparable where these conditions agree."""

    probe: str
    """Key of the probe."""
    version: str
    """Version of its definition."""
    backend: str
    """Model that answered, such as ``faster-whisper:tiny.en``."""
    model_sha256: str
    """Of the model's files."""
    random: bool = False
    """Whether the model has untrained weights: such a result is never packed."""
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Decoding, normaliser, trial list and seed, parameters of a cost."""
    definition: TaskDefinition | None = None
    """Of a task that is data (docs/understanding.md), complete with its prompts."""

    remote: RemoteAnswers | None = None
    """Of a model that others run; such a result is shown, never ranked beside models whose weights are known."""

    @model_serializer(mode="wrap")
    def _without_newer(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the newer fields out where they are empty: a file of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        for name in ("definition", "remote"):
            if getattr(self, name) is None:
                written.pop(name, None)
        return written
