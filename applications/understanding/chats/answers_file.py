"""Backend ``answers``: a chat that was asked elsewhere, whose answers are lines of a file.

The questions are those of ``probe --questions``; a line of answers is one of questions with ``model`` and ``answer``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Model, Reply, Setting, Sound
from codec_superb.applications.task_definitions.messages import digest
from codec_superb.applications.understanding.chat import Chat

NAME = "answers"
_LONGEST = 1 << 20
"""Characters of a line."""
_SHA256 = r"^[0-9a-f]{64}$"


class Facts(BaseModel):
    """What else is known of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    finish: str | None = Field(default=None, max_length=100)
    """Why it ended: ``stop``, ``length``."""
    tokens: int | None = Field(default=None, ge=0, le=10**9)
    """Of the answer."""
    seconds: float | None = Field(default=None, ge=0, le=1e9)
    """From the request to the answer."""
    cost: float | None = Field(default=None, ge=0, le=1e9)
    """Of the request and the answer, in ``currency``."""
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")
    """ISO 4217."""
    fingerprint: str | None = Field(default=None, max_length=100)
    """State of the model that answered, as its server names it."""


class AnswerLine(BaseModel):
    """A line of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str = Field(min_length=1, max_length=180)
    """Who answered, as results name it; the same in all lines."""
    dataset: str = ""
    """'' where the file answers about one dataset alone."""
    clip: str = Field(min_length=1)
    sha256: str = Field(default="", pattern=rf"{_SHA256}|^$")
    """Of the resynthesis, as ``probe --questions`` wrote it; '' for the reference."""
    asked: str = Field(default="", pattern=rf"{_SHA256}|^$")
    """Of the messages; '' where the file answers one question alone."""
    answer: str | None = None
    failed: str | None = Field(default=None, min_length=1)
    """Why there is no answer, in its place."""
    facts: Facts = Facts()
    side: Any = None
    codec: Any = None
    tasks: Any = None
    sound: Any = None
    messages: Any = None
    options: Any = None

    @model_validator(mode="after")
    def _one_outcome(self) -> AnswerLine:
        if (self.answer is None) == (self.failed is None):
            raise ValueError("expected either answer, a text, or failed, the reason why there is none")
        return self

    @field_validator("model")
    @classmethod
    def _shown(cls, model: str) -> str:
        if not model.isprintable() or model.split(" ") != model.split():
            raise ValueError("model: expected one line of visible characters and single spaces")
        return model


class _Key(NamedTuple):
    dataset: str
    clip: str
    sha256: str
    asked: str


class NotAnswered(Exception):
    """The file has no line about a sound; another call with a longer file may have one."""


class AnswersFile(Chat):
    """Answers with what stands in a file; ``answers:FILE.jsonl`` names it."""

    remote = True
    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Read the file. Raises MissingModel for a file that is not there, or not of this form."""
        self._lines, name = _read(Path(self.variant).expanduser())
        # of no weights: nothing but its name identifies a model that ran elsewhere
        return Model(f"{NAME}:{name}", "", remote=True)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- nothing runs
        """Do nothing: a worker may outlive the file, which each command reads anew."""
        self._read_for: str | None = None

    def foretell(self, seconds: list[float], letters: int) -> str:  # type: ignore[override]  # noqa: ARG002
        """Tell how many answers there are."""
        return f"{self.variant}: {len(self._lines)} answers; {len(seconds)} are looked for"

    def reply(self, sound: Sound) -> Reply:
        """Return the answer about this sound. Raises PredictionFailed, NotAnswered."""
        if self._read_for != self.terms.command:
            self.prepare()
            self._read_for = self.terms.command
        asked = digest(sound.messages)
        keys = (_Key(of, sound.item.clip, sound.sha256, to) for of in (sound.dataset, "") for to in (asked, ""))
        line = next((self._lines[key] for key in keys if key in self._lines), None)
        if line is None:
            raise NotAnswered(f"{self.variant} has no line for this clip's {sound.side} and question")
        if line.failed is not None:
            raise PredictionFailed(line.failed)
        facts: dict[str, Setting] = line.facts.model_dump(exclude_none=True)
        return Reply(line.answer or "", facts)


def _read(path: Path) -> tuple[dict[_Key, AnswerLine], str]:
    """Return the lines of a file and the name of their model. Raises MissingModel."""
    lines: dict[_Key, AnswerLine] = {}
    name = ""
    try:
        with path.open(encoding="utf-8-sig") as file:  # with a byte-order mark, as some systems write it, or without
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                line = _line(text, f"{path}, line {number}")
                key = _Key(line.dataset, line.clip, line.sha256, line.asked)
                # of resyntheses that two codecs made alike
                if key in lines and (lines[key].answer, lines[key].failed) != (line.answer, line.failed):
                    raise MissingModel(
                        f"{path}, line {number}: {line.clip} has another answer to this in a line before"
                    )
                if name and line.model != name:
                    raise MissingModel(
                        f"{path}, line {number}: expected the model of the lines before, {name!r}, got {line.model!r}; "
                        "give each model a file"
                    )
                lines[key], name = line, line.model
    except OSError as error:
        raise MissingModel(f"{path}: expected a file of answers as JSON lines, got {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MissingModel(f"{path}: expected UTF-8 text: {error}") from error
    if not lines:
        raise MissingModel(f"{path}: expected at least one line with model, clip and answer, got none")
    return lines, name


def _line(text: str, place: str) -> AnswerLine:
    if len(text) > _LONGEST:
        raise MissingModel(f"{place}: expected at most {_LONGEST} characters, got {len(text)}")
    try:
        return AnswerLine.model_validate(json.loads(text))
    except ValidationError as error:
        raise MissingModel(f"{place}: {_said(error)}") from None
    except (ValueError, RecursionError) as error:
        raise MissingModel(f"{place}: expected a JSON object: {error}") from None


def _said(error: ValidationError) -> str:
    """Put the first fault into words."""
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    words = {
        "extra_forbidden": f"there is no field {field!r}",
        "missing": f"expected a field {field!r}",
        "model_type": "expected a JSON object",
        "string_pattern_mismatch": f"{field}: expected 64 hexadecimal digits",
        "value_error": said,
    }
    return words.get(first["type"], f"{field}: {said}")
