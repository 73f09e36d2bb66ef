"""MSEB's result files, ``<encoder>/<task>.jsonl``: one JSON object a line, read strictly and written strictly.

The form is that of MSEB's code of 2026-08-20 (commit ``a88af49``). Its files hold the bare word ``Infinity`` as an
upper bound, which is no JSON: it is read as *no bound*, and written as ``null``. Anything else that a strict reader
elsewhere would refuse (NaN, a name twice, an unknown field, a number as text) is an :class:`ApplicationError` of one
sentence that names file, line and field.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from codec_superb import strict_json
from codec_superb.applications.errors import ApplicationError
from codec_superb.record import Record
from codec_superb.strict_json import StrictJsonError

SUFFIX = ".jsonl"
LINE_LIMIT = 1_000_000
"""Characters of a line; the longest of MSEB's own 5,943 has 5,088."""
FILE_LIMIT = 50_000_000
"""Bytes of a file; the largest of MSEB's own has 25,422."""
LARGEST = 1e30
"""Of a value: far above any operations of an encoder, far below what a sum over locales cannot hold."""
SIZE, FLOPS = "mean_encoding_size_bytes", "flops"
"""Metrics that MSEB appends to the scores of every task; its own files have 0 operations throughout: not measured."""
_SHOWN = 60


class _Strict(Record):
    """Takes no number as text, no text as a number."""

    model_config = ConfigDict(strict=True)


Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
"""A name on one line: it goes into tables, file names and a database, which takes no NUL."""


class MsebScore(_Strict):
    """One metric of one result; its bounds are those of the metric, not an interval."""

    metric: Name
    description: str
    value: Annotated[FiniteFloat, Field(ge=-LARGEST, le=LARGEST)]
    min: FiniteFloat | None = None
    """None: no lower bound."""
    max: FiniteFloat | None = None
    """None: no upper bound, in MSEB's own files ``Infinity``."""
    std: FiniteFloat | None = Field(default=None, ge=0.0)
    """Spread over the queries; None where it was not computed."""

    @model_validator(mode="after")
    def _within(self) -> MsebScore:
        low = -math.inf if self.min is None else self.min
        high = math.inf if self.max is None else self.max
        if low > high:
            raise ValueError(f"a lower bound {low:g} above the upper bound {high:g} of {self.metric}")
        if not low <= self.value <= high:
            raise ValueError(f"{self.metric} = {self.value:g} outside its bounds {low:g} to {high:g}")
        return self


class MsebDataset(_Strict):
    """Where a task's recordings come from."""

    path: str
    revision: str
    name: str | None = None
    documentation_file: str | None = None


class MsebTask(_Strict):
    """What MSEB says of a task; ``scores`` are declarations of its metrics, their values mean nothing."""

    name: Name
    description: str
    reference: str
    type: Name
    category: str
    main_score: str
    revision: str
    dataset: MsebDataset
    scores: list[MsebScore]
    eval_splits: list[str]
    eval_langs: list[str] = Field(min_length=1)
    domains: list[str]
    task_subtypes: list[str]
    documentation_file: str | None = None
    dataset_documentation_file: str | None = None


class MsebResult(_Strict):
    """One line: an encoder on one sub-task (all recordings pooled, or one recording condition)."""

    name: Name
    sub_task_name: Name
    task_metadata: MsebTask
    scores: list[MsebScore] = Field(min_length=1)
    url: str | None = None
    base_model: str | None = None
    tags: list[str] = Field(default_factory=list)
    prompt: str | None = None
    task_specific_data: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _once(self) -> MsebResult:
        name, count = Counter(score.metric for score in self.scores).most_common(1)[0]
        if count > 1:
            raise ValueError(f"the metric {name!r} {count} times")
        return self


class MsebRow(NamedTuple):
    """One metric of one encoder on one sub-task: a line of the CSV in which published rows are kept."""

    encoder: str
    """Name of the folder: the encoder's own name is not always unique."""
    task: str
    """``SVQEnUsPassageInLangRetrieval``."""
    type: str
    """``PassageInLangRetrieval``."""
    sub_task: str
    """``passage_retrieval_in_lang``; with ``:clean`` and the like for one recording condition."""
    lang: str
    """Language tag as MSEB gives it."""
    metric: str
    value: float
    """In MSEB's unit: shares of 1, never percent."""
    std: float | None


