"""``submission.json``: the description of a submission, as strict models from which the JSON Schema is exported.

Everything that can be computed from ``clips.parquet`` is computed again by whoever receives the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, StringConstraints, field_validator, model_serializer

from codec_superb.applications.results import ProbeInfo
from codec_superb.base_codec.card import Card
from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.metrics.results import Operations
from codec_superb.metrics.table import Category
from codec_superb.pipeline.aggregates.metrics import Aggregates
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.runs.info import CustomMetric, DatasetInfo, Moment, Name, Provenance
from codec_superb.pipeline.statistics.bootstrap import REPLICATES
from codec_superb.pipeline.statistics.jackknife import METHOD
from codec_superb.pipeline.tables import strict_json
from codec_superb.record import WHOLE, Record

SUBMISSION_NAME = "submission.json"
CLIPS_NAME = "clips.parquet"
PAIRS_NAME = "pairs.parquet"
VECTORS_NAME = "vectors.parquet"
PART_NAME = "part.json"
SAMPLES = 20
"""Most listening samples of a submission."""
MOST_PARTS = 50
"""Most files that hold the rows of a submission."""
MOST_DATASETS = 300
"""Most datasets of a submission; the catalogue has 193. A check takes 20 ms for each, however few rows it has."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=1000)]


class Submitter(Record):
    """The person or group responsible for the file."""

    name: Name
    """Person or group, as the leaderboard shows it."""
    contact: Name | None = None
    """Mail address or web page for questions; not shown."""


