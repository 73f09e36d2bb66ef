"""Trains a decoder on frames of a frozen encoder, by the loop of ``applications/training/``.

A decoder that is not wholly trained has no ``decoder.json`` and is never taken for one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from codec_superb.applications.embed.frames_store import FramesStore, home_of
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.training import loop
from codec_superb.applications.training.loop import STATE, WEIGHTS, OnStep
from codec_superb.applications.xares.configuration import DecoderConfiguration, Track, check_seed
from codec_superb.applications.xares.decoder import Question, SoundDecoder
from codec_superb.applications.xares.examples import Example, Mixture, data_sha256, definition_of
from codec_superb.applications.xares.language_model import LanguageModel, find_language_model, make_decoder

__all__ = ["FINISHED", "STATE", "WEIGHTS", "OnStep", "Training", "facts_of", "is_trained", "load_trained", "train"]
VERSION = 1
"""Of the procedure; whatever changes weights changes it."""
FINISHED = "decoder.json"
SCALED_ON = 256
"""Sounds of a task whose frames decide mean and deviation."""


@dataclass(frozen=True, slots=True)
class Training:
    """All that decides about a trained decoder."""

    track: Track
    configuration: DecoderConfiguration
    language: LanguageModel
    examples: Mapping[str, Sequence[Example]]
    seed: int
    encoder: str
    """Digest of the encoder."""
    mode: str = "references"
    """What it is trained on: ``references``, ``matched CODEC`` or ``shuffled labels``."""
    bf16: bool = False
    """Whether it is trained in bfloat16, on a graphics card."""

    def __post_init__(self) -> None:
        """Refuse a seed that a record of the result cannot carry. Raises ApplicationError."""
        check_seed(self.seed)

    @property
    def weights(self) -> dict[str, float]:
        """Share of each task."""
        return {name: of.weight for name, of in self.track.tasks.items()}

    @property
    def prompts(self) -> dict[str, dict[str, Any]]:
        """Return of each task what is asked behind the frames, and its classes: its own, or the labels trained on."""
        return {name: {"prompt": of[0].prompt, "classes": self._classes(name)} for name, of in self.examples.items()}

    def _classes(self, name: str) -> list[str]:
        task = definition_of(name).task
        if task.classes or task.measure.name != "xares-accuracy":
            return list(task.classes)
        return sorted({of.target for of in self.examples[name]})

    @property
    def facts(self) -> dict[str, Any]:
        """Return the identity in words and hashes."""
        return {
            "version": VERSION, "track": self.track.track, "decoder": self.configuration.decoder, "seed": self.seed,
            "mode": self.mode,
            "encoder_sha256": self.encoder, "language_model": self.language.name,
            "language_model_sha256": self.language.sha256, "configuration": self.configuration.model_dump(mode="json"),
            "data_sha256": data_sha256(self.examples, self.weights),
            **({"bf16": True} if self.bf16 else {}),  # the keys of others stay what they were
        }  # fmt: skip

    @property
    def key(self) -> str:
        """Return the identity: 16 hexadecimal digits."""
        said = self.facts | {"configuration": self.configuration.sha256}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Return where its states and weights lie."""
        return home_of("decoders") / self.key


def is_trained(training: Training) -> bool:
    """Whether the decoder is on this machine, wholly trained."""
    return (training.folder / FINISHED).is_file()


def load_trained(folder: Path, weights: Path | None = None) -> SoundDecoder:
    """Return a trained decoder on the CPU; ``weights`` is the folder of its language model, where it was given by one.

    Raises MissingModel where it is damaged, not wholly trained, or of another configuration or language model.
    """
    said = facts_of(folder)
    values = loop.weights_in(folder, said)
    configuration = DecoderConfiguration.model_validate(said["configuration"])
    language = find_language_model(configuration, weights)
    if language.sha256 != said["language_model_sha256"]:
        raise MissingModel(f"{folder}: it was trained with another language model than is here now; name its --weights")
    decoder = make_decoder(language, configuration, len(values["mean"]), int(said["seed"]))
    loop.put(decoder.trained(), values)
    return decoder.eval()


def facts_of(folder: Path) -> dict[str, Any]:
    """Return what training wrote of a decoder. Raises MissingModel where none is finished there."""
    return loop.facts_in(folder, FINISHED, "decoder")


