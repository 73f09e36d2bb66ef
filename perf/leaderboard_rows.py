"""Makes submissions for ``leaderboard.py``: clip rows drawn as arrays, everything else computed from them.

They go the way of real ones from the moment at which a file has been checked: the same records, the same code that
turns them into rows and blocks of the database. Only the intervals are drawn from normal distributions and not from
resampled clips, which would take hours.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from codec_superb.base_codec.card import Card
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.published.suites import suite
from codec_superb.metrics.overall import category_score, dataset_score
from codec_superb.metrics.results import Estimate, Score
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, metrics_for, overall_metrics
from codec_superb.pipeline.aggregates.metrics import Aggregates, CategoryAggregate, DatasetAggregate
from codec_superb.pipeline.aggregates.summary import summarise, summarise_dataset
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.submission.schema import Submission, SubmittedDataset, Submitter
from codec_superb.pipeline.tables.clips import FORMAT, FORMAT_KEY, ROW_GROUP, clip_schema
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.ingest.outcome import Accepted, BlockInfo, Checked, CheckOutcome

MOST_CLIPS = 400
"""Clips of a dataset."""
RATE = 16000
KEYS = tuple(sorted({key for category in CATEGORIES for key in metrics_for(category)}))
_SPREAD = {"stft": 0.4, "mel": 0.25, "pesq": 0.5, "stoi": 0.06, "f0corr": 0.1, "si_sdr": 4.0, "sdr": 4.0, "estoi": 0.08}
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class PerfDataset:
    """A dataset that exists on this leaderboard alone, under the name of a published one."""

    name: str
    category: Category
    clips: tuple[str, ...]
    manifest_hash: str


@dataclass(frozen=True, slots=True)
class PerfCodec:
    """What a made codec is like."""

    card: Card
    kbps: float
    quality: float
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class Part:
    """One codec on one dataset."""

    dataset: PerfDataset
    columns: dict[str, Any]
    metrics: dict[str, np.ndarray[Any, np.dtype[np.float64]]]


def datasets() -> list[PerfDataset]:
    """Make one for each of the 21 datasets of the suite `codec_superb`; the catalogue grows, a suite does not."""
    found = []
    for name in suite("codec_superb").datasets:
        (category,) = load_manifest(name).categories
        clips = tuple(f"{name}/{number:05d}" for number in range(MOST_CLIPS))
        digest = hashlib.sha256(repr(clips).encode()).hexdigest()
        found.append(PerfDataset(name, category, clips, digest))
    return found


def codec(number: int) -> PerfCodec:
    """Make the codec of a number: five settings a family, every other family a neural one with tokens."""
    family, setting = divmod(number, 5)
    neural = family % 2 == 1
    codebooks = 2 ** (setting + 1)
    kbps = 75 * codebooks * 10 / 1000 if neural else 4.0 * 2**setting * (1 + family % 7 / 10)
    tokens = {"frame_rate": 75.0, "codebooks": codebooks, "codebook_size": 1024} if neural else {"frame_rate": 50.0}
    name, rate = f"family{family:03d}", (16000, 24000, 44100, 48000)[family % 4]
    card = Card(
        name=f"{name}_s{setting}", family=name, title=f"Family {family:03d}, setting {setting}",
        version="1", kind="neural" if neural else "classical", standard="none", year=2024,
        sampling_rate=rate, channels=(1,), nominal_kbps=kbps, causal=family % 3 == 0,
        delay_samples=0, latency_ms=20.0, licence="MIT", paper="none", homepage="https://example.org", **tokens,
    )  # fmt: skip
    return PerfCodec(card, kbps, 1 / (1 + math.exp(-(math.log2(kbps) - 3 + family % 11 / 5))))


def part(random: np.random.Generator, made: PerfCodec, dataset: PerfDataset, count: int) -> Part:
    """Draw the clip rows of a codec on the first ``count`` clips of a dataset."""
    samples = random.integers(2 * RATE, 12 * RATE, count)
    seconds = samples / RATE
    tokens = made.card.tokens_per_second if made.card.codebooks else None
    columns = {
        "clip": list(dataset.clips[:count]), "dataset": [dataset.name] * count, "category": [dataset.category] * count,
        "cluster": [""] * count,
        "slice": [""] * count,
        "status": ["ok"] * count, "stage": [""] * count, "error_type": [""] * count, "error": [""] * count,
        "sampling_rate": [RATE] * count, "samples": samples.tolist(),
        "bits": (made.kbps * 1000 * seconds * random.normal(1, 0.02, count)).astype(np.int64).tolist(),
        "tokens": [None] * count if tokens is None else np.rint(tokens * seconds).astype(np.int64).tolist(),
        "encode_s": (0.01 * seconds).tolist(), "decode_s": (0.004 * seconds).tolist(), "lag_samples": [0] * count,
        "clipped_samples": [0] * count,
        "resynthesis_sha256": [random.bytes(32).hex() for _ in range(count)],
    }  # fmt: skip
    return Part(dataset, columns, {key: _draw(random, key, made, count) for key in metrics_for(dataset.category)})


def _draw(random: np.random.Generator, key: str, made: PerfCodec, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    centre = {
        "stft": 4 - 3 * made.quality, "mel": 2.5 - 2 * made.quality, "pesq": 1.2 + 3 * made.quality,
        "si_sdr": 15 * made.quality, "sdr": 15 * made.quality,
    }.get(key, 0.5 + 0.45 * made.quality)  # fmt: skip
    row = METRICS[key]
    return np.clip(random.normal(centre, _SPREAD[key], count), max(row.minimum, -60), min(row.maximum, 60))


def block(made: Part) -> bytes:
    """Write the clip rows as the service keeps them."""
    schema = clip_schema(KEYS)
    count = len(made.columns["clip"])
    columns = dict(made.columns)
    for key in KEYS:
        there = key in made.metrics
        columns[key] = made.metrics[key] if there else [None] * count
        columns[f"{key}_status"], columns[f"{key}_reason"] = (["ok" if there else None] * count, [""] * count)
        if not there:
            columns[f"{key}_reason"] = [None] * count
    out = io.BytesIO()
    strings = [field.name for field in schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(
        out, schema, compression="zstd", use_dictionary=strings, store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)
    return out.getvalue()


def checked(random: np.random.Generator, made: PerfCodec, sizes: Sequence[tuple[PerfDataset, int]]) -> Checked:
    """Make what the check of a file hands to the service: a codec on the first clips of each dataset."""
    parts = [part(random, made, dataset, count) for dataset, count in sizes]
    aggregates = _aggregates(random, parts)
    blocks = tuple(block(entry) for entry in parts)
    infos = tuple(
        BlockInfo(dataset=entry.dataset.name, rows=len(entry.columns["clip"]), size=len(data))
        for entry, data in zip(parts, blocks, strict=True)
    )
    clips = sum(info.rows for info in infos)
    accepted = Accepted(
        submission=document(made.card, parts, aggregates),
        categories=tuple(summarise(aggregates, category) for category in aggregates.categories),
        datasets=tuple(summarise_dataset(entry) for entry in aggregates.datasets),
        blocks=infos, clips=clips, ok=clips, failed=0, complete=all(e.complete for e in aggregates.datasets),
    )  # fmt: skip
    return Checked(CheckOutcome(problems=(), more=0, notes=(), accepted=accepted), io.BytesIO(b"".join(blocks)))


def document(card: Card, parts: Sequence[Part], aggregates: Aggregates, clips_sha256: str = "0" * 64) -> Submission:
    """Write ``submission.json`` of a codec's parts."""
    counts = [len(entry.columns["clip"]) for entry in parts]
    return Submission(
        kind="named", created="2025-01-02T03:04:05Z", submitter=Submitter(name="Load test"), codec=card,
        datasets=tuple(
            SubmittedDataset(
                name=entry.dataset.name, title=entry.dataset.name, manifest_hash=entry.dataset.manifest_hash,
                clips=len(entry.dataset.clips), selected=count, ok=count, failed=0, undefined=0, licence="none",
                spec_hash="0" * 64, provenance=tuple(_stamp(stage) for stage in ("resynth", "score")),
            )
            for entry, count in zip(parts, counts, strict=True)
        ),
        metrics={key: METRICS[key].version for key in KEYS}, aggregates=aggregates, clips_sha256=clips_sha256,
    ).seal()  # fmt: skip


