"""The record of one clip, with measurements and errors; the same in journals, Parquet and submissions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, model_serializer, model_validator

from codec_superb.metrics.table import Category
from codec_superb.record import Record

Status = Literal["ok", "failed"]
SLICE_LIMIT = 64
"""Most characters of a slice's name."""


class MetricValue(Record):
    """One metric on one clip."""

    status: Literal["ok", "undefined", "failed"]
    value: FiniteFloat | None = None
    """None unless ``status`` is ``ok``."""
    reason: str = ""


class ProbeValue(Record):
    """Result of one probe on one clip: the numbers from which its metrics are computed, see ``applications.table``."""

    status: Literal["ok", "left_out", "failed"]
    """``left_out``: the clip takes no part in the probe (it has no transcript)."""
    reason: str = ""
    shared: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Fields that do not depend on the side; all of the probe's where ``status`` is ``ok``, otherwise none."""
    reference: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Sided fields, on the reference: the ceiling."""
    resynthesis: dict[str, FiniteFloat] = Field(default_factory=dict)
    """Sided fields, on the resynthesis."""


class PairRow(Record):
    """A trial of two clips, or a clip's rank within a class: results that need more than one clip.

    In the file a count of a clip is such a row too; in memory those of a clip are one :class:`CountsRow`.
    """

    dataset: str
    probe: str
    left: str
    """Clip id."""
    right: str
    """Clip id of the test; name of the class for ranks."""
    target: bool
    """Whether one person speaks in both; true for ranks."""
    reference: FiniteFloat
    """Score or rank on the references."""
    resynthesis: FiniteFloat
    """Score or rank on the resyntheses."""
    enrol_clean: FiniteFloat | None = None
    """Score with the reference as enrolment and the resynthesis as test; None for ranks."""


class FramesRow(Record):
    """The frames of one clip that a probe keeps, of the same moments on both sides."""

    dataset: str
    probe: str
    clip: str
    frames: int
    """Of the whole clip, of which some are kept."""
    dimensions: int
    """Numbers of a frame."""
    scale: FiniteFloat
    """Power of two that every stored number is multiplied by."""
    reference: bytes
    """Little-endian half floats, frame after frame."""
    resynthesis: bytes
    """As many, of the same moments."""

    @property
    def kept(self) -> int:
        """Number of frames on each side."""
        return len(self.reference) // (2 * self.dimensions)

    def side(self, name: Literal["reference", "resynthesis"]) -> NDArray[np.float64]:
        """Return the frames of one side, shape ``(kept, dimensions)``."""
        stored = np.frombuffer(getattr(self, name), "<f2").astype(np.float64)
        return np.asarray(stored.reshape(self.kept, self.dimensions) * self.scale)


class CountsRow(Record):
    """All counts of one clip by a probe: of each a name, a total, and what there is of it."""

    dataset: str
    probe: str
    clip: str
    names: tuple[str, ...]
    totals: bytes
    """Little-endian doubles in the order of the names."""
    values: bytes
    """As many."""

    @property
    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Totals and values, each ``(names,)``."""
        return np.frombuffer(self.totals, "<f8"), np.frombuffer(self.values, "<f8")

    def pairs(self) -> Iterator[PairRow]:
        """Yield each count as it stands in the file."""
        of = {"dataset": self.dataset, "probe": self.probe, "left": self.clip, "target": True}
        for name, total, value in zip(self.names, *(part.tolist() for part in self.numbers), strict=True):
            yield PairRow(right=name, reference=total, resynthesis=value, **of)


def counts_row(
    dataset: str, probe: str, clip: str, names: tuple[str, ...], totals: Iterable[float], values: Iterable[float]
) -> CountsRow:
    """Return the counts of a clip; names of clips that are equal are best one object."""
    stored = [np.array(list(part), "<f8").tobytes() for part in (totals, values)]
    return CountsRow.model_construct(
        dataset=dataset, probe=probe, clip=clip, names=names, totals=stored[0], values=stored[1]
    )


KeptRow = PairRow | CountsRow | FramesRow
"""What a probe keeps beside the numbers of single clips."""


