"""The loop of a training, with states on disk: a killed one goes on to the same weights.

What a step takes, its learning rate and its draws of dropout follow from the seed and the number of the step alone.
What is not wholly trained has no file of facts and is never taken for finished.
"""

from __future__ import annotations

import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.training.schedule import Schedule
from codec_superb.data_manifests.files import file_sha256, locked, replacing, write_atomically

S = TypeVar("S")
M = TypeVar("M", bound=nn.Module)
WEIGHTS, STATE, LOSSES = "weights.safetensors", "state.pt", "losses.csv"
OnStep = Callable[[int, float], None]
"""Told of each finished step: how many there are, and the mean loss of a token in nats."""


class Job(ABC, Generic[M, S]):
    """One training: its identity, the module, what a step takes, and its loss."""

    finished: ClassVar[str]
    """File of facts in its folder, written last."""
    kind: ClassVar[str]
    """What it trains, in messages."""
    schedule: Schedule
    seed: int
    key: str
    """Identity, in the state."""
    folder: Path
    facts: Mapping[str, Any]
    """Identity in words and hashes."""

    @abstractmethod
    def module(self) -> M:
        """Return the module before its training, on the CPU."""

    @abstractmethod
    def values(self, module: M) -> dict[str, Tensor]:
        """Return what training changes, by name; tensors are those in use."""

    @abstractmethod
    def samples(self, module: M, step: int) -> tuple[Sequence[S], int]:
        """Return what a step takes, and the tokens in it that count."""

    @abstractmethod
    def loss(self, module: M, samples: Sequence[S]) -> Tensor:
        """Return the loss in nats, summed over the tokens of samples; ``module`` is called once."""

    @abstractmethod
    def said(self, module: M) -> dict[str, Any]:
        """Return what the file of facts says beside the identity."""

    @property
    def is_done(self) -> bool:
        """Whether it is wholly trained, on this machine."""
        return (self.folder / self.finished).is_file()


def train(job: Job[M, S], on_step: OnStep | None = None, *, device: str = "cpu", bf16: bool = False) -> None:
    """Train unless that is done. Only one process of this machine trains it at a time.

    Raises ApplicationError where the loss is no number, or the state of a killed training cannot be read.
    """
    job.folder.mkdir(parents=True, exist_ok=True)
    # torchrun and accelerate set it in each of their processes, which would wait for one another
    lock = nullcontext() if "LOCAL_RANK" in os.environ else locked(job.folder / ".lock")
    with lock:
        if not job.is_done:
            _train(job, on_step or (lambda _step, _loss: None), device, bf16)


def facts_in(folder: Path, finished: str, what: str) -> dict[str, Any]:
    """Return what training wrote. Raises MissingModel where nothing is finished there."""
    try:
        found: dict[str, Any] = json.loads((folder / finished).read_text())
    except (OSError, ValueError) as error:
        raise MissingModel(f"expected a trained {what} in {folder}, got none that is finished; train it") from error
    return found