def _stamp(stage: Any) -> Provenance:
    return Provenance(
        stage=stage, tool_version="0.1.0", commit="0" * 40, dirty=False, python="CPython 3.11", platform="Linux",
        processor="x86_64", device="cpu", packages={"numpy": "2.0"}, command=f"codec-superb {stage} runs/made",
        started="2025-01-02T03:04:05Z",
    )  # fmt: skip


def _aggregates(random: np.random.Generator, parts: Sequence[Part]) -> Aggregates:
    made = [_dataset(random, entry) for entry in parts]
    categories = []
    for category in CATEGORIES:
        chosen = [(aggregate, draws) for aggregate, draws in made if aggregate.category == category]
        if chosen:
            categories.append(_category(category, chosen))
    return Aggregates(datasets=tuple(aggregate for aggregate, _ in made), categories=tuple(categories))


_Draws = np.ndarray[Any, np.dtype[np.float64]]


def _dataset(random: np.random.Generator, entry: Part) -> tuple[DatasetAggregate, _Draws]:
    metrics, draws = {}, {}
    for key, values in entry.metrics.items():
        mean, sd = float(values.mean()), float(values.std(ddof=1))
        error = sd / math.sqrt(len(values))
        draws[key] = np.clip(random.normal(mean, error, _DRAWS), METRICS[key].minimum, None)
        metrics[key] = Estimate(
            n=len(values), undefined=0, failed=0, mean=mean, sd=sd, low=mean - 1.96 * error, high=mean + 1.96 * error
        )
    category = entry.dataset.category
    means = {key: np.array(metrics[key].mean) for key in overall_metrics(category)}
    scores = np.asarray(dataset_score(draws, category))
    columns, count = entry.columns, len(entry.columns["clip"])
    seconds, bits = sum(columns["samples"]) / RATE, sum(columns["bits"])
    tokens = columns["tokens"]
    aggregate = DatasetAggregate(
        dataset=entry.dataset.name, category=category, clips=count, ok=count, failed=0,
        complete=count == len(entry.dataset.clips), seconds=seconds, bits=bits, kbps=bits / seconds / 1000,
        tokens_per_second=None if tokens[0] is None else sum(tokens) / seconds,
        compression_ratio=16 * RATE * seconds / bits, encode_rtf=0.01, decode_rtf=0.004, largest_lag=0,
        clipped_samples=0, metrics=metrics, score=_score(float(dataset_score(means, category)), scores),
    )  # fmt: skip
    return aggregate, scores


def _score(value: float, draws: _Draws) -> Score:
    low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    return Score(value=value, low=min(low, value), high=max(high, value))


def _category(category: Category, chosen: Sequence[tuple[DatasetAggregate, _Draws]]) -> CategoryAggregate:
    value = float(category_score([np.array(aggregate.score.value) for aggregate, _ in chosen]))
    return CategoryAggregate(
        category=category,
        datasets=tuple(aggregate.dataset for aggregate, _ in chosen),
        complete=all(aggregate.complete for aggregate, _ in chosen),
        kbps=sum(a.bits for a, _ in chosen) / sum(a.seconds for a, _ in chosen) / 1000,
        score=_score(value, np.asarray(category_score([draws for _, draws in chosen]))),
    )


def rows_of(entry: Part) -> Iterator[ClipRow]:
    """Yield the clip rows."""
    for index in range(len(entry.columns["clip"])):
        row = {name: values[index] for name, values in entry.columns.items()}
        metrics = {key: {"status": "ok", "value": float(values[index])} for key, values in entry.metrics.items()}
        yield ClipRow.model_validate({**row, "metrics": metrics})