class ResynthesisRow(Record):
    """One clip of one run as resynthesis leaves it in its journal, before anything is measured on it."""

    clip: str
    dataset: str
    category: Category
    cluster: str = Field(default="", pattern=r"^([0-9a-f]{12})?$")
    """Opaque id of what the clip has in common with others of its dataset, so that they are no independent evidence
    (the speaker, the recording); '' for a clip on its own and in tables of format 1."""
    slice: str = Field(default="", max_length=SLICE_LIMIT)
    """Label by which figures are given apart too (the recording condition), where the dataset names one; '' in
    tables of formats 1 and 2."""
    status: Status
    """``failed``: no resynthesis exists; ``stage``, ``error_type`` and ``error`` say why."""
    stage: Literal["load", "encode", "decode", "write", "worker", "score", ""] = ""
    error_type: str = ""
    error: str = ""
    sampling_rate: int | None = None
    """Hz of the reference."""
    samples: int | None = None
    """Length of reference and resynthesis, in samples at ``sampling_rate``."""
    bits: int | None = None
    """Payload without container overhead."""
    tokens: int | None = None
    encode_s: FiniteFloat | None = None
    """Seconds of computing; those of a batch are shared out among its clips by length."""
    decode_s: FiniteFloat | None = None
    lag_samples: int | None = None
    """Residual lag of the resynthesis at ``sampling_rate`` (positive: late), by cross-correlation; not repaired."""
    clipped_samples: int | None = None
    """Samples of the resynthesis beyond [-1, 1]."""
    resynthesis_sha256: str | None = None
    """Of the decoded 24-bit samples as stored."""

    @property
    def seconds(self) -> float | None:
        """Duration of the reference."""
        if self.samples is None or not self.sampling_rate:
            return None
        return self.samples / self.sampling_rate

    @property
    def kbps(self) -> float | None:
        """Measured bitrate of this clip."""
        seconds = self.seconds
        return None if self.bits is None or not seconds else self.bits / seconds / 1000


class ImportLine(Record):
    """A line of the journal of imports: what the resynthesis of a clip was taken from, and what was done to it."""

    clip: str
    source: str
    """Names, sizes and times of its files, with what was stated about it: a clip whose source differs is taken over
    again."""
    from_rate: int | None = None
    """Rate of the file in Hz; None where there is no resynthesis."""
    added_samples: int = 0
    """Samples of silence that were added at its end, at the reference's rate; negative: cut there."""


class ClipRow(ResynthesisRow):
    """One clip of one run. In ``clips.parquet`` each metric K is three columns: ``K``, ``K_status``, ``K_reason``.

    Each probe P is ``P.status``, ``P.reason``, ``P.<shared field>``, ``P.reference.<field>`` and
    ``P.resynthesis.<field>``.
    """

    metrics: dict[str, MetricValue] = Field(default_factory=dict)
    probes: dict[str, ProbeValue] = Field(default_factory=dict)
    """By probe key; a clip of a category that the probe does not look at has no entry."""

    @classmethod
    def of(cls, row: ResynthesisRow, metrics: Mapping[str, MetricValue] = MappingProxyType({})) -> ClipRow:
        """Join measurements with the record of resynthesis; both have been validated and are not validated again."""
        return cls.model_construct(**vars(row), metrics=dict(metrics), probes={})


class VersionedValue(MetricValue):
    """One metric on one clip, as the journal of scores keeps it."""

    version: str
    """Of the metric's definition."""
    backend: str = ""
    """Implementation that ran, of a metric that has more than one."""


class ScoreLine(Record):
    """A line of the journal of scores: values of one resynthesis; a later line of a clip adds to the earlier ones."""

    clip: str
    sha256: str | None
    """Of the resynthesis that they belong to."""
    metrics: dict[str, VersionedValue]
    """By metric key."""


class PredictionLine(Record):
    """A line of a journal of predictions: what a model answers to one sound; a field at its default is not written."""

    clip: str
    sha256: str | None = None
    """Of the resynthesis; None for a reference."""
    category: Category
    model: str | None = None
    """Hash of the model's identity; None for a reference, whose journal is of one model."""
    text: str | None = None
    vector: str | None = None
    """Base64 of little-endian float32."""
    dimensions: int | None = Field(default=None, gt=0)
    """Of a frame, where the vector is a row of frames."""
    failed: str | None = None
    """Reason; exactly one of ``text``, ``vector`` and ``failed`` is there."""
    final: bool = False
    """Whether the model itself reported that it has no prediction, so that it is not called again."""
    facts: dict[str, str | int | float | bool] | None = None
    """What is known of how a chat's answer came about: finish, tokens, seconds, cost, fingerprint."""

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        answers = [name for name in ("text", "vector", "failed") if getattr(self, name) is not None]
        if len(answers) != 1:
            raise ValueError(f"expected one of text, vector and failed, got {answers or 'none'}")
        return self

    @model_serializer
    def _without_defaults(self) -> dict[str, Any]:
        return {name: value for name, value in self if value is not None and value is not False}
