"""The definition of a task as its YAML file has it, and complete with the prompts that it names."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from codec_superb.applications.task_definitions.messages import Message, Part, Prompt, Role
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.record import WHOLE, Record

DEFAULT = "default"
"""Family whose prompt serves chats without one of their own."""
GROUPS = (
    "asr", "translation", "gender", "speech_qa", "emotion", "instrument", "genre", "chord", "sound", "caption",
    "tts", "voice_cloning", "spoken_answer", "language", "xares", "other",
)  # fmt: skip
"""What ``--application understanding.GROUP`` takes: published categories, language, ``xares`` alone, the rest."""
Group = Literal[
    "asr", "translation", "gender", "speech_qa", "emotion", "instrument", "genre", "chord", "sound", "caption",
    "tts", "voice_cloning", "spoken_answer", "language", "xares", "other",
]  # fmt: skip
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
Text = Annotated[str, Field(min_length=1, max_length=65_536)]
Argument = (
    str | int | float | bool
    | Annotated[tuple[str, ...], BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given)]
)  # fmt: skip
"""A list is a tuple in strict JSON too: :func:`_use` has made Python of it by then, where pydantic tells them apart."""


def _use(written: Any) -> Any:
    """Take ``NAME``, ``{NAME: {argument: value}}`` and ``{name: NAME, argument: value}`` for the same."""
    if isinstance(written, str):
        return {"name": written}
    if isinstance(written, dict) and "name" not in written and len(written) == 1:
        ((name, arguments),) = written.items()
        if isinstance(arguments, dict):
            return {"name": name, "arguments": arguments}
    if isinstance(written, dict) and "name" in written and "arguments" not in written:
        return {"name": written["name"], "arguments": {key: value for key, value in written.items() if key != "name"}}
    return written


class Use(Record):
    """A function of a table by its name, with arguments."""

    name: str
    """Of a post-processor or a measure."""
    arguments: dict[str, Argument] = Field(default_factory=dict)
    """By name."""


class PartTemplate(Record):
    """A part of a message: a text with places for what is known of the clip, or the clip's sound."""

    type: Literal["text", "audio"]
    """Whether it is a text or the place of the sound."""
    value: str = Field(default="", max_length=65_536)
    """Jinja template; empty for the sound."""


class MessageTemplate(Record):
    """One turn."""

    role: Role = "user"
    """Who speaks."""
    contents: tuple[PartTemplate, ...] = Field(min_length=1, max_length=64)
    """Parts in the order in which a chat gets them."""


class PromptDefinition(Record):
    """What a chat is asked; ``prompt: NAME`` in a file."""

    name: Name = Field(validation_alias=AliasChoices("prompt", "name"))
    """Unique; tasks name it."""
    messages: tuple[MessageTemplate, ...] = Field(min_length=1, max_length=64)
    """Turns in order."""
    source: str = ""
    """Where the words are from."""

    def prompt(self, classes: tuple[str, ...] = ()) -> Prompt:
        """Return it in the form that workers render."""
        messages = tuple(
            Message(of.role, tuple(Part(part.type, part.value) for part in of.contents)) for of in self.messages
        )
        return Prompt(self.name, messages, classes)


class TaskFile(Record):
    """One task as its file has it."""

    schema_version: Annotated[Literal[1], WHOLE] = 1
    """Of this form."""
    task: Name
    """Unique; the probe's key is ``und_<task>``."""
    title: Annotated[str, Field(min_length=1, max_length=80)]
    """Name for people."""
    group: Group = "other"
    """Category of the benchmark."""
    categories: Annotated[tuple[Category, ...], Field(min_length=1)] = CATEGORIES
    """Categories of clips that take part."""
    datasets: tuple[str, ...] = ()
    """Datasets that it is part of the benchmark on; by its own name it runs on any that has its labels."""
    label: str
    """Label that holds the right answer: ``text``, ``emotion``, ``events``, ``answers``, ``extra:NAME``…"""
    needs: tuple[str, ...] = ()
    """Further labels that its prompts use: ``question``, ``choices``, ``extra:NAME``."""
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Labels with values that a clip must have to be tried, of a dataset without a split: ``{"extra:fold": ["5"]}``;
    decoders that are trained for the task take the other clips."""
    classes: tuple[str, ...] = Field(default=(), max_length=1024)
    """Answers to choose from, for all clips; a clip whose label is none of them is left out."""
    prompt: Annotated[
        dict[str, str], BeforeValidator(lambda written: {DEFAULT: written} if isinstance(written, str) else written)
    ]
    """By family of chats: the name of a prompt, or the question itself, which is asked behind the sound."""
    after: tuple[Annotated[Use, BeforeValidator(_use)], ...] = ()
    """Post-processors, in order."""
    measure: Annotated[Use, BeforeValidator(_use)]
    """What becomes of an answer: right or wrong, errors, a number."""
    version: str = "1"
    """Changed by the author where numbers change."""
    backend: str = "cascade"
    """The usual chat."""
    source: str = ""
    """Publication or place that it is from."""
    licence: str = ""
    """Of the questions, where the task has its own."""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave a newer field out where it is empty: a task of an earlier version keeps its hash."""
        written: dict[str, Any] = handler(self)
        if not self.only:
            written.pop("only", None)
        return written


class TaskDefinition(Record):
    """A task with its prompts: all that decides its figures but the chat; a submission carries it."""

    task: TaskFile
    """As its file has it."""
    prompts: dict[str, PromptDefinition]
    """By family of chats."""

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON; the service ranks the tasks that it ships, by this hash."""
        written = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()

    def prompt(self, family: str) -> Prompt:
        """Return what chats of a family are asked."""
        return self.prompts.get(family, self.prompts[DEFAULT]).prompt(self.task.classes)