class SubmittedDataset(Record):
    """One run: the codec on one dataset."""

    name: Name
    """Name of its manifest, or of the folder of a custom dataset."""
    title: Text
    """Name for people."""
    manifest_hash: Sha256
    """SHA-256 over clip ids, audio and labels: equal hashes mean the same dataset."""
    clips: int = Field(ge=0)
    """Clips in the whole dataset."""
    selected: int = Field(ge=0)
    """Clips the run was asked for; fewer than ``clips`` where the run was limited."""
    ok: int = Field(ge=0)
    """Clips with a resynthesis."""
    failed: int = Field(ge=0)
    """Clips without one."""
    undefined: int = Field(ge=0)
    """Clips with a resynthesis on which at least one metric has no meaning."""
    licence: Text
    """Licence of the dataset."""
    homepage: Text | None = None
    """Where the dataset is published."""
    citation: Annotated[str, StringConstraints(max_length=5000)] | None = None
    """How to cite the dataset."""
    spec_hash: Sha256
    """SHA-256 over format, card, manifest hash and condition of the run."""
    # 102 probes are shipped, and a submission may have tasks of its own beside them
    probes: tuple[ProbeInfo, ...] = Field(default=(), max_length=200)
    """How the applications were run on it, sorted by probe."""
    provenance: tuple[Provenance, ...]
    """A stamp for each stage of the run, in the order in which they ran."""
    operations: Operations | None = None
    """What the codec computes for a clip, as the submitter counted; absent where it is not known."""

    @model_serializer(mode="wrap")
    def _without_operations(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the newer field out where it is not known: a file of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        if self.operations is None:
            written.pop("operations", None)
        return written

    @classmethod
    def of(cls, info: DatasetInfo, **counts: Any) -> SubmittedDataset:
        """Take over what a run knows about its dataset, without the folder it lies in."""
        shared = set(cls.model_fields) & set(DatasetInfo.model_fields)
        return cls(**info.model_dump(include=shared), **counts)


class Bootstrap(Record):
    """How the intervals were computed; fixed, so that everybody's can be recomputed and compared."""

    method: Literal["cluster-jackknife-2", "cluster-jackknife-1", "expanded-percentile-1"] = METHOD
    """Kind of interval; those of a file of an earlier kind are computed anew and not compared."""
    seed: Annotated[Literal[0], WHOLE] = SEED
    """Seed of the resampling behind ranks and comparisons."""
    replicates: Annotated[Literal[1000], WHOLE] = REPLICATES
    """Resamples of the clusters of clips there."""


class Sample(Record):
    """One clip to listen to, as two Ogg Opus files in ``samples/``."""

    dataset: Name
    """Name of a dataset of this submission."""
    clip: Text
    """Clip id."""
    category: Category
    """Category of the clip."""
    licence: Text
    """Licence of the clip."""
    attribution: Annotated[str, StringConstraints(max_length=5000)]
    """Whom to credit."""
    reference: Annotated[str, StringConstraints(pattern=r"^samples/[0-9]{2}-reference\.ogg$")]
    """Member of the zip: the original."""
    resynthesis: Annotated[str, StringConstraints(pattern=r"^samples/[0-9]{2}-resynthesis\.ogg$")]
    """Member of the zip: what the codec made of it."""
    reference_sha256: Sha256
    """Of the reference's file."""
    resynthesis_sha256: Sha256
    """Of the resynthesis' file."""


class Part(Record):
    """One of the files that hold the rows of a submission in parts."""

    sha256: Sha256
    """Of the file, by which a leaderboard knows it."""
    size: int = Field(ge=1)
    """Bytes of the file."""
    rows: int = Field(ge=1)
    """Clips in it."""
    clips_sha256: Sha256
    """Of its ``clips.parquet``."""


class PartHead(Record):
    """Contents of ``part.json``: which part of which results a file is."""

    format: Annotated[Literal[1], WHOLE] = 1
    """Version of this record."""
    number: int = Field(ge=1, le=MOST_PARTS)
    """Its place among the parts, from 1."""
    parts: int = Field(ge=1, le=MOST_PARTS)
    """How many there are."""
    codec: Name
    """Name of the codec, for people."""
    identity: Sha256
    """What its results have in common with those of the other parts: :meth:`Submission.identity`."""


class Submission(Record):
    """Contents of ``submission.json``."""

    format: Annotated[Literal[1, 2, 3], WHOLE] = 1
    """Version of this schema: 2 where ``vectors.parquet`` is there, 3 where the rows lie in parts; programs of earlier
    versions cannot read those."""
    kind: Literal["named", "custom"]
    """``named``: datasets of the benchmark. ``custom``: any others (own folders, own manifests), never ranked."""
    created: Moment
    """When the last stage of the last run began: ISO 8601, UTC."""
    submitter: Submitter | None = None
    """None for a file without a submitter; a leaderboard requires one."""
    codec: Card
    """The codec's card; local paths are cut to their last part."""
    condition: Condition | None = None
    """What all runs were made under; absent for clean ones. Results under a condition are never ranked."""
    datasets: tuple[SubmittedDataset, ...] = Field(min_length=1, max_length=MOST_DATASETS)
    """One entry for each run, sorted by name."""
    metrics: dict[str, str] = Field(max_length=40)
    """Metric key to version of its definition."""
    custom_metrics: dict[str, CustomMetric] = Field(default_factory=dict, max_length=20)
    """Those of ``metrics`` that are not of the benchmark's table: shown as custom, never ranked."""
    bootstrap: Bootstrap = Bootstrap()
    """How the intervals were computed."""
    aggregates: Aggregates
    """Computed from ``clips.parquet``; shown only where a recomputation agrees."""
    samples: tuple[Sample, ...] = Field(default=(), max_length=SAMPLES)
    """Clips to listen to."""
    clips_sha256: Sha256
    """Of ``clips.parquet``; where the rows lie in parts, of the lines of their ``clips_sha256``."""
    parts: tuple[Part, ...] = Field(default=(), max_length=MOST_PARTS)
    """Files that hold the rows, in their order; absent where ``clips.parquet`` is in this file."""
    pairs_sha256: Sha256 | None = None
    """Of ``pairs.parquet``; None where no probe keeps pairs, and the file is absent."""
    vectors_sha256: Sha256 | None = None
    """Of ``vectors.parquet``; absent where no probe keeps frames, and the file is absent."""
    content_sha256: str = ""
    """SHA-256 over this document with this field empty, written as strict JSON with sorted names: finds damage."""

    @field_validator("parts")
    @classmethod
    def _each_part_once(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Before any part is read: a document of 2 kB would have the same rows read fifty times."""
        if len({part.sha256 for part in parts}) < len(parts):
            raise ValueError("expected each part once")
        return parts

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave newer fields out where they have their default: a file of ordinary runs keeps its bytes and hash."""
        written: dict[str, Any] = handler(self)
        for name in ("custom_metrics", "condition", "vectors_sha256", "parts"):
            if not getattr(self, name):
                written.pop(name, None)
        return written

    def seal(self) -> Submission:
        """Return the same submission with its own hash."""
        return self.model_copy(update={"content_sha256": self.content_hash()})

    def content_hash(self) -> str:
        """Compute what ``content_sha256`` must be."""
        return strict_json.digest(self.model_dump(mode="json") | {"content_sha256": ""})

    def to_json(self) -> bytes:
        """Serialise as strict JSON."""
        return strict_json.dumps(self.model_dump(mode="json"))

    def identity(self) -> str:
        """Compute what all parts have in common: codec, condition, datasets with their runs, metrics and probes."""
        named = self.model_dump(mode="json", include=_IDENTITY) | {"datasets": [_run_of(of) for of in self.datasets]}
        return strict_json.digest(named)

    def head(self, number: int, parts: int) -> PartHead:
        """Return what ``part.json`` of a part must be; ``number`` from 1."""
        return PartHead(number=number, parts=parts, codec=self.codec.name, identity=self.identity())


_IDENTITY = {"kind", "created", "codec", "condition", "metrics", "custom_metrics"}


def _run_of(dataset: SubmittedDataset) -> dict[str, Any]:
    probes = [(info.probe, info.version, info.backend, info.model_sha256) for info in dataset.probes]
    return dataset.model_dump(include={"name", "manifest_hash", "spec_hash", "selected"}) | {"probes": probes}


def clips_digest(parts: Iterable[Part]) -> str:
    """Compute ``clips_sha256`` of a submission whose rows lie in parts."""
    return hashlib.sha256("".join(f"{part.clips_sha256}\n" for part in parts).encode()).hexdigest()


def format_of(members: Container[str]) -> Literal[1, 2, 3]:
    """Return the version of a submission with these members."""
    if CLIPS_NAME not in members:
        return 3
    return 2 if VECTORS_NAME in members else 1


def json_schema() -> bytes:
    """Return the JSON Schema of ``submission.json``, as committed in ``docs/submission.schema.json``."""
    schema = Submission.model_json_schema(mode="validation")
    return strict_json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


if __name__ == "__main__":
    import sys

    sys.stdout.buffer.write(json_schema())
