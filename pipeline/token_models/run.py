"""Train token models of several seeds on several amounts of sound, and try them on clips that they never saw."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from codec_superb.applications.errors import MissingLabels, PredictionFailed
from codec_superb.applications.token_models.clips import Divided, TokenClip, divide, part_of, sha256_of_clips
from codec_superb.applications.token_models.configuration import TokenModelConfiguration
from codec_superb.applications.token_models.likelihood import ClipLikelihood, score
from codec_superb.applications.token_models.patterns import Pattern
from codec_superb.applications.token_models.training import TokenTraining, load_trained, train
from codec_superb.applications.tokens.source import TokenSource
from codec_superb.applications.training.loop import OnStep
from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.token_models.figures import TokenModelFigures, figures
from codec_superb.pipeline.workers.devices import chosen_device
from codec_superb.record import Record

SHARES = (0.125, 0.25, 0.5, 1.0)
"""Parts of the training sound, of a learning curve."""
SEEDS = (42, 1, 2)
SCORED = 1
"""Version of what is kept of clips."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call."""

    codec: str
    datasets: tuple[str, ...]
    configuration: TokenModelConfiguration
    pattern: Pattern
    seeds: tuple[int, ...] = SEEDS
    shares: tuple[float, ...] = SHARES
    weights: Path | None = None
    """Of the codec."""
    device: str = "cpu"
    bf16: bool = False


class Reading(Record):
    """One trained model on the clips that were held out."""

    key: str
    """Of the trained model."""
    seed: int
    share: float
    """Of the training sound."""
    training_seconds: float
    training_tokens: int
    steps: int
    figures: TokenModelFigures


class CurvePoint(Record):
    """Models of all seeds on one amount of training sound."""

    share: float
    training_seconds: float
    training_tokens: int
    bits: dict[int, float]
    """Bits a token by seed."""
    kbps: dict[int, float]
    """Ideal bitrate by seed."""

    @property
    def mean(self) -> float:
        """Bits a token, mean over seeds."""
        return float(np.mean(list(self.bits.values())))


class TokenModelResult(Record):
    """All models of one codec."""

    codec: str
    codec_sha256: str
    random: bool
    """Whether the codec has untrained weights: such a result is a test's and never packed."""
    datasets: tuple[str, ...]
    pattern: str
    model: str
    held_out_sha256: str
    """Of the clips that no model saw, with their tokens."""
    held_out_by: str
    """What is held out as a whole: speaker, recording or text, clip."""
    speakers_in_both: int
    """Labelled speakers of held-out clips that models were trained on as well."""
    failed: dict[str, str]
    """Reason by clip that has no tokens."""
    readings: tuple[Reading, ...]

    def curve(self) -> list[CurvePoint]:
        """Return the learning curve, from least to most training sound."""
        found = []
        for share in sorted({of.share for of in self.readings}):
            members = [of for of in self.readings if of.share == share]
            found.append(
                CurvePoint(
                    share=share,
                    training_seconds=float(np.mean([of.training_seconds for of in members])),
                    training_tokens=round(np.mean([of.training_tokens for of in members])),
                    bits={of.seed: of.figures.bits.value or 0.0 for of in members},
                    kbps={of.seed: of.figures.kbps.value or 0.0 for of in members},
                )
            )
        return found


@dataclass(frozen=True, slots=True)
class _Tokens:
    clips: Divided
    sizes: tuple[int, ...]
    digest: str
    random: bool
    failed: Mapping[str, str] = field(default_factory=dict)


def run(asked: Asked, on_step: Callable[[TokenTraining], OnStep], say: Callable[[str], None]) -> TokenModelResult:
    """Train what is not on this machine, score what is held out, and return both with figures.

    Raises ApplicationError for a codec of bytes, MissingLabels where nothing can be held out, DatasetError.
    """
    tokens = _tokens(asked, say)
    readings = []
    for share in sorted(asked.shares):
        for seed in asked.seeds:
            part = part_of(tokens.clips.trained, share, seed)
            training = TokenTraining(
                asked.codec, tokens.digest, tokens.sizes, part, asked.pattern, asked.configuration, seed, tokens.random,
                asked.bf16,
            )  # fmt: skip
            train(training, on_step(training), device=asked.device)
            found = scored(training, tokens.clips.held_out, asked.device)
            readings.append(_reading(training, share, found))
    return TokenModelResult(
        codec=asked.codec, codec_sha256=tokens.digest, random=tokens.random, datasets=asked.datasets,
        pattern=asked.pattern.pattern, model=asked.configuration.model,
        held_out_sha256=sha256_of_clips(tokens.clips.held_out),
        held_out_by=tokens.clips.unit, speakers_in_both=tokens.clips.speakers_in_both,
        failed=dict(tokens.failed), readings=tuple(readings),
    )  # fmt: skip


def scored(training: TokenTraining, clips: Sequence[TokenClip], device: str = "cpu") -> list[ClipLikelihood]:
    """Return what a trained model makes of clips, kept beside it: what was finished before a kill is not lost.

    Raises ApplicationError for a clip that the model may have seen.
    """
    name = hashlib.sha256(f"{SCORED} {sha256_of_clips(clips)}".encode()).hexdigest()[:16]
    file = training.folder / f"scores-{name}.json"
    with suppress(OSError, ValueError, TypeError):  # absent, or damaged: it is computed
        return [ClipLikelihood(**of | {"bits": tuple(of["bits"])}) for of in json.loads(file.read_text())]
    trained = load_trained(training.folder)
    found = [score(trained, clip, device) for clip in clips]
    write_atomically(file, json.dumps([asdict(of) for of in found]).encode())
    return found


def _tokens(asked: Asked, say: Callable[[str], None]) -> _Tokens:
    failed: dict[str, str] = {}
    with TokenSource(asked.codec, asked.weights, chosen_device(asked.codec, "auto")) as source:
        clips = list(_clips(source, asked.datasets, failed))
        sizes, digest, random = source.sizes, source.digest, source.random
    if not clips:
        raise MissingLabels(f"{asked.codec}: no clip of {', '.join(asked.datasets)} has tokens: {_first(failed)}")
    divided = divide(clips)
    minutes = [sum(of.seconds for of in part) / 60 for part in divided]
    say(
        f"{asked.codec}: {len(divided.trained)} clips of {minutes[0]:.1f} minutes to learn from, "
        f"{len(divided.held_out)} of {minutes[1]:.1f} held out"
    )
    return _Tokens(divided, sizes, digest, random, failed)


def _clips(source: TokenSource, datasets: Sequence[str], failed: dict[str, str]) -> Iterator[TokenClip]:
    for name in datasets:
        dataset = open_dataset(name)
        for clip_id, found in source.clips(dataset, sorted(dataset.clip_ids())):
            if isinstance(found, PredictionFailed):
                failed[f"{name}/{clip_id}"] = str(found)
                continue
            clip = dataset.clip(clip_id)
            yield TokenClip(clip_id, dataset.name, clip.cluster, found.tokens, found.seconds, clip.labels.speaker or "")


def _first(failed: Mapping[str, str]) -> str:
    return next((f"{clip}: {reason}" for clip, reason in failed.items()), "there is none")


def _reading(training: TokenTraining, share: float, found: Sequence[ClipLikelihood]) -> Reading:
    return Reading(
        key=training.key, seed=training.seed, share=share,
        training_seconds=sum(of.seconds for of in training.clips),
        training_tokens=training.frames * len(training.sizes), steps=training.steps,
        figures=figures(found, training.sizes),
    )  # fmt: skip
