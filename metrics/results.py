"""Records of a codec's results, shared by aggregates, submissions, the service, its API and all pages.

They hold numbers and names and compute nothing, and lie here because the metric table is the lowest part that pipeline,
service and pages all may import.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from codec_superb.metrics.table import Category
from codec_superb.record import Record

Text = Annotated[str, StringConstraints(max_length=1000)]


BitSource = Literal["measured", "declared", "unknown"]
"""Where the bits of a codec's clips come from, see ``Card.bit_source``."""
UNCOUNTED: Final[dict[BitSource, str]] = {
    "declared": "its bitrate is declared, not measured",
    "unknown": "its bitrate is not stated",
}
"""Why a codec whose bits nobody counted has no rank among those that were measured."""


class Estimate(Record):
    """Mean of one metric over clips, with the counts that it rests on."""

    n: int
    """Clips with a value; 0 for a published figure, whose count is unknown."""
    undefined: int
    """Clips on which the metric has no meaning."""
    failed: int
    """Clips whose metric crashed or that have no resynthesis."""
    mean: FiniteFloat | None
    """Over the clips with a value; None without one. Over several datasets: the mean of their means."""
    sd: FiniteFloat | None
    """Sample standard deviation (n - 1); None for fewer than two clips and over several datasets."""
    low: FiniteFloat | None
    """Lower end of the 95 % interval of the mean; None for fewer than two clusters of clips."""
    high: FiniteFloat | None
    """Upper end."""


class Score(Record):
    """A value with its 95 % interval; an overall score is None when one of its metrics has no mean."""

    value: FiniteFloat | None
    """An overall score is between 0 and 1, higher is better."""
    low: FiniteFloat | None
    """Lower end of the interval."""
    high: FiniteFloat | None
    """Upper end."""

    def over(self, n: int, failed: int) -> Estimate:
        """Return the value as an estimate over ``n`` clips, besides which ``failed`` gave none: charts draw both."""
        return Estimate(n=n, undefined=0, failed=failed, mean=self.value, sd=None, low=self.low, high=self.high)


NO_SCORE: Final = Score(value=None, low=None, high=None)


class StepOperations(Record):
    """Floating-point operations of encoding or of decoding; a multiply-add is two."""

    per_second: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """Of audio; None where they are not known, never 0."""
    unseen: tuple[Text, ...] = Field(default=(), max_length=20)
    """Operators that were not counted: the value is then a lower bound."""
    reason: Text = ""
    """Why there is no value."""


class Operations(Record):
    """What a codec computes for one clip, as counted apart from the timed runs."""

    backend: Text
    """What counted: ``torch.utils.flop_counter``, or the graph of the model."""
    clip: Text
    """The clip's id."""
    seconds: Annotated[FiniteFloat, Field(gt=0)]
    """Seconds of it that were coded, from its beginning."""
    encode: StepOperations
    """Of the encoder."""
    decode: StepOperations
    """Of the decoder."""


class Measured(Record):
    """Fields shared by the results of a category on one dataset and over several."""

    category: Category
    """Category of the clips."""
    clips: int
    """Rows: clips that the run was asked for; 0 for a published table, which does not state them."""
    ok: int
    """Clips that have a resynthesis."""
    failed: int
    """Clips that have none."""
    complete: bool
    """No clip failed, no metric failed on one, and none of the dataset is missing."""
    seconds: FiniteFloat
    """Audio of the clips that are ok."""
    kbps: FiniteFloat | None
    """All bits over all seconds of the clips that are ok; None when the bits of one are not known."""
    tokens_per_second: FiniteFloat | None
    """All tokens over all seconds; None for a codec without tokens."""
    compression_ratio: FiniteFloat | None
    """Bits of 16-bit PCM at the clips' own rates over the payload."""
    encode_rtf: FiniteFloat | None
    """Seconds of encoding per second of audio."""
    decode_rtf: FiniteFloat | None
    """Seconds of decoding per second of audio."""
    largest_lag: int | None
    """Largest |residual lag| of a clip, in samples at its rate."""
    clipped_samples: int
    """Samples of all resyntheses beyond [-1, 1]."""
    metrics: dict[str, Estimate]
    """By metric key; a metric that was computed on no clip of the group is absent."""
    score: Score
    """Harmonic mean of the normalised means of the category's metrics; over datasets, of their scores."""

    @property
    def size_ratio(self) -> float | None:
        """Bits of the payload over 32 bits a sample of the clips; None where the compression ratio is not known."""
        return 1 / (2 * self.compression_ratio) if self.compression_ratio else None


class ResultSummary(Measured):
    """One codec in one category, over its datasets or on one of them: report, service and API alike."""

    datasets: tuple[str, ...]
    """Names of the datasets it rests on."""
