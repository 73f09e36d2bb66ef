"""Training sounds of a track with prompt and right answer, and the order in which a seed takes them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from codec_superb.applications.clips import item_of, reference_at
from codec_superb.applications.embed.frames_store import Load, sound_key
from codec_superb.applications.errors import MissingLabels, UnknownApplication
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.task_definitions.messages import Message
from codec_superb.applications.understanding.registry import own_registry
from codec_superb.applications.understanding.scoring import case_of, is_tried
from codec_superb.applications.understanding.templates import render
from codec_superb.applications.xares.configuration import Track
from codec_superb.data_manifests import open_dataset

FAMILY = "xares"
"""Of chats, whose prompts a task may have."""
BLOCK = 128
"""Sounds that are ordered by length before they are divided into batches, so that little is padded."""


@dataclass(frozen=True, slots=True)
class Example:
    """One sound with one right answer."""

    task: str
    key: str
    """Names the sound, for kept frames."""
    prompt: str
    target: str
    length: int
    """By which batches are put together: letters of prompt and target, where the length of the sound is not known."""
    load: Load


def definition_of(task: str) -> TaskDefinition:
    """Return an understanding task that is shipped. Raises UnknownApplication."""
    registry = own_registry()
    if task not in registry.tasks:
        raise UnknownApplication(task, registry.tasks, "task")
    return registry.definition(task)


def asked(messages: Sequence[Message]) -> str:
    """Return the text of a rendered prompt: what stands behind the frames."""
    return "\n".join(part.text for message in messages for part in message.parts if part.kind == "text")


def examples_of(track: Track) -> dict[str, list[Example]]:
    """Return the training sounds of each task, sorted by dataset and clip; those without a right answer are left out.

    Raises DatasetError for a dataset that is not on this machine, MissingLabels for a task without any sound.
    """
    if without := [name for name, of in track.tasks.items() if not of.train]:
        raise MissingLabels(
            f"track {track.track}: {without[0]} is trained on publishers' shards: name their folder with --data DIR, "
            "or a decoder that was trained there with trained=KEY"
        )
    found = {name: list(_examples(definition_of(name), of.train)) for name, of in track.tasks.items()}
    for name, examples in found.items():
        if not examples:
            label = definition_of(name).task.label
            raise MissingLabels(
                f"{name}: expected clips with the label {label} in {', '.join(track.tasks[name].train)}, got none"
            )
    return found


def tasks_tried(track: Track) -> dict[str, TaskDefinition]:
    """Return the tasks by which decoders of a track are tried."""
    return {name: definition_of(name) for name in (*track.tasks, *track.also)}


def _examples(definition: TaskDefinition, datasets: Sequence[str]) -> Iterator[Example]:
    prompt = definition.prompt(FAMILY)
    for name in datasets:
        dataset = open_dataset(name)
        for clip_id in sorted(dataset.clip_ids()):
            clip = dataset.clip(clip_id)
            item = item_of(clip)
            case = case_of(definition.task, item) if item.category in definition.task.categories else None
            # a task without a part of its own has a training dataset that is none of its test datasets
            if case is None or (definition.task.only and is_tried(definition.task, item)):
                continue
            text = asked(render(prompt, item))
            load = functools.partial(reference_at, clip)
            yield Example(
                definition.task.task, sound_key(dataset.manifest_hash, clip_id), text, case.truth[0],
                len(text) + len(case.truth[0]), load,
            )  # fmt: skip


def data_sha256(examples: Mapping[str, Sequence[Example]], weights: Mapping[str, float]) -> str:
    """Return the identity of what a decoder is trained on: every sound with prompt and target, and tasks' weights."""
    digest = hashlib.sha256()
    for task in sorted(examples):
        digest.update(f"{task}\t{weights[task]!r}\n".encode())
        for of in examples[task]:
            digest.update(f"{of.key}\t{of.prompt}\t{of.target}\n".encode())
    return digest.hexdigest()


class Mixture:
    """The order of training: a pure function of sounds, weights and seed, so that a killed run goes on in it.

    A task is drawn with its share; its sounds come without repetition until all have come, in an order drawn for each
    round. Blocks of 128 are sorted by length and divided into batches, whose order is drawn.
    """

    def __init__(
        self, examples: Mapping[str, Sequence[Example]], weights: Mapping[str, float], batch: int, seed: int
    ) -> None:
        self._tasks = sorted(examples)
        self._examples = examples
        total = sum(weights[task] for task in self._tasks)
        self._shares = [weights[task] / total for task in self._tasks]
        self._batch, self._seed = batch, seed
        self._blocks: dict[int, list[list[Example]]] = {}
        self._taken = dict.fromkeys(self._tasks, 0)
        self._orders: dict[str, tuple[int, np.ndarray]] = {}

    def batch(self, step: int) -> list[Example]:
        """Return the sounds of a step, which begins at 0."""
        of_block = max(1, BLOCK // self._batch)
        block = step // of_block
        while len(self._blocks) <= block:
            self._blocks[len(self._blocks)] = self._next_block(len(self._blocks), of_block)
        return self._blocks[block][step % of_block]

    def _next_block(self, number: int, batches: int) -> list[list[Example]]:
        rng = np.random.default_rng([self._seed, number])
        tasks = rng.choice(len(self._tasks), size=batches * self._batch, p=self._shares)
        drawn = [self._next(self._tasks[at]) for at in tasks]
        drawn.sort(key=lambda of: of.length)  # stable: equal lengths keep the order in which they were drawn
        found = [drawn[at : at + self._batch] for at in range(0, len(drawn), self._batch)]
        return [found[at] for at in rng.permutation(len(found))]

    def _next(self, task: str) -> Example:
        number = self._taken[task]
        self._taken[task] += 1
        examples = self._examples[task]
        rounds, place = divmod(number, len(examples))
        if self._orders.get(task, (-1,))[0] != rounds:
            rng = np.random.default_rng([self._seed, rounds, *task.encode()])
            self._orders[task] = (rounds, rng.permutation(len(examples)))
        found: Example = examples[self._orders[task][1][place]]
        return found


def labels_shuffled(examples: Mapping[str, Sequence[Example]], seed: int) -> dict[str, list[Example]]:
    """Return the sounds with the targets of others of their task: a control that no decoder may learn from."""
    found = {}
    for task, of in examples.items():
        order = np.random.default_rng([seed, *task.encode()]).permutation(len(of))
        found[task] = [replace(each, target=of[at].target) for each, at in zip(of, order, strict=True)]
    return found
