"""What running a submission again gave, as strict records: the part of an attestation that is signed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    FailFast,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.runs.info import Name
from codec_superb.pipeline.submission.schema import MOST_DATASETS
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.verification.draw import seed_of
from codec_superb.record import Record

Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Words = Annotated[str, StringConstraints(max_length=1000)]
Verdict = Literal["agrees", "differs"]
DIFFERENCES = 50
"""Differences of one clip at most: one of each quantity."""
CLIPS = 200_000
"""Clips at most, as in a submission."""
SAMPLES = "listening samples"
"""In the place of a probe where a line says what was not compared to the last byte."""
LEFT_OUT = 200 * MOST_DATASETS + 500
"""Lines at most: each of 200 probes on each dataset of a submission, its metrics, failures and times."""

_FIRST = FailFast()
"""Of lists that anybody may send: 300,000 clips without a field were described one by one, in 12 seconds."""


class Tolerance(Record):
    """By how much a number may differ from what was submitted, where the sound is not the same to the last bit."""

    clip: FiniteFloat = Field(ge=0)
    """On a single clip."""
    mean: FiniteFloat = Field(ge=0)
    """Of the mean difference over all drawn clips of a dataset: rounding goes both ways, a raised figure does not."""
    spread: FiniteFloat = Field(ge=0)
    """Root mean square of the differences of honest runs, at most; also what the mean's standard error follows from."""


class Difference(Record):
    """One number that did not come out as submitted."""

    quantity: Name
    """``bits``, ``pesq``, ``asr.resynthesis.substitutions`` …"""
    submitted: FiniteFloat | int | Words | None
    found: FiniteFloat | int | Words | None
    allowed: FiniteFloat | None = None
    """Largest difference that passes, in the quantity's own unit; None where the two must be equal."""


class ClipVerdict(Record):
    """One clip that was run again."""

    dataset: Name
    clip: Words
    verdict: Verdict
    same_sound: bool
    """Whether the resynthesis is the submitted one to the last bit."""
    differences: Annotated[tuple[Difference, ...], _FIRST] = Field(default=(), max_length=DIFFERENCES)

    @model_validator(mode="after")
    def _follows(self) -> Self:
        if (self.verdict == "differs") != bool(self.differences):
            raise ValueError(f"{self.clip}: expected differences where, and only where, the verdict is differs")
        return self


class DatasetVerdict(Record):
    """The drawn clips of one dataset together."""

    name: Name
    manifest_hash: Hex64
    """State of the dataset on both sides."""
    clips: int = Field(ge=1, le=CLIPS)
    """Clips of the submission."""
    drawn: int = Field(ge=1, le=CLIPS)
    """Clips that were run again."""
    differences: Annotated[tuple[Difference, ...], _FIRST] = Field(default=(), max_length=DIFFERENCES)
    """Means over the drawn clips, scores of pairs, figures and listening samples that differ by more than allowed."""


class Machine(Record):
    """Where it was run again."""

    tool_version: Words
    commit: Words | None
    dirty: bool | None
    python: Words
    platform: Words
    processor: Words
    device: Words
    packages: dict[str, Words] = Field(max_length=200)
    """Versions of the packages that can change a result, by name."""


class Statement(Record):
    """What is signed."""

    file_sha256: Hex64
    """Of the submission file."""
    rows_sha256: Hex64
    """Of ``clips.parquet`` in it, which a board's download without the submitter's contact has too."""
    beside_sha256: Hex64 | None = None
    """Of the pairs, frames and listening samples beside the rows (:func:`beside_rows`); None in older statements, which
    are of the very file alone."""
    codec: Name
    condition: Condition | None = None
    nonce: Hex64
    """The maintainer's, drawn after the file was there."""
    seed: Hex64
    """SHA-256 over the file's hash and the nonce: decides which clips were drawn."""
    datasets: Annotated[tuple[DatasetVerdict, ...], _FIRST] = Field(min_length=1, max_length=MOST_DATASETS)
    clips: Annotated[tuple[ClipVerdict, ...], _FIRST] = Field(min_length=1, max_length=CLIPS)
    """Sorted by dataset and clip."""
    tolerances: dict[str, Tolerance] = Field(max_length=100)
    """By quantity; see ``docs/verification.md``."""
    compared: Annotated[tuple[Name, ...], _FIRST] = Field(max_length=200)
    """Quantities that were compared."""
    left_out: Annotated[tuple[Words, ...], _FIRST] = Field(default=(), max_length=LEFT_OUT)
    """What was not compared, with the reason."""
    machine: Machine
    made: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+00:00$")]
    """When it was finished: ISO 8601, UTC."""
    verdict: Verdict

    @model_serializer(mode="wrap")
    def _as_signed(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what an older statement has not: its signature is over what it had."""
        written: dict[str, Any] = handler(self)
        if self.beside_sha256 is None:
            written.pop("beside_sha256", None)
        return written

    @model_validator(mode="after")
    def _follows(self) -> Self:
        """Refuse a verdict, a seed or counts that do not follow from the rest."""
        datetime.fromisoformat(self.made)  # ValueError for the 99th of a month
        if self.seed != seed_of(self.file_sha256, self.nonce):
            raise ValueError("expected the seed that follows from file_sha256 and nonce")
        differs = any(entry.verdict == "differs" for entry in self.clips) or any(of.differences for of in self.datasets)
        if (self.verdict == "differs") != differs:
            raise ValueError(f"expected the verdict that follows from clips and datasets, got {self.verdict}")
        counts: dict[str, int] = {of.name: 0 for of in self.datasets}
        places = [(entry.dataset, entry.clip) for entry in self.clips]
        for dataset, _ in places:
            counts[dataset] = counts.get(dataset, 0) + 1
        if counts != {of.name: of.drawn for of in self.datasets} or len(set(places)) < len(places):
            raise ValueError("expected each drawn clip once, and as many as its dataset says")
        return self

    def differing(self) -> list[str]:
        """Return a line for each difference: of datasets, then clip by clip."""
        means = [f"{of.name}, over its clips: {told(diff)}" for of in self.datasets for diff in of.differences]
        return means + [f"{of.dataset}, {of.clip}: {told(diff)}" for of in self.clips for diff in of.differences]


def beside_rows(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a submission holds beside its rows; ``document`` is its ``submission.json``."""
    samples = [[of["dataset"], of["clip"], of["resynthesis_sha256"]] for of in document.get("samples", ())]
    tables = {name: document.get(name) for name in ("pairs_sha256", "vectors_sha256")}
    return strict_json.digest({**tables, "samples": sorted(samples)})


def told(difference: Difference) -> str:
    """Return a difference in words: ``pesq: 3.1 submitted, 2.4 found, 0.05 allowed``."""
    limit = "" if difference.allowed is None else f", {_number(difference.allowed)} allowed"
    return f"{difference.quantity}: {_number(difference.submitted)} submitted, {_number(difference.found)} found{limit}"


def _number(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