def read_lines(data: bytes, where: str) -> list[MsebResult]:
    """Read the content of a file; ``where`` names it in errors. Raises ApplicationError."""
    if len(data) > FILE_LIMIT:
        raise ApplicationError(f"{where}: expected at most {FILE_LIMIT:,} bytes, got {len(data):,}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ApplicationError(f"{where}: expected UTF-8 text, got byte {data[error.start]:#04x}") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ApplicationError(f"{where}: expected one JSON object a line, got an empty file")
    found = [_read(line, f"{where}, line {number}") for number, line in lines]
    (name, task, part), count = Counter((each.name, each.task_metadata.name, each.sub_task_name) for each in found
                                        ).most_common(1)[0]  # fmt: skip
    if count > 1:
        raise ApplicationError(f"{where}: expected each sub-task once, got {part!r} of {task} by {name} {count} times")
    return found


def read_files(paths: Iterable[Path]) -> Iterator[tuple[str, MsebResult]]:
    """Read files, and folders with all the ``.jsonl`` files below them; yield the encoder's folder with each result.

    Raises ApplicationError for a path that is not there, for a folder without such files and for a file that does not
    follow the form.
    """
    for path in paths:
        files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not files:
            raise ApplicationError(f"{path}: expected files <encoder>/<task>{SUFFIX} in this folder, found none")
        for file in files:
            try:
                data = strict_json.content(file, FILE_LIMIT)
            except StrictJsonError as error:
                raise ApplicationError(str(error)) from error
            yield from ((file.resolve().parent.name, result) for result in read_lines(data, str(file)))


def rows_of(encoder: str, result: MsebResult) -> list[MsebRow]:
    """Return a row for each score of a result.

    Left out are what MSEB appends without having measured it (0 operations, sizes of pointers of a text), and
    ``RecallAtInf``, which in all published rows repeats ``RecallAt10``: its list of answers is cut before.
    """
    task = result.task_metadata
    return [
        MsebRow(encoder, task.name, task.type, result.sub_task_name, "+".join(task.eval_langs), score.metric,
                score.value, score.std)
        for score in result.scores
        if score.metric not in {SIZE, FLOPS, "RecallAtInf"}
    ]  # fmt: skip


def write_lines(results: Sequence[MsebResult]) -> bytes:
    """Write the content of a file as strict JSON lines with sorted names: no Infinity, a missing bound is null."""
    lines = (json.dumps(result.model_dump(), allow_nan=False, ensure_ascii=False, sort_keys=True) for result in results)
    return "".join(f"{line}\n" for line in lines).encode()


def _read(line: str, where: str) -> MsebResult:
    if len(line) > LINE_LIMIT:
        raise ApplicationError(f"{where}: expected at most {LINE_LIMIT:,} characters, got {len(line):,}")
    try:
        # operations are counted beyond what a double holds exactly
        data = strict_json.loads(line, constant=_constant, whole=int)
        return MsebResult.model_validate(_unbounded(data))
    except ValidationError as error:
        raise ApplicationError(f"{where}: {_first(error)}") from error
    except StrictJsonError as error:
        raise ApplicationError(f"{where}: {error} in one object a line") from error


class _Unbounded:
    """The bare word ``Infinity``, which only a bound may be."""


_UNBOUNDED = _Unbounded()


def _constant(name: str) -> _Unbounded:
    if name != "Infinity":
        raise StrictJsonError(f"expected finite numbers only, got the word {name}")
    return _UNBOUNDED


def _unbounded(data: Any) -> Any:
    """Take the upper bound away where a score has none; the word elsewhere stays, and is refused by the record."""
    if not isinstance(data, dict):
        return data
    task = data.get("task_metadata")
    for holder in (data, task):
        scores = holder.get("scores") if isinstance(holder, dict) else None
        for score in scores if isinstance(scores, list) else ():
            if isinstance(score, dict) and score.get("max") is _UNBOUNDED:
                score["max"] = None
    return data


def _first(error: ValidationError) -> str:
    """Put the first thing that is wrong into words."""
    first, *more = error.errors(include_url=False)
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    given = first["input"]
    got = "Infinity" if given is _UNBOUNDED else _short(given)
    also = f" ({len(more)} more)" if more else ""
    if first["type"] == "extra_forbidden":
        return f"expected only the fields of an MSEB result, got {place!r}, which is none of them{also}"
    if first["type"] == "missing":
        return f"expected the field {place!r}, which is missing{also}"
    if first["type"] == "value_error":
        return f"expected a consistent {place}, got {first['ctx']['error']}{also}"
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}, got {got}{also}"


def _short(value: object) -> str:
    text = f"{type(value).__name__} of {len(value)}" if isinstance(value, list | dict) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
