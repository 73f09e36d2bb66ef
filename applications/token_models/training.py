"""The training of a token model as a job of the common loop, and the models that it left on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from codec_superb.applications.errors import MissingLabels
from codec_superb.applications.token_models.clips import TokenClip, sha256_of_clips
from codec_superb.applications.token_models.configuration import TokenModelConfiguration
from codec_superb.applications.token_models.model import TokenModel, make_model
from codec_superb.applications.token_models.patterns import Integers, Pattern, arrange
from codec_superb.applications.training import loop
from codec_superb.data_manifests.home import codec_superb_home

VERSION = 1
"""Of the procedure; whatever changes weights changes it."""
FINISHED = "token-model.json"


@dataclass(frozen=True)
class TokenTraining:
    """All that decides about a trained token model."""

    codec: str
    """Name, for people."""
    codec_digest: str
    """Identity of the codec: name, weights and settings."""
    sizes: tuple[int, ...]
    """Entries of each codebook."""
    clips: tuple[TokenClip, ...]
    pattern: Pattern
    configuration: TokenModelConfiguration
    seed: int
    random: bool = False
    """Whether the codec has untrained weights."""
    bf16: bool = False
    """Whether it is trained in bfloat16, on a graphics card."""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return the identity in words and hashes."""
        return {
            "version": VERSION, "codec": self.codec, "codec_sha256": self.codec_digest, "sizes": list(self.sizes),
            "random": self.random, "pattern": self.pattern.model_dump(), "seed": self.seed,
            "configuration": self.configuration.model_dump(mode="json"), "clips_sha256": sha256_of_clips(self.clips),
            **({"bf16": True} if self.bf16 else {}),  # the keys of others stay what they were
        }  # fmt: skip

    @cached_property
    def key(self) -> str:
        """Return the identity: 16 hexadecimal digits."""
        # tokens stand for the codec that made them
        said = self.facts | {
            "configuration": self.configuration.sha256,
            "codec": "",
            "codec_sha256": "",
            "random": False,
        }
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Return where states and weights lie."""
        return codec_superb_home() / "token-models" / self.key

    @property
    def frames(self) -> int:
        """Number of training frames."""
        return sum(of.frames for of in self.clips)

    @property
    def context(self) -> int:
        """Return the longest window in frames."""
        return context_of(self.configuration, self.pattern, len(self.sizes))

    @property
    def steps(self) -> int:
        """Return the changes of the weights, fewer where there is little sound."""
        return self.configuration.steps_for(self.frames, self.context)


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A token model, and what training wrote of it."""

    model: TokenModel
    facts: Mapping[str, Any]

    @property
    def configuration(self) -> TokenModelConfiguration:
        """What it was trained by."""
        return TokenModelConfiguration.model_validate(self.facts["configuration"])

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all that it was trained on."""
        return frozenset(self.facts["trained_on"])


def train(training: TokenTraining, on_step: loop.OnStep | None = None, *, device: str = "cpu") -> None:
    """Train a model unless that is done; errors as those of the loop. Raises MissingLabels without a training frame."""
    if not training.frames:
        raise MissingLabels(f"token model of {training.codec}: expected training clips with a frame at least, got none")
    loop.train(_Job(training), on_step, device=device, bf16=training.bf16)


def load_trained(folder: Path) -> TrainedModel:
    """Return a trained model on the CPU. Raises MissingModel where it is damaged or not wholly trained."""
    facts = loop.facts_in(folder, FINISHED, "token model")
    values = loop.weights_in(folder, facts)
    configuration = TokenModelConfiguration.model_validate(facts["configuration"])
    pattern = Pattern.model_validate(facts["pattern"])
    model = make_model(facts["sizes"], pattern, configuration, int(facts["seed"]))
    loop.put(model.values(), values)
    return TrainedModel(model.eval(), facts)


class _Job(loop.Job[TokenModel, Integers]):
    finished, kind = FINISHED, "token model"

    def __init__(self, training: TokenTraining) -> None:
        self._training = training
        self.schedule = training.configuration.model_copy(update={"steps": training.steps})
        self._context = training.context
        self.seed, self.key, self.folder = training.seed, training.key, training.folder
        self.facts = training.facts
        self._ends = np.cumsum([of.frames for of in training.clips])

    def module(self) -> TokenModel:
        """Return the model with its first weights."""
        training = self._training
        return make_model(training.sizes, training.pattern, training.configuration, training.seed)

    def values(self, module: TokenModel) -> dict[str, Tensor]:
        """Return all weights."""
        return module.values()

    def samples(self, module: TokenModel, step: int) -> tuple[Sequence[Integers], int]:  # noqa: ARG002
        """Return windows of clips, drawn by seed and step: each frame of the training is as likely as any other."""
        rng = np.random.default_rng([self.seed, step])
        found, tokens = [], 0
        for frame in rng.integers(0, int(self._ends[-1]), self.schedule.batch):
            number = int(np.searchsorted(self._ends, frame, side="right"))
            clip = self._training.clips[number]
            place = int(frame) - int(self._ends[number]) + clip.frames
            # a window around the frame that lies within the clip
            start = int(np.clip(place - rng.integers(0, self._context), 0, max(0, clip.frames - self._context)))
            window = clip.tokens[:, start : start + self._context]
            found.append(arrange(window, self._training.pattern))
            tokens += window.size
        return found, tokens

    def loss(self, module: TokenModel, samples: Sequence[Integers]) -> Tensor:
        """Return the summed loss of the tokens of windows."""
        found: Tensor = module(samples)
        return found

    def said(self, module: TokenModel) -> dict[str, Any]:  # noqa: ARG002 -- all of it is known before
        """Return what it was trained on, by which scoring refuses clips."""
        clips = self._training.clips
        return {
            "trained_on": sorted({name for of in clips for name in of.names}),
            "training": {
                "clips": len(clips), "seconds": sum(of.seconds for of in clips), "frames": self._training.frames,
                "tokens": self._training.frames * len(self._training.sizes),
                "met": self.schedule.steps * self.schedule.batch * self._context,
            },
        }  # fmt: skip


def context_of(configuration: TokenModelConfiguration, pattern: Pattern, codebooks: int) -> int:
    """Return the longest window in frames."""
    return max(2, configuration.context // pattern.stride(codebooks))
