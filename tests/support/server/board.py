"""Submissions as the service stores them, row by row, for tests that need results on the board but no upload."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from fastapi import FastAPI
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.codecs.cards import make_card

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.applications.table import PROBE_METRICS, probe_of_metric
from codec_superb.base_codec.card import Card
from codec_superb.metrics.overall import category_score, dataset_score
from codec_superb.metrics.results import Score
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, metrics_for, overall_metrics
from codec_superb.pipeline.aggregates.metrics import Aggregates
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.submission.schema import Submission as Document
from codec_superb.pipeline.submission.schema import SubmittedDataset, Submitter
from codec_superb.server.app import create_app
from codec_superb.server.database.models import PUBLIC, Account, Codec, Result, Submission, now
from codec_superb.server.database.session import record_change
from codec_superb.server.moderation.service import decide
from codec_superb.server.settings import Settings

CLIPS = 20
"""Clips of a dataset in one category."""
SECONDS = 5.0
"""Length of each."""
_OTHERS = MappingProxyType(
    {"pesq_c2": 2.5, "estoi": 0.7, "si_sdr": 8.0, "sdr": 8.5, "f0corr": 0.9, "f0corr_praat": 0.9}
)
_LEAST_SIGMOID = 0.55
"""Where a distance becomes implausibly large: its normalised value is always above a half."""


@dataclass(frozen=True)
class Probed:
    """One figure of an application, as a submission says it."""

    figure: str
    value: float
    ceiling: float
    dataset: str = "mini"
    backend: str = "faster-whisper:tiny.en"
    sha256: str = "ab" * 32
    failed: int = 0
    width: float | None = 0.5
    """Half of each interval; None for none."""
    slice: str = ""
    """Recording condition of its clips."""
    clips: int = CLIPS
    """That the probe was asked about."""
    left_out: int = 2
    """Of these without a label."""
    words: int = 400
    """Of the labels of its clips, where words are counted."""

    @property
    def probe(self) -> str:
        """Key of the probe that reports it."""
        return probe_of_metric(self.figure).key

    def info(self) -> ProbeInfo:
        """Say how the probe was run."""
        return ProbeInfo(
            probe=self.probe, version="1", backend=self.backend, model_sha256=self.sha256, settings={"beam": 1}
        )

    def aggregate(self) -> ApplicationAggregate:
        """Put value, ceiling and loss beside their counts."""
        lost = self.ceiling - self.value if PROBE_METRICS[self.figure].higher_is_better else self.value - self.ceiling
        arm = self.width
        value, reference, loss = (
            Score(value=at, low=None, high=None) if arm is None else Score(value=at, low=at - arm, high=at + arm)
            for at in (self.value, self.ceiling, lost)
        )
        words = {"words": self.words, "reference.substitutions": 9, "resynthesis.substitutions": 31}
        return ApplicationAggregate(
            probe=self.probe, figure=self.figure, dataset=self.dataset, slice=self.slice, left_out=self.left_out,
            n=self.clips - self.left_out - self.failed, failed=self.failed, pairs=0, reference=reference,
            resynthesis=value, loss=loss, totals=words if self.probe == "asr" else {},
        )  # fmt: skip


def board_as_it_comes(settings: Settings) -> FastAPI:
    """Make a board that prefers what was run again, unlike that of most tests."""
    return create_app(settings.model_copy(update={"default_source": Settings.model_fields["default_source"].default}))


def make_submission(
    session: Session,
    codec: str = "opus_12k",
    kbps: float | None = 12.0,
    score: float | Mapping[Category, float] = 0.8,
    status: str = "self-reported",
    datasets: Mapping[str, Sequence[Category]] = MappingProxyType({"mini": CATEGORIES}),
    metrics: Mapping[str, float | None] = MappingProxyType({}),
    *,
    owner: str | None = "someone",
    width: float = 0.02,
    card: Mapping[str, Any] = MappingProxyType({}),
    result: Mapping[str, Any] = MappingProxyType({}),
    received: datetime | None = None,
    submitter: str = "The testers",
    samples: Sequence[Mapping[str, Any]] = (),
    file_sha256: str | None = None,
    applications: Sequence[Probed] = (),
    condition: Condition | None = None,
) -> str:
    """Store the next version of ``codec`` with complete results; return the id.

    ``score`` (0 to 1) is reached on each dataset by metrics that fit it; ``metrics`` replaces means, and the score
    follows. That of ``audio`` is made of distances alone and lies above a half. ``width`` is half of each interval.
    ``card`` and ``result`` replace fields of the card and of every row of results (``largest_lag``, ``failed`` …).
    ``owner`` None makes an anonymous upload. ``applications`` are figures of probes, see :class:`Probed`.
    """
    account = None if owner is None else _one(session, Account, owner)
    row = _one(session, Codec, codec)
    if row.owner is None:
        row.owner = account
    version = session.scalar(select(func.max(Submission.version)).where(Submission.codec_id == row.id)) or 0
    made_card = _card(codec, kbps, card)
    results = _results(kbps, score, datasets, metrics, width, made_card)
    for entry in results:
        for name, value in result.items():
            setattr(entry, name, value)
    parts = [entry for entry in results if entry.dataset]
    keys = sorted({key for entry in results for key in entry.metrics})
    document = _document(made_card, datasets, keys, submitter, samples, applications)
    if condition is not None:
        document["condition"] = condition.model_dump(mode="json")
    identity = "".join(secrets.choice("abcdefghijkmnpqrstuvwxyz23456789") for _ in range(10))
    session.add(
        Submission(
            id=identity, codec=row, version=version + 1,
            file_sha256=file_sha256 or hashlib.sha256(identity.encode()).hexdigest(), file_size=123_456,
            condition="" if condition is None else condition.label,
            status=status, account=account, submitter=submitter, contact=None, received=received or now(),
            created="2025-01-02T03:04:05+00:00", card=made_card.model_dump(mode="json"), document=document,
            metrics={key: METRICS[key].version for key in keys},
            clips=sum(part.clips for part in parts), ok=sum(part.ok for part in parts),
            failed=sum(part.failed for part in parts), complete=all(part.complete for part in parts),
            warnings=[], notes=[],
            public_since=None if status in {"pending", "held"} else received or now(),
            decided_by=None, decided=None, reason=None, results=results,
        )
    )  # fmt: skip
    session.flush()
    if status in PUBLIC:
        record_change(session, identity, status)
    return identity


def make_verified(session: Session, codec: str, by: str, *datasets: str, **told: Any) -> str:
    """Store verified results of an account under a name of the catalogue; return the id. They are two changes."""
    sets = dict.fromkeys(datasets or ["mini"], CATEGORIES)
    made = make_submission(session, codec, 1.0, 0.6, owner=by, datasets=sets, **told)
    session.scalars(select(Codec).where(Codec.name == codec)).one().owner_id = None
    session.flush()
    decide(session, made, "verify", "because", actor="moderator")
    session.flush()
    return made


def _one(session: Session, model: type[Any], name: str) -> Any:
    """Find the row of the name, or add it."""
    found = session.scalars(select(model).where(model.name == name)).one_or_none()
    if found is None:
        found = model(name=name)
        session.add(found)
        session.flush()
    return found


def _card(codec: str, kbps: float | None, changes: Mapping[str, Any]) -> Card:
    usual: dict[str, Any] = {
        "title": codec.replace("_", " ").title(), "version": "libopus 1.5", "standard": "RFC 6716", "year": 2012,
        "sampling_rate": 48000, "nominal_kbps": kbps, "frame_rate": 50.0, "delay_samples": 312, "latency_ms": 26.5,
        "licence": "BSD-3-Clause", "paper": "RFC 6716", "homepage": "https://opus-codec.org",
    }  # fmt: skip
    return make_card(codec, **(usual | changes))


def _results(
    kbps: float | None,
    score: float | Mapping[Category, float],
    datasets: Mapping[str, Sequence[Category]],
    metrics: Mapping[str, float | None],
    width: float,
    card: Card,
) -> list[Result]:
    """Rows of each dataset, and for each category the row over its datasets."""
    rows = []
    for category in CATEGORIES:
        parts = [name for name, categories in datasets.items() if category in categories]
        if parts:
            wanted = score if isinstance(score, float | int) else score.get(category, 0.8)
            means = _means(category, wanted, metrics)
            rows += [_row(category, name, (name,), means, kbps, width, card) for name in parts]
            rows.append(_row(category, "", parts, means, kbps, width, card))
    return rows


def _means(category: Category, score: float, replaced: Mapping[str, float | None]) -> dict[str, float | None]:
    """Means of the default metrics of a category whose overall score is ``score``."""
    keys = overall_metrics(category)
    distances = [key for key in keys if key in {"stft", "mel"}]
    others = [key for key in keys if key not in distances]
    near = max(score, _LEAST_SIGMOID) if others else score
    rest = len(others) / (len(keys) / score - len(distances) / near) if others else near
    means: dict[str, float | None] = {key: _OTHERS.get(key) for key in metrics_for(category)}
    means |= {key: 1 / math.log(near / (1 - near)) for key in distances}
    means |= {key: 5 * rest - 0.5 if key == "pesq" else rest for key in others}
    return means | {key: value for key, value in replaced.items() if key in means}


def _row(
    category: Category,
    dataset: str,
    rests_on: Iterable[str],
    means: Mapping[str, float | None],
    kbps: float | None,
    width: float,
    card: Card,
) -> Result:
    names = sorted(rests_on)
    clips = CLIPS * len(names)
    known = {key: np.asarray(means[key], dtype=float) for key in overall_metrics(category) if means[key] is not None}
    whole = set(overall_metrics(category)) == set(known)
    value = float(category_score([dataset_score(known, category)] * len(names))) if whole else None
    rate = None if kbps is None else 1.01 * kbps
    return Result(
        category=category, dataset=dataset, datasets=names, complete=whole, clips=clips, ok=clips, failed=0,
        seconds=clips * SECONDS, kbps=rate, tokens_per_second=card.tokens_per_second,
        compression_ratio=None if rate is None else 256.0 / rate, encode_rtf=0.01, decode_rtf=0.004, largest_lag=0,
        clipped_samples=0, score=value, low=None if value is None else max(0.0, value - width),
        high=None if value is None else min(1.0, value + width),
        metrics={key: _estimate(mean, width, clips) for key, mean in sorted(means.items())},
    )  # fmt: skip


def _estimate(mean: float | None, width: float, clips: int) -> dict[str, Any]:
    known = mean is not None
    return {
        "mean": mean, "low": mean - width if mean is not None else None,
        "high": mean + width if mean is not None else None,
        "n": clips if known else 0, "undefined": 0 if known else clips, "failed": 0, "sd": 0.1 if known else None,
    }  # fmt: skip


def _document(
    card: Card,
    datasets: Mapping[str, Sequence[Category]],
    keys: Sequence[str],
    submitter: str,
    samples: Sequence[Mapping[str, Any]],
    applications: Sequence[Probed],
) -> dict[str, Any]:
    """``submission.json`` without card and aggregates but for applications, as the service keeps it."""
    document = Document(
        kind="named",
        created="2025-01-02T03:04:05+00:00",
        submitter=Submitter(name=submitter),
        codec=card,
        datasets=tuple(
            SubmittedDataset(
                name=name, title=name.title(), manifest_hash=_sha(name), clips=CLIPS * len(categories),
                selected=CLIPS * len(categories), ok=CLIPS * len(categories), failed=0, undefined=0, licence="CC0-1.0",
                spec_hash=_sha(card.name + name), probes=_probes(applications, name),
                provenance=(_stamp("resynth"), _stamp("score")),
            )
            for name, categories in sorted(datasets.items())
        ),
        metrics={key: METRICS[key].version for key in keys},
        aggregates=Aggregates(),
        samples=tuple(samples),
        clips_sha256=_sha("clips"),
    )  # fmt: skip
    parts = {"applications": [entry for entry in applications if not entry.slice]}
    if sliced := [entry for entry in applications if entry.slice]:
        parts["slices"] = sliced
    figures = {name: [entry.aggregate().model_dump(mode="json") for entry in part] for name, part in parts.items()}
    return document.seal().model_dump(mode="json", exclude={"codec", "aggregates"}) | figures


def _probes(applications: Sequence[Probed], dataset: str) -> tuple[ProbeInfo, ...]:
    infos = {entry.probe: entry.info() for entry in applications if entry.dataset == dataset}
    return tuple(info for _, info in sorted(infos.items()))


def _stamp(stage: Any) -> Provenance:
    return Provenance(
        stage=stage, tool_version="0.1.0", commit="0" * 40, dirty=False, python="CPython 3.11.2", platform="Linux",
        processor="x86_64", device="cpu", packages={"numpy": "2.0"}, command=f"codec-superb {stage} runs/opus_12k",
        started="2025-01-02T03:04:05+00:00",
    )  # fmt: skip


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_empty_files(session: Session, folder: Path) -> None:
    """Make a file for each submission, without content: a board none of whose files is there takes no upload."""
    folder.mkdir(parents=True, exist_ok=True)
    for sha256 in session.scalars(select(Submission.file_sha256)):
        (folder / f"{sha256}.zip").touch()