def weights_in(folder: Path, facts: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the trained weights. Raises MissingModel where they are not those that training wrote."""
    from safetensors.torch import load_file

    file = folder / WEIGHTS
    if not file.is_file() or file_sha256(file) != facts["weights_sha256"]:
        raise MissingModel(f"{file} is not what training wrote; remove {folder} and train again")
    return load_file(file)


def put(own: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Put trained weights into their places. Raises ValueError for others."""
    if own.keys() != values.keys():
        raise ValueError("its weights have other names")
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(value)


def _train(job: Job[M, S], on_step: OnStep, device: str, bf16: bool) -> None:
    schedule = job.schedule
    accelerator = _accelerator(device, bf16)
    own = job.module()
    learnt = [value for value in own.parameters() if value.requires_grad]
    optimiser: Any = torch.optim.AdamW(
        learnt, lr=schedule.rate, betas=schedule.betas, eps=schedule.epsilon, weight_decay=schedule.weight_decay
    )
    own.to(accelerator.device)
    done, losses = _resume(job, own, optimiser)
    module, optimiser = accelerator.prepare(own, optimiser)
    module.train()
    # warn_only: some operators have no deterministic form on CUDA, and would raise
    torch.use_deterministic_algorithms(True, warn_only=True)
    for step in range(done, schedule.steps):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate_at(step)
        # dropout draws from here: the same whether or not the run was interrupted
        torch.manual_seed(_draw(job.seed, step))
        losses.append(_step(job, own, module, optimiser, accelerator, step))
        if accelerator.is_main_process:
            if (step + 1) % schedule.checkpoint_every == 0 and step + 1 < schedule.steps:
                _save_state(job, own, optimiser, step + 1, losses)
            on_step(step + 1, losses[-1])
    if accelerator.is_main_process:
        _finish(job, own, losses)


def _accelerator(device: str, bf16: bool) -> Any:
    import accelerate

    # the precision of the first training of a process would be that of all: accelerate 1.15 refuses another
    accelerate.state.AcceleratorState._reset_state()  # noqa: SLF001
    return accelerate.Accelerator(cpu=device == "cpu", mixed_precision="bf16" if bf16 else "no")


def _step(job: Job[M, S], own: M, module: Any, optimiser: Any, accelerator: Any, step: int) -> float:
    """Change the weights once; return the mean loss of a token in nats.

    The loss is summed and divided by the tokens of the whole batch, so that it is the same however the batch is
    divided among parts and processes.
    """
    samples, tokens = job.samples(own, step)
    # at each step: an encoder that is loaded for one frame that is not kept sets its own number for the whole process
    torch.set_num_threads(job.schedule.threads or os.cpu_count() or 1)
    if not samples:
        return float("nan")
    mine = samples[accelerator.process_index :: accelerator.num_processes] or samples[:1]
    weight = accelerator.num_processes / tokens if len(samples) > accelerator.process_index else 0.0
    size = -(-len(mine) // job.schedule.accumulate)
    total = 0.0
    for at in range(0, len(mine), size):
        with nullcontext() if at + size >= len(mine) else accelerator.no_sync(module):
            loss = job.loss(module, mine[at : at + size])
            accelerator.backward(loss * weight)
        total += float(loss.detach()) * weight
    mean = float(accelerator.reduce(torch.tensor(total, device=accelerator.device), "mean"))
    if not np.isfinite(mean):
        raise ApplicationError(
            "training: expected a finite loss, got NaN or infinity; look at what it is trained on, or train in float32"
        )
    accelerator.clip_grad_norm_(module.parameters(), job.schedule.largest_gradient)
    optimiser.step()
    optimiser.zero_grad()
    return mean


def _draw(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _resume(job: Job[M, S], own: M, optimiser: torch.optim.Optimizer) -> tuple[int, list[float]]:
    """Take over the state of an interrupted run; return its steps and losses."""
    file = job.folder / STATE
    if not file.is_file():
        return 0, []
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
        put(job.values(own), state["weights"])
        optimiser.load_state_dict(state["optimiser"])
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        why = str(error).splitlines()[0]
        raise ApplicationError(f"{file} cannot be read ({why}); remove it to train from the start") from error
    return int(state["step"]), list(state["losses"])


def _save_state(job: Job[M, S], own: M, optimiser: Any, step: int, losses: Sequence[float]) -> None:
    state = {
        "key": job.key, "step": step, "losses": list(losses), "weights": _plain(job.values(own)),
        "optimiser": optimiser.state_dict(),
    }  # fmt: skip
    with replacing(job.folder / STATE) as temporary:
        torch.save(state, temporary)


def _finish(job: Job[M, S], own: M, losses: Sequence[float]) -> None:
    from safetensors.torch import save_file

    folder = job.folder
    with replacing(folder / WEIGHTS) as temporary:
        save_file(_plain(job.values(own)), temporary)
    curve = io.StringIO("step,loss\n")
    curve.seek(0, io.SEEK_END)
    curve.writelines(f"{step},{loss:.6f}\n" for step, loss in enumerate(losses, 1))
    write_atomically(folder / LOSSES, curve.getvalue().encode())
    said = {
        **job.facts, "weights_sha256": file_sha256(folder / WEIGHTS), "steps": len(losses),
        "loss": float(np.mean(losses[-20:])), **job.said(own),
        "learnt": sum(value.numel() for value in own.parameters() if value.requires_grad),
        "frozen": sum(value.numel() for value in own.parameters() if not value.requires_grad),
    }  # fmt: skip
    # last: a folder without it is not taken for finished
    write_atomically(folder / job.finished, json.dumps(said, indent=1, sort_keys=True).encode())
    (folder / STATE).unlink(missing_ok=True)


def _plain(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous().clone() for name, value in values.items()}