def train(training: Training, frames: FramesStore, on_step: OnStep | None = None, *, device: str = "cpu") -> None:
    """Train the decoder unless that is done; errors as those of the loop.

    Raises ApplicationError where fewer than half of the training sounds have frames.
    """
    loop.train(_Job(training, frames), on_step, device=device, bf16=training.bf16)


class _Sounds:
    """Frames of training sounds; those without any are counted and left out of their batches."""

    def __init__(self, training: Training, frames: FramesStore) -> None:
        self._frames, self._configuration = frames, training.configuration
        self.failed: dict[str, str] = {}
        """Reason by key."""

    def of(self, example: Example) -> NDArray[np.float32] | None:
        """Return the frames of a sound, cut to the longest one; None where it has none."""
        try:
            found = self._frames.of(example.key, example.load)
        except PredictionFailed as error:
            self.failed[example.key] = str(error)
            return None
        longest = self._longest()
        if len(found) <= longest:
            return found
        start = int.from_bytes(hashlib.sha256(example.key.encode()).digest()[:4]) % (len(found) - longest + 1)
        return found[start : start + longest]

    def _longest(self) -> int:
        hop = float(self._frames.model.settings.get("hop_s", 0) or 0)
        return max(1, int(self._configuration.longest_s / hop)) if hop else 1 << 30


class _Job(loop.Job[SoundDecoder, tuple[Example, NDArray[np.float32]]]):
    """The training of a decoder as the loop takes it."""

    finished, kind = FINISHED, "decoder"

    def __init__(self, training: Training, frames: FramesStore) -> None:
        self._training, self._sounds = training, _Sounds(training, frames)
        self.schedule, self.seed = training.configuration, training.seed
        self.key, self.folder, self.facts = training.key, training.folder, training.facts
        self._mixture = Mixture(training.examples, training.weights, self.schedule.batch, self.seed)

    def module(self) -> SoundDecoder:
        """Return the decoder, with the scale of its frames."""
        training = self._training
        scaled = [
            found
            for of in training.examples.values()
            for each in of[:SCALED_ON]
            if (found := self._sounds.of(each)) is not None
        ]
        if not scaled:
            raise ApplicationError(_too_few(self._sounds, training))
        decoder = make_decoder(training.language, training.configuration, scaled[0].shape[-1], training.seed)
        decoder.set_scale(scaled)
        return decoder

    def values(self, module: SoundDecoder) -> dict[str, Tensor]:
        """Return its trained weights and the scale."""
        return module.trained()

    def samples(self, module: SoundDecoder, step: int) -> tuple[Sequence[tuple[Example, NDArray[np.float32]]], int]:
        """Return the sounds of a step that have frames."""
        batch = self._mixture.batch(step)
        there = [(example, found) for example in batch if (found := self._sounds.of(example)) is not None]
        if len(self._sounds.failed) * 2 > sum(map(len, self._training.examples.values())):
            raise ApplicationError(_too_few(self._sounds, self._training))
        return there, sum(len(module.tokenizer.encode(example.target)) + 1 for example, _ in there)

    def loss(self, module: SoundDecoder, samples: Sequence[tuple[Example, NDArray[np.float32]]]) -> Tensor:
        """Return the summed loss of targets and ends."""
        found: Tensor = module([Question(found, of.prompt) for of, found in samples], [of.target for of, _ in samples])
        return found

    def said(self, module: SoundDecoder) -> dict[str, Any]:  # noqa: ARG002 -- all of it is known before
        """Return tasks, sounds, and those that have no frames."""
        training = self._training
        return {
            "tasks": training.prompts, "sounds": sum(map(len, training.examples.values())),
            "random": training.language.random, "without_frames": dict(sorted(self._sounds.failed.items())),
        }  # fmt: skip


def _too_few(sounds: _Sounds, training: Training) -> str:
    total = sum(map(len, training.examples.values()))
    key, reason = next(iter(sounds.failed.items()))
    return (
        f"training on track {training.track.track}: {len(sounds.failed)} of {total} sounds have no frames; the first, "
        f"{key.rpartition(' ')[2]}: {reason}"
    )
