"""Clip rows, cards and run folders for tests of statistics and submissions: numbers drawn, audio synthesised."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from support.audio import speech_like
from support.codecs.cards import make_card

from codec_superb.base_codec.card import Card
from codec_superb.data_manifests import Clip
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.conditions.record import Condition, suffix_of
from codec_superb.pipeline.runs.audio_store import write_audio
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import DatasetInfo, Provenance, RunInfo, spec_hash
from codec_superb.pipeline.submission.facts.clips import KnownClip
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

KEYS = ("stft", "mel", "pesq", "stoi", "f0corr")


def ok(value: float) -> MetricValue:
    """Make a metric with a value."""
    return MetricValue(status="ok", value=value)


def row(clip: str, *, dataset: str = "mini", category: Category = "speech", **fields: Any) -> ClipRow:
    """Make a clip of one second at 16 kHz and 16 kbps; ``fields`` replace or add."""
    usual: dict[str, Any] = {
        "status": "ok",
        "sampling_rate": 16000,
        "samples": 16000,
        "bits": 16000,
        "encode_s": 0.01,
        "decode_s": 0.02,
        "lag_samples": 0,
        "clipped_samples": 0,
    }
    return ClipRow(clip=clip, dataset=dataset, category=category, **(usual | fields))


def failed(clip: str, *, dataset: str = "mini", category: Category = "speech") -> ClipRow:
    """Make a clip without a resynthesis."""
    return ClipRow(
        clip=clip,
        dataset=dataset,
        category=category,
        status="failed",
        stage="encode",
        error_type="CodingFailed",
        error="too short for a frame",
    )


def draw_rows(
    seed: int, clips: int, *, quality: float = 0.0, dataset: str = "mini", categories: Sequence[Category] = CATEGORIES
) -> list[ClipRow]:
    """Draw plausible rows: how hard a clip is depends on the clip alone, the rest on ``seed`` and ``quality``."""
    hard = np.random.default_rng(7).normal(size=clips)
    noise = np.random.default_rng(seed).normal(size=(clips, len(KEYS)))
    rows = []
    for number in range(clips):
        base, own = hard[number], noise[number]
        values = {
            "stft": max(0.1, 2.0 - quality + 0.3 * base + 0.1 * own[0]),
            "mel": max(0.1, 1.5 - quality + 0.3 * base + 0.1 * own[1]),
            "pesq": float(np.clip(2.5 + quality - 0.4 * base + 0.1 * own[2], 1.02, 4.6)),
            "stoi": float(np.clip(0.85 + 0.1 * quality - 0.05 * base + 0.01 * own[3], 0, 1)),
            "f0corr": float(np.clip(0.9 + 0.05 * quality - 0.02 * base + 0.01 * own[4], -1, 1)),
        }
        rows.append(
            row(
                f"{dataset}/clip{number:03}",
                dataset=dataset,
                category=categories[number % len(categories)],
                samples=16000 + number,
                bits=16000 + 7 * number,
                lag_samples=number % 2,
                metrics={key: ok(float(value)) for key, value in values.items()},
            )
        )
    return rows


def card(name: str = "opus_16k", **fields: Any) -> Card:
    """Make the card of an Opus that is like the real one."""
    opus: dict[str, Any] = {
        "title": name, "version": "libopus 1.5", "standard": "RFC 6716", "year": 2012, "sampling_rate": 48000,
        "channels": (1, 2), "nominal_kbps": 16.0, "frame_rate": 50.0, "delay_samples": 312, "latency_ms": 26.5,
        "licence": "BSD-3-Clause", "paper": "RFC 6716", "homepage": "https://opus-codec.org",
    }  # fmt: skip
    return make_card(name, **(opus | fields))


def stamp(stage: str = "score", command: str = "codec-superb score runs/opus_16k/mini") -> Provenance:
    """Make the stamp of one stage."""
    return Provenance(
        stage=stage,  # type: ignore[arg-type]  # a literal of the test
        tool_version="0.1.0",
        commit="0" * 40,
        dirty=False,
        python="3.11.2",
        platform="Linux",
        processor="x86_64",
        device="cpu",
        packages={"numpy": "2.0"},
        command=command,
        started="2025-01-02T03:04:05+00:00",
    )


def sha(text: str) -> str:
    """Make a SHA-256 out of a name."""
    return hashlib.sha256(text.encode()).hexdigest()


def known_clips(rows: Iterable[ClipRow]) -> dict[str, KnownClip]:
    """Know category, rate and length of the clips of rows, and that every metric has a meaning on them."""
    return {row.clip: KnownClip(row.category, row.sampling_rate, row.samples, frozenset()) for row in rows}


def write_run(
    root: Path, rows: Sequence[ClipRow], *, card: Card, status: str = "scored", condition: Condition | None = None,
    **dataset: Any,
) -> RunFolder:  # fmt: skip
    """Write a finished run folder of one dataset, without audio."""
    name = rows[0].dataset
    usual: dict[str, Any] = {
        "name": name,
        "title": name.title(),
        "manifest_hash": sha(name),
        "clips": len(rows),
        "selected": len(rows),
        "licence": "CC0-1.0",
    }
    info = RunInfo(
        card=card,
        dataset=DatasetInfo(**(usual | dataset)),
        condition=condition,
        spec_hash=spec_hash(card, (usual | dataset)["manifest_hash"], condition=condition),
        status=status,  # type: ignore[arg-type]  # a literal of the test
        metrics={key: METRICS[key].version for key in KEYS},
        provenance=(stamp("resynth"), stamp()),
    )
    folder = RunFolder(root / f"{card.name}{suffix_of(condition)}" / name)
    folder.write_info(info)
    folder.write_rows(rows, KEYS)
    return folder


@dataclass(frozen=True)
class SmallDataset:
    """A dataset that lies in a folder of the test, with real files."""

    clips: dict[str, Clip]
    name: str = "mini"
    title: str = "Mini"
    manifest_hash: str = sha("mini")
    homepage: str | None = None
    licence: str = "CC0-1.0"
    citation: str | None = None

    def __len__(self) -> int:
        """Count clips."""
        return len(self.clips)

    def clip_ids(self) -> Sequence[str]:
        """Sort ids."""
        return sorted(self.clips)

    def clip(self, clip_id: str) -> Clip:
        """Find a clip."""
        return self.clips[clip_id]


def with_audio(run: RunFolder, rows: Iterable[ClipRow], folder: Path, licence: str = "CC0-1.0") -> SmallDataset:
    """Write references into ``folder`` and resyntheses into the run; the rows then carry their SHA-256."""
    clips, finished = {}, []
    for number, entry in enumerate(rows):
        audio = speech_like(0.5, 16000, seed=number)
        path = folder / f"{number}.wav"
        folder.mkdir(exist_ok=True)
        soundfile.write(path, audio, 16000, subtype="PCM_16")
        stored = write_audio(run.audio_path(entry.clip), audio, 16000)
        finished.append(entry.model_copy(update={"resynthesis_sha256": stored.sha256}))
        clips[entry.clip] = Clip(entry.clip, entry.dataset, entry.category, path, licence, "by the test")
    run.write_rows(finished, KEYS)
    return SmallDataset(clips)
