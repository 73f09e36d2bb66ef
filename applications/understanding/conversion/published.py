"""Result files of UltraEval-Audio, ``<model>/<dataset>/<time>-overall.json``, as published figures.

Form: audio_evals/main.py of the state of 2026-08-04. The file is the text of a Python map of numbers, not JSON; its
folders name the model and the dataset, its name the local time of the start. Records of predictions stand beside it in
``<time>.jsonl``, one ``{"type", "id", "data"}`` a line. Nothing else is stated: no prompt, no decoding, no revision.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from codec_superb import strict_json
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.understanding.conversion.ultraeval import equals

SUFFIX = "-overall.json"
FILE_LIMIT = 65_536
"""Bytes of a file: it holds a dozen numbers."""
LINE_LIMIT = 1_000_000
"""Bytes of a record."""
_LARGEST = 1e12
"""Of a figure: percent, or a count of words; a page writes all digits of larger ones."""
_TIME = "%Y-%m-%d_%H-%M-%S"
_NUMPY = re.compile(r"np\.(?:float|int)\d+\(([-+.\w]+)\)")
"""How a number of NumPy 2 is written inside of a map."""
_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,200}")


class PublishedFigure(NamedTuple):
    """One figure of one model on one dataset."""

    model: str
    dataset: str
    """Its name in UltraEval-Audio."""
    task: str
    """Name of our task that asks the same; '' where there is none."""
    figure: str
    """As the file names it; ``(%)`` in it stands for percent."""
    value: float
    made: str
    """Date and local time of the run, ISO 8601; '' where the file has a name of its own."""
    answered: int | None
    """Clips with a result; None without the records."""
    failed: int | None
    """Clips that ended in an error and have no part in the figures; None without the records."""
    source: str


def read_published(paths: Iterable[Path], source: str) -> list[PublishedFigure]:
    """Read files, and folders with all such files below them.

    Raises ApplicationError for a path without such files, and for a file that does not follow the form.
    """
    found: list[PublishedFigure] = []
    for path in paths:
        files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not files:
            raise ApplicationError(f"{path}: expected files <model>/<dataset>/<time>{SUFFIX}, found none")
        for file in files:
            found += read_overall(file.resolve(), source)
    twice, times = Counter(row[:6] for row in found).most_common(1)[0]
    if times > 1:
        raise ApplicationError(f"expected each run once, got {twice[0]} on {twice[1]} twice; name each file once")
    return found


def read_overall(file: Path, source: str) -> list[PublishedFigure]:
    """Read one file. Raises ApplicationError."""
    model, dataset = file.parent.parent.name, file.parent.name
    if not file.name.endswith(SUFFIX) or not _NAME.fullmatch(model) or not _NAME.fullmatch(dataset):
        raise ApplicationError(f"{str(file)!r}: expected a file <model>/<dataset>/<time>{SUFFIX}; keep these folders")
    figures = _figures(_bytes(file), file)
    stem = file.name.removesuffix(SUFFIX)
    counts = _records(file.with_name(f"{stem}.jsonl"))
    task = task_of(dataset)
    return [PublishedFigure(model, dataset, task, *each, _time(stem), *counts, source) for each in figures.items()]


def task_of(dataset: str) -> str:
    """Return our task that asks what UltraEval-Audio asks on a dataset by default; '' where there is none."""
    table: dict[str, Sequence[str]] = equals()["datasets"]
    return next((task for task, names in table.items() if any(fnmatchcase(dataset, name) for name in names)), "")


def _bytes(file: Path) -> str:
    try:
        return strict_json.content(file, FILE_LIMIT).decode("utf-8")
    except strict_json.StrictJsonError as error:
        raise ApplicationError(str(error)) from error
    except UnicodeDecodeError as error:
        raise ApplicationError(f"{file}: expected UTF-8 text, got byte {error.object[error.start]:#04x}") from error


def _figures(text: str, file: Path) -> dict[str, float]:
    try:
        read = ast.literal_eval(_NUMPY.sub(r"\1", text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ApplicationError(f"{file}: expected a map of names to finite numbers, got {text[:40]!r}") from None
    if not isinstance(read, dict) or not read:
        raise ApplicationError(f"{file}: expected a map of names to numbers, got {text[:40]!r}")
    if "error" in read:
        raise ApplicationError(f"{file}: the run measured nothing: {str(read['error'])[:80]!r}; leave the file out")
    for name, value in read.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not _finite(value):
            raise ApplicationError(f"{file}: expected a finite number for each name, got {f'{name!r}: {value!r}':.80}")
    return {name: float(value) for name, value in read.items()}


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # no NaN passes


def _time(stem: str) -> str:
    try:
        return datetime.strptime(stem, _TIME).isoformat()  # noqa: DTZ007 -- the file states no time zone
    except ValueError:
        return ""


def _records(file: Path) -> tuple[int | None, int | None]:
    """Count the clips with a result and those that ended in an error."""
    if not file.is_file():
        return None, None
    done: set[int] = set()
    wrong: set[int] = set()
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(LINE_LIMIT + 1), b""), 1):
            kind, clip = _record(line, f"{file}, line {number}")
            if kind in {"eval", "error"}:
                (done if kind == "eval" else wrong).add(clip)
    return len(done), len(wrong - done)


def _record(line: bytes, where: str) -> tuple[str, int]:
    if len(line) > LINE_LIMIT:
        raise ApplicationError(f"{where}: expected at most {LINE_LIMIT:,} bytes, got more")
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ApplicationError(f"{where}: expected one JSON object, got {line[:40]!r}") from None
    kind, clip = (read.get("type"), read.get("id")) if isinstance(read, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(clip, int) or isinstance(clip, bool) or clip < 0:
        raise ApplicationError(f"{where}: expected a record with type and id, got {line[:40]!r}")
    return kind, clip
