"""Trains a decoder on frames of a frozen encoder, with states on disk: a killed run goes on to the same weights.

What a step takes, its learning rate and the draws of dropout follow from the seed and the number of the step alone.
A decoder that is not wholly trained has no ``decoder.json`` and is never taken for one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.xares.configuration import DecoderConfiguration, Track, check_seed
from codec_superb.applications.xares.decoder import Question, SoundDecoder
from codec_superb.applications.xares.examples import Example, Mixture, data_sha256, definition_of
from codec_superb.applications.xares.frames_store import FramesStore, home_of
from codec_superb.applications.xares.language_model import LanguageModel, find_language_model, make_decoder
from codec_superb.data_manifests.files import file_sha256, locked, replacing, write_atomically

VERSION = 1
"""Of the procedure; whatever changes weights changes it."""
WEIGHTS, FINISHED, STATE, LOSSES = "weights.safetensors", "decoder.json", "state.pt", "losses.csv"
SCALED_ON = 256
"""Sounds of a task whose frames decide mean and deviation."""
OnStep = Callable[[int, float], None]
"""Told of each finished step: how many there are, and the mean loss of a token in nats."""


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
    from safetensors.torch import load_file

    said = facts_of(folder)
    if file_sha256(folder / WEIGHTS) != said["weights_sha256"]:
        raise MissingModel(f"{folder / WEIGHTS} is not what training wrote; remove {folder} and train again")
    configuration = DecoderConfiguration.model_validate(said["configuration"])
    language = find_language_model(configuration, weights)
    if language.sha256 != said["language_model_sha256"]:
        raise MissingModel(f"{folder}: it was trained with another language model than is here now; name its --weights")
    values = load_file(folder / WEIGHTS)
    decoder = make_decoder(language, configuration, len(values["mean"]), int(said["seed"]))
    _take(decoder, values)
    return decoder.eval()


def facts_of(folder: Path) -> dict[str, Any]:
    """Return what training wrote of a decoder. Raises MissingModel where none is finished there."""
    try:
        found: dict[str, Any] = json.loads((folder / FINISHED).read_text())
    except (OSError, ValueError) as error:
        raise MissingModel(f"expected a trained decoder in {folder}, got none that is finished; train it") from error
    return found


def train(
    training: Training, frames: FramesStore, on_step: OnStep | None = None, *, device: str = "cpu", bf16: bool = False
) -> None:
    """Train the decoder unless that is done. Only one process of this machine trains it at a time.

    Raises ApplicationError where fewer than half of the training sounds have frames, or the loss is no number.
    """
    training.folder.mkdir(parents=True, exist_ok=True)
    lock = nullcontext() if "LOCAL_RANK" in os.environ else locked(training.folder / ".lock")
    with lock:
        if not is_trained(training):
            _train(training, frames, on_step or (lambda _step, _loss: None), device, bf16)


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


def _train(training: Training, frames: FramesStore, on_step: OnStep, device: str, bf16: bool) -> None:
    configuration, sounds = training.configuration, _Sounds(training, frames)
    accelerator = _accelerator(device, bf16)
    scaled = [
        found for of in training.examples.values() for each in of[:SCALED_ON] if (found := sounds.of(each)) is not None
    ]
    if not scaled:
        raise ApplicationError(_too_few(sounds, training))
    decoder = make_decoder(training.language, configuration, scaled[0].shape[-1], training.seed)
    decoder.set_scale(scaled)
    learnt = [value for value in decoder.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(
        learnt, lr=configuration.rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=configuration.weight_decay
    )
    decoder.to(accelerator.device)
    mixture = Mixture(training.examples, training.weights, configuration.batch, training.seed)
    done, losses = _resume(training, decoder, optimiser)
    module, optimiser = accelerator.prepare(decoder, optimiser)
    module.train()
    torch.use_deterministic_algorithms(True, warn_only=True)
    for step in range(done, configuration.steps):
        for group in optimiser.param_groups:
            group["lr"] = _rate(configuration, step)
        # dropout draws from here: the same whether or not the run was interrupted
        torch.manual_seed(_draw(training.seed, step))
        losses.append(_step(module, optimiser, accelerator, sounds, mixture.batch(step), configuration))
        if len(sounds.failed) * 2 > sum(map(len, training.examples.values())):
            raise ApplicationError(_too_few(sounds, training))
        if accelerator.is_main_process:
            if (step + 1) % configuration.checkpoint_every == 0 and step + 1 < configuration.steps:
                _save_state(training, decoder, optimiser, step + 1, losses)
            on_step(step + 1, losses[-1])
    if accelerator.is_main_process:
        _finish(training, decoder, losses, sounds)


def _accelerator(device: str, bf16: bool) -> Any:
    from accelerate import Accelerator

    return Accelerator(cpu=device == "cpu", mixed_precision="bf16" if bf16 else "no")


def _step(
    module: Any, optimiser: Any, accelerator: Any, sounds: _Sounds, batch: Sequence[Example],
    configuration: DecoderConfiguration,
) -> float:  # fmt: skip
    """Change the weights once; return the mean loss of a token in nats.

    The loss is summed and divided by the tokens of the whole batch, so that it is the same however the batch is
    divided among parts and processes.
    """
    there = [(example, found) for example in batch if (found := sounds.of(example)) is not None]
    if not there:
        return float("nan")
    tokenizer = accelerator.unwrap_model(module).tokenizer
    tokens = sum(len(tokenizer.encode(example.target)) + 1 for example, _ in there)
    mine = there[accelerator.process_index :: accelerator.num_processes] or there[:1]
    weight = accelerator.num_processes / tokens if len(there) > accelerator.process_index else 0.0
    size = -(-len(mine) // configuration.accumulate)
    total = 0.0
    for at in range(0, len(mine), size):
        part = mine[at : at + size]
        last = at + size >= len(mine)
        with nullcontext() if last else accelerator.no_sync(module):
            loss = module([Question(found, of.prompt) for of, found in part], [of.target for of, _ in part])
            accelerator.backward(loss * weight)
        total += float(loss.detach()) * weight
    mean = float(accelerator.reduce(torch.tensor(total, device=accelerator.device), "mean"))
    if not np.isfinite(mean):
        raise ApplicationError(
            "training: expected a finite loss, got NaN or infinity; look at the encoder's frames, or train in float32"
        )
    accelerator.clip_grad_norm_(module.parameters(), configuration.largest_gradient)
    optimiser.step()
    optimiser.zero_grad()
    return mean


def _rate(configuration: DecoderConfiguration, step: int) -> float:
    """Return the learning rate of a step: up in a line, then down to 0 in a line."""
    if step < configuration.warmup:
        return configuration.rate * (step + 1) / configuration.warmup
    left = configuration.steps - step
    return configuration.rate * left / max(1, configuration.steps - configuration.warmup)


def _draw(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _too_few(sounds: _Sounds, training: Training) -> str:
    total = sum(map(len, training.examples.values()))
    key, reason = next(iter(sounds.failed.items()))
    return (
        f"training on track {training.track.track}: {len(sounds.failed)} of {total} sounds have no frames; the first, "
        f"{key.rpartition(' ')[2]}: {reason}"
    )


def _resume(training: Training, decoder: SoundDecoder, optimiser: torch.optim.Optimizer) -> tuple[int, list[float]]:
    """Take over the state of an interrupted run; return its steps and losses."""
    file = training.folder / STATE
    if not file.is_file():
        return 0, []
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
        _take(decoder, state["weights"])
        optimiser.load_state_dict(state["optimiser"])
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        why = str(error).splitlines()[0]
        raise ApplicationError(f"{file} cannot be read ({why}); remove it to train from the start") from error
    return int(state["step"]), list(state["losses"])


def _save_state(training: Training, decoder: SoundDecoder, optimiser: Any, step: int, losses: Sequence[float]) -> None:
    state = {
        "key": training.key, "step": step, "losses": list(losses), "weights": _plain(decoder),
        "optimiser": optimiser.state_dict(),
    }  # fmt: skip
    with replacing(training.folder / STATE) as temporary:
        torch.save(state, temporary)


def _finish(training: Training, decoder: SoundDecoder, losses: Sequence[float], sounds: _Sounds) -> None:
    from safetensors.torch import save_file

    folder = training.folder
    with replacing(folder / WEIGHTS) as temporary:
        save_file(_plain(decoder), temporary)
    curve = io.StringIO("step,loss\n")
    curve.seek(0, io.SEEK_END)
    curve.writelines(f"{step},{loss:.6f}\n" for step, loss in enumerate(losses, 1))
    write_atomically(folder / LOSSES, curve.getvalue().encode())
    said = {
        **training.facts, "weights_sha256": file_sha256(folder / WEIGHTS), "steps": len(losses),
        "loss": float(np.mean(losses[-20:])), "tasks": training.prompts,
        "sounds": sum(map(len, training.examples.values())),
        "random": training.language.random,
        "without_frames": dict(sorted(sounds.failed.items())),
        "learnt": sum(value.numel() for value in decoder.parameters() if value.requires_grad),
        "frozen": sum(value.numel() for value in decoder.parameters() if not value.requires_grad),
    }  # fmt: skip
    # last: a folder without it is not taken for a decoder
    write_atomically(folder / FINISHED, json.dumps(said, indent=1, sort_keys=True).encode())
    (folder / STATE).unlink(missing_ok=True)


def _plain(decoder: SoundDecoder) -> dict[str, torch.Tensor]:
    return {name: value.detach().cpu().contiguous().clone() for name, value in decoder.trained().items()}


def _take(decoder: SoundDecoder, values: Mapping[str, torch.Tensor]) -> None:
    """Put trained weights into their places. Raises ValueError for others."""
    own = decoder.trained()
    if own.keys() != values.keys():
        raise ValueError("its weights have other names")
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(value)
