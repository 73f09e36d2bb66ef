"""Tries a task on one clip without a model: what a chat would be asked, and what becomes of an answer, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codec_superb.applications.interface import Item
from codec_superb.applications.probe import SIDES
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.task_definitions.messages import Message
from codec_superb.applications.understanding.cases import Result, Verdict
from codec_superb.applications.understanding.measures.table import MEASURES, made
from codec_superb.applications.understanding.processes.table import processed
from codec_superb.applications.understanding.scoring import Numbers, case_of, numbers
from codec_superb.applications.understanding.templates import render


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    messages: tuple[Message, ...]
    """As a chat gets them."""
    truth: tuple[str, ...]
    """Right answers; empty where the clip has no label, or none of the task's classes, and is left out."""
    options: tuple[str, ...]
    steps: tuple[tuple[str, str], ...] = ()
    """Name of each post-processor, and the answer after it."""
    result: Result = None
    """What the measure says; None without an answer, and where a judge decides, who is not asked here."""
    kept: Numbers = field(default_factory=dict)
    """Numbers that would be kept of the clip with this answer on both sides."""

    @property
    def verdict(self) -> str:
        """Say in a word or two what the measure says; '' where it says numbers."""
        if not isinstance(self.result, Verdict):
            return ""
        read = "unreadable" if self.result.read is None else f"read as {self.result.read!r}"
        return f"{'right' if self.result.correct else 'wrong'}, {read}"


def try_task(definition: TaskDefinition, item: Item, *, family: str = "default", answer: str | None = None) -> Trial:
    """Render the prompt of a family of chats for a clip, and score an answer where one is given.

    Raises PredictionFailed where the prompt has no value for the clip, MissingPackage for a measure that needs one.
    """
    task = definition.task
    case = case_of(task, item)
    messages = render(definition.prompt(family), item)
    if case is None:
        return Trial(messages, (), task.classes or item.choices)
    if answer is None:
        return Trial(messages, case.truth, case.options)
    steps = []
    for number, step in enumerate(task.after, 1):
        steps.append((step.name, processed(answer, task.after[:number])))
    row = MEASURES[task.measure.name]
    if row.judged:
        return Trial(messages, case.truth, case.options, tuple(steps))
    final = processed(answer, task.after)
    result = made(task.measure, [case], {case.clip: final})(final, case)
    return Trial(
        messages, case.truth, case.options, tuple(steps), result, _flat(*numbers(row.kind, (result, result), case))
    )


def _flat(shared: Numbers, *sides: Mapping[str, float]) -> Numbers:
    assert len(sides) == len(SIDES)
    return {**shared, **sides[-1]}
