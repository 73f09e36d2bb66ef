"""Report data for tests: twelve codecs from 0.7 to 128 kbps and two lossless ones, with the curves real codecs have."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from support.web.results import application_row, changed, estimate, score, summary

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.web.rows import (
    ApplicationRow,
    ClipFailure,
    ClipPoint,
    CodecResult,
    ConditionInfo,
    ConditionResult,
    ProbeModel,
    RateComparison,
    ReportData,
    ReportSample,
)

TABLE = METRICS | {"stoi": replace(METRICS["stoi"], paper="https://example.org/paper")}
"""The metric table, with a paper that is an address."""

# name, title, family, nominal kbps, how good at its bitrate (0 to 1), lossless, tokens per second
_CODECS = (
    ("codec2_700c", "Codec2 700C", "Codec2", 0.7, 0.50, False, None),
    ("codec2_1200", "Codec2 1200", "Codec2", 1.2, 0.55, False, None),
    ("codec2_3200", "Codec2 3200", "Codec2", 3.2, 0.52, False, None),
    ("encodec_24k_1.5bps", "EnCodec 24 kHz 1.5", "EnCodec", 1.5, 0.85, False, 150.0),
    ("encodec_24k_6bps", "EnCodec 24 kHz 6", "EnCodec", 6.0, 0.86, False, 600.0),
    ("amrnb_12k2", "AMR-NB 12.2", "AMR-NB", 12.2, 0.62, False, None),
    ("opus_6k", "Opus 6", "Opus", 6.0, 0.62, False, None),
    ("opus_12k", "Opus 12", "Opus", 12.0, 0.80, False, None),
    ("opus_24k", "Opus 24", "Opus", 24.0, 0.88, False, None),
    ("opus_64k", "Opus 64", "Opus", 64.0, 0.92, False, None),
    ("mp3_32k", "MP3 32", "MP3", 32.0, 0.72, False, None),
    ("mp3_128k", "MP3 128", "MP3", 128.0, 0.90, False, None),
    ("flac", "FLAC", "FLAC", None, 1.0, True, None),
    ("wavpack", "WavPack", "WavPack", None, 1.0, True, None),
)
_DATASETS: dict[Category, tuple[str, ...]] = {"speech": ("mini", "librispeech"), "audio": ("mini",), "music": ("mini",)}


def _quality(kbps: float, skill: float, category: Category) -> float:
    """Give how much survives, from 0 to 1: grows with the logarithm of the bitrate and saturates."""
    middle = {"speech": 3.0, "audio": 16.0, "music": 12.0}[category]
    return 1 / (1 + (middle / kbps) ** 0.9) ** (1.6 - skill)


def _metrics(quality: float, rng: random.Random, category: Category) -> dict[str, float]:
    near = min(1.0, max(0.02, quality + rng.gauss(0, 0.05)))
    values = {
        "stft": 0.1 + 3.2 * (1 - near),
        "mel": 0.08 + 2.1 * (1 - near),
        "si_sdr": 30 * near - 12 + rng.gauss(0, 1),
    }
    if category != "audio":
        values["pesq"] = min(4.64, 1.03 + 3.6 * near**1.7)
        values["sdr"] = values["si_sdr"] - 0.5
        values["estoi"] = min(1.0, 0.1 + 0.9 * near)
        values["stoi"] = min(1.0, 0.55 + 0.45 * near**0.7)
    if category == "music":
        values["f0corr"] = min(1.0, 0.3 + 0.7 * near)
    return values


def _estimate(values: Sequence[float], undefined: int = 0, failed: int = 0) -> Estimate:
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    half = 1.96 * sd / len(values) ** 0.5
    return estimate(mean, mean - half, mean + half, len(values), undefined, failed, sd)


def make_points(
    category: Category, clips: int, codecs: Sequence[tuple[Any, ...]] = _CODECS, seed: int = 1
) -> list[ClipPoint]:
    """Make every clip of every codec of one category."""
    rng = random.Random(f"{seed} {category}")
    points = []
    for name, _, _, nominal, skill, lossless, _ in codecs:
        rate = nominal or 420.0 * (1.05 if name == "wavpack" else 1)
        quality = 1.0 if lossless else _quality(rate, skill, category)
        for number in range(clips):
            dataset = _DATASETS[category][number % len(_DATASETS[category])]
            values = _metrics(quality, rng, category)
            if number == 3 and category == "speech":
                values.pop("pesq")
            points.append(ClipPoint(name, dataset, f"{category}/clip_{number:03}", category, rate, values))
    return points


def make_results(points: Sequence[ClipPoint], codecs: Sequence[tuple[Any, ...]] = _CODECS) -> list[CodecResult]:
    """Summarise clips of one category, ranked."""
    results = []
    for index, (name, title, family, nominal, _, lossless, tokens) in enumerate(codecs):
        mine = [point for point in points if point.codec == name]
        failed = 2 if name == "amrnb_12k2" else 0
        keys = [key for key in TABLE if any(key in point.metrics for point in mine)]
        metrics = {}
        for key in keys:
            values = [point.metrics[key] for point in mine if key in point.metrics]
            metrics[key] = _estimate(values, len(mine) - len(values), failed)
        whole = _estimate([1 / (1 + math.exp(-1 / point.metrics["mel"])) for point in mine])
        results.append(
            CodecResult(
                codec=name,
                title=title,
                family=family,
                nominal_kbps=nominal,
                lossless=lossless,
                summary=summary(
                    category=mine[0].category,
                    datasets=_DATASETS[mine[0].category],
                    complete=not failed,
                    clips=len(mine) + failed,
                    failed=failed,
                    kbps=(mine[0].kbps or 1.0) * (1 + 0.02 * math.sin(index)),
                    tokens_per_second=tokens,
                    compression_ratio=256 / (mine[0].kbps or 256.0),
                    encode_rtf=0.004 * (1 + index),
                    decode_rtf=0.0017 * (1 + index),
                    largest_lag=20 if name == "mp3_32k" else 0,
                    clipped_samples=1234 if name == "mp3_128k" else 0,
                    score=score(whole.mean, whole.low, whole.high),
                    metrics=metrics,
                ),
            )
        )
    ordered = sorted(results, key=lambda row: -(row.summary.score.value or 0))
    ranks = {row.codec: (max(1, place - 1), place) for place, row in enumerate(ordered, 1)}
    return [replace(row, rank=ranks[row.codec]) for row in results]


def tone(seconds: float = 0.5, hertz: float = 220.0) -> bytes:
    """Encode a tone as a real Ogg Opus file, the same bytes each time."""
    time = np.arange(int(48000 * seconds)) / 48000
    return ogg_opus((0.2 * np.sin(2 * np.pi * hertz * time)).astype(np.float32), 48000, 24)


def make_listening(category: Category, numbers: Sequence[int]) -> list[ReportSample]:
    """Make clips to listen to, through every codec."""
    sounds = {name: tone(0.5, 220 + 20 * index) for index, (name, *_) in enumerate(_CODECS)}
    text = "The quick brown fox jumps over the lazy dog." if category == "speech" else None
    reference = tone(0.5, 200)
    return [
        ReportSample(
            clip=f"{category}/clip_{number:03}",
            dataset=_DATASETS[category][number % len(_DATASETS[category])],
            category=category,
            text=text,
            attribution="Read by the volunteers of LibriVox",
            licence="BSD-2-Clause",
            reference=reference,
            resyntheses=sounds,
        )
        for number in numbers
    ]


def make_rates(category: Category) -> list[RateComparison]:
    """Make a full square of family comparisons, one pair without overlap."""
    families = ("Codec2", "EnCodec", "MP3", "Opus")
    rng = random.Random(f"rates {category}")
    rows = []
    for family in families:
        for other in families:
            if {family, other} == {"Codec2", "MP3"}:
                rows.append(RateComparison(category, family, other, None, None))
            elif family != other:
                rows.append(RateComparison(category, family, other, rng.uniform(-70, 70), rng.uniform(-0.1, 0.1)))
    return rows


WHISPER = ProbeModel(
    "faster-whisper:tiny.en", "ab" * 32, "1", settings=(("normaliser", "English of Whisper"), ("beam", "1"))
)
OTHER_WHISPER = ProbeModel("openai-whisper:large", "cd" * 32, "1")
RESEMBLYZER = ProbeModel("resemblyzer", "ef" * 32, "1")


def make_applications(results: Sequence[CodecResult]) -> list[ApplicationRow]:
    """Make word error rates and speaker figures of every codec of speech; one was also probed with another model."""
    rows = []
    for result in results:
        quality = result.summary.score.value or 0.0
        rows += [
            _error_rate(result, WHISPER, 5.0 + 60 * (1 - quality) ** 2, "mini"),
            _similarity(result, 100 * quality**0.2),
        ]
        if result.codec == "opus_12k":
            rows += [_error_rate(result, OTHER_WHISPER, 2.9, "mini"), _error_rate(result, WHISPER, 9.5, "librispeech")]
    return rows


def make_conditions(results: Sequence[CodecResult]) -> list[ConditionResult]:
    """Give three of the codecs clean, with lost packets, and compared with a noisy input; under loss clips failed."""
    rows = []
    for result in results[:3]:
        clean = result.summary.score.value or 0.0
        rows.append(ConditionResult(changed(result, rank=None), ConditionInfo()))
        for kind, strength, reference in (("loss", 5, "clean"), ("loss", 20, "clean"), ("noise:white", 10, "input")):
            value, lost = clean * (1 - strength / 50), strength == 20
            info = ConditionInfo(
                name=f"{kind}:{strength}", kind=kind, label="lost packets" if kind == "loss" else "white noise",
                place="payload" if kind == "loss" else "sound", axis="strength (%)", strength=strength,
                definition="packets lost in bursts", reference=reference,
            )  # fmt: skip
            worse = changed(result, score=score(value, 0.9 * value, 1.1 * value), failed=2 * lost, complete=not lost)
            rows.append(ConditionResult(replace(worse, rank=None), info))
    return rows


def _error_rate(result: CodecResult, model: ProbeModel, value: float, dataset: str) -> ApplicationRow:
    failed = result.summary.failed
    totals = {"words": 400.0, "reference.substitutions": 12.0, "reference.deletions": 3.0, "reference.insertions": 1.0}
    totals |= {f"resynthesis.{name}": float(round(value)) for name in ("substitutions", "deletions", "insertions")}
    reference, loss = score(4.0, 2.5, 5.75), score(value - 4, value - 5.5, value - 2.5)
    counts = {"n": 12 - failed, "failed": failed, "left_out": 3}
    return application_row(
        result.codec, dataset, "asr_wer_pct", model, result.kbps,
        reference, score(value, value - 2, value + 2), loss, totals=totals, **counts,
    )  # fmt: skip


def _similarity(result: CodecResult, value: float) -> ApplicationRow:
    failed = result.summary.failed
    here, loss = score(value, value - 1, min(100.0, value + 1)), score(100 - value, 99 - value, 101 - value)
    return application_row(
        result.codec, "mini", "sim_pct", RESEMBLYZER, result.kbps, score(100.0, 100.0, 100.0), here, loss,
        n=15 - failed, failed=failed,
    )  # fmt: skip


def make_report(clips: int = 40, categories: Sequence[Category] = CATEGORIES) -> ReportData:
    """Make a whole report."""
    points = {category: make_points(category, clips) for category in categories}
    undefined = [
        ClipFailure(
            name, "librispeech", "speech/clip_003", "pesq", "undefined", "no utterance was found in the reference"
        )
        for name, *_ in _CODECS
    ]
    failed = [
        ClipFailure(
            "amrnb_12k2",
            "mini",
            f"speech/clip_{n:03}",
            "encode",
            "failed",
            "EncodeError: 1 channel was expected, got 10",
        )
        for n in (41, 42)
    ]
    return ReportData(
        title="Codec-SUPERB on mini",
        created="2026-11-21T20:15:00Z",
        results=[row for category in categories for row in make_results(points[category])],
        clips=[point for category in categories for point in points[category]],
        listening=[clip for category in categories for clip in make_listening(category, (0, 5))],
        failures=[*undefined, *failed],
        rates=[rate for category in categories for rate in make_rates(category)],
        conditions=[row for category in categories for row in make_conditions(make_results(points[category]))],
        applications=make_applications(make_results(points["speech"])) if "speech" in points else (),
        provenance=[
            ("Program", "codec-superb 0.1.0, commit 57d4944"),
            ("Python", "3.11.7 on Linux x86_64"),
            ("Packages", "numpy 2.3.0, scipy 1.16.0, av 18.1.0, pesq 0.0.4, pyworld 0.3.5, soxr 1.0.0"),
            ("mini", "SHA-256 " + "0123456789abcdef" * 4),
        ],
        dataset_credits=[
            ("mini", "CC0, BSD and CC BY 4.0", "LibriVox volunteers; recordings of animals by Open Voice OS.")
        ],
    )
