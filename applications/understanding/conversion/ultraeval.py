"""Converts a registry of UltraEval-Audio: folders of YAML, name → {class, args}, one folder for each kind.

Layout, fields and classes: github.com/OpenBMB/UltraEval-Audio, state of 2026-08-04. Its texts stay where the user puts
them; this program ships none. What has no equal is listed with its reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.understanding.conversion.prompts import NoEqual, classes_of, messages_of
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import PROCESSES
from codec_superb.applications.understanding.registry import own_registry

KINDS = ("eval_task", "dataset", "prompt", "process", "evaluator", "agg")
SPOKEN = "transcribe_spoken"
"""Prompt that a task of spoken answers asks instead of its own, which asked for the answer."""
_SPOKEN_MESSAGES = [
    {"role": "user", "contents": [
        {"type": "audio"}, {"type": "text", "value": "Write down what is said in the recording, and nothing else."},
    ]},
]  # fmt: skip


class Row(NamedTuple):
    """What became of one entry of the registry."""

    kind: str
    name: str
    converted: str
    """Its name here; '' where it has no equal."""
    remark: str
    """The reason of no equal; of a converted one what differs."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the registry."""

    name: str
    cls: str
    """Class, without its package."""
    args: Mapping[str, Any]
    file: str
    """Stem of its file."""


@dataclass(slots=True)
class Converted:
    """Documents of this program, and a row for every entry."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


Entries = Mapping[str, Mapping[str, Entry]]


@cache
def equals() -> Mapping[str, Any]:
    """Return the table of what is what."""
    read: dict[str, Any] = yaml.safe_load((resources.files(__package__) / "equals.yaml").read_text(encoding="utf-8"))
    return read


def read_registry(root: Path) -> Entries:
    """Return the entries by kind and name; ``root`` is the registry or the repository around it.

    Raises ApplicationError for a folder that holds none, a file that is no YAML, and a name given twice.
    """
    root = root / "registry" if (root / "registry" / "eval_task").is_dir() else root
    if not (root / "eval_task").is_dir():
        raise ApplicationError(f"{root}: expected a registry with a folder eval_task, got none; name the registry")
    return {kind: _entries(root / kind) for kind in KINDS}


def _entries(folder: Path) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for file in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        try:
            written = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise ApplicationError(f"{file}: expected YAML: {' '.join(str(error).split())}") from error
        if not isinstance(written, dict):
            raise ApplicationError(f"{file}: expected names with class and args, got {written!r:.40}")
        for name, value in written.items():
            if not isinstance(value, dict) or not isinstance(value.get("args") or {}, dict):
                raise ApplicationError(f"{file}: {name}: expected class and args, got {value!r:.40}")
            if name in found:
                raise ApplicationError(f"{file}: {name} was given before, in {found[name].file}; remove one")
            cls = str(value.get("class", "")).rpartition(".")[2]
            found[name] = Entry(str(name), cls, value.get("args") or {}, file.stem)
    return found


def convert(entries: Entries) -> Converted:
    """Return the tasks and prompts that have an equal, and a row for every task, prompt and dataset."""
    done = Converted(prompts=[{"prompt": SPOKEN, "messages": _SPOKEN_MESSAGES, "source": "written for this project"}])
    names: dict[str, str] = {}
    needs: dict[str, set[str]] = {SPOKEN: set()}
    for prompt in entries["prompt"].values():
        try:
            messages, needed = messages_of(prompt.args.get("template"), equals()["variables"])
        except NoEqual as error:
            done.rows.append(Row("prompt", prompt.name, "", str(error)))
            continue
        names[prompt.name] = name = _name(prompt.name, needs, own_registry().prompts)
        needs[name] = needed
        done.prompts.append({"prompt": name, "messages": messages, "source": f"UltraEval-Audio, prompt {prompt.name}"})
        done.rows.append(Row("prompt", prompt.name, name, ""))
    taken: dict[str, Any] = {}
    for task in entries["eval_task"].values():
        try:
            made, remarks = _task(task, entries, done, names, needs)
        except NoEqual as error:
            done.rows.append(Row("task", task.name, "", str(error)))
            continue
        made["task"] = name = _name(task.name, taken, own_registry().tasks)
        taken[name] = made
        done.tasks.append(made)
        done.rows.append(Row("task", task.name, name, "; ".join(remarks)))
    done.rows += [Row("dataset", of.name, "", _dataset_remark(of)) for of in entries["dataset"].values()]
    return done


def _dataset_remark(of: Entry) -> str:
    place = " ".join(str(of.args[key]) for key in ("name", "f_name", "subset", "split") if of.args.get(key))
    return f"{place} states no revision and no hash: prepare the publisher's copy, with labels.csv where none is known"


def _name(name: str, taken: Mapping[str, Any], shipped: Mapping[str, Any]) -> str:
    """Return a name that a file may have, with ``ultraeval_`` before one that the program ships."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    plain = plain if plain[:1].isalpha() else f"of_{plain}"
    plain = (f"ultraeval_{plain}" if plain in shipped else plain)[:48]
    if plain in taken:
        raise ApplicationError(f"{name}: {plain} would be the name of two entries; rename one")
    return plain


def _task(
    task: Entry, entries: Entries, done: Converted, names: Mapping[str, str], needs: Mapping[str, set[str]]
) -> tuple[dict[str, Any], list[str]]:
    remarks: list[str] = []
    _known("prompt", task.args.get("prompt"), entries)
    using = _datasets(task, entries, remarks)
    after, spoken = _steps(task, entries)
    row, arguments = _measure(task, entries, remarks)
    spoken = spoken or row.get("spoken", False)
    asked = _asked(task, names, spoken, remarks)
    messages = next(of["messages"] for of in done.prompts if of["prompt"] == asked)
    label = _label(row, using, remarks)
    made: dict[str, Any] = {"task": "", "title": task.name[:80], "group": _group(task)}
    made |= {"categories": ["speech", "audio", "music"], "label": label, "prompt": asked}
    wanted = sorted((needs[asked] | set(row.get("needs", ()))) - {label})
    made |= {"needs": wanted} if wanted else {}
    classes = classes_of(messages) if row["measure"] == "prefix-match" else []
    if classes:
        made["classes"] = classes
        remarks.append("classes are those that the prompt lists; a clip with another label is left out")
    made |= {"after": after} if after else {}
    made |= {"measure": {row["measure"]: arguments} if arguments else row["measure"]}
    return made | {"source": f"UltraEval-Audio, task {task.name}"}, remarks


def _datasets(task: Entry, entries: Entries, remarks: list[str]) -> list[Entry]:
    own = task.args.get("dataset")
    using = [of for of in entries["dataset"].values() if of.args.get("default_task") == task.name]
    if own in entries["dataset"]:
        return using or [entries["dataset"][str(own)]]
    remarks.append(f"its dataset {own} does not exist" + ("" if using else ", and no other names it"))
    return using


def _steps(task: Entry, entries: Entries) -> tuple[list[Any], bool]:
    steps: list[Any] = []
    spoken = False
    for name in task.args.get("post_process") or ():
        entry = _known("process", name, entries)
        row = _equal("processes", entry)
        lang, key = entry.args.get("lang", ""), entry.args.get("extract_key", "")
        if row.get("spoken") or (key and key == row.get("spoken_key")):
            spoken = True
            continue
        chosen = row.get("by_lang", {}).get(lang) or row.get("by_key", {}).get(key) or row.get("process")
        if chosen not in PROCESSES:
            raise NoEqual(
                f"its step {name} has no equal" + (f": there is no post-processor {chosen}" if chosen else "")
            )
        given = {to: entry.args.get(of[1:]) for to, of in row.get("arguments", {}).items()}
        given = {to: value for to, value in given.items() if value is not None}
        steps.append({chosen: given} if given else chosen)
    return steps, spoken


def _measure(task: Entry, entries: Entries, remarks: list[str]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    entry = _known("evaluator", task.args.get("evaluator"), entries)
    parts = [_known("evaluator", name, entries) for name in entry.args.get("components", ())] or [entry]
    rows = [(part, _equal("evaluators", part)) for part in parts]
    measuring = [(part, row) for part, row in rows if "measure" in row]
    left = [row["without"] for _, row in rows if "without" in row]
    if not measuring:
        agg = _known("agg", task.args.get("agg"), entries)
        row = equals()["aggregations"].get(agg.cls)
        if row is None:
            raise NoEqual("; ".join(left))
        measuring, left = [(agg, row)], []
    part, row = measuring[0]
    if row["measure"] not in MEASURES:
        raise NoEqual(f"there is no measure {row['measure']}, which {part.name} would be")
    remarks += left
    arguments = {name: values.get(part.args.get("lang", "")) for name, values in row.get("by_lang", {}).items()}
    return row, {name: value for name, value in arguments.items() if value}


def _asked(task: Entry, names: Mapping[str, str], spoken: bool, remarks: list[str]) -> str:
    if spoken:
        remarks.append("runs on a dataset of spoken answers, made once, whose clips are transcribed")
        return SPOKEN
    name = str(task.args["prompt"])
    if name not in names:
        raise NoEqual(f"its prompt {name} has no equal")
    return names[name]


def _label(row: Mapping[str, Any], using: list[Entry], remarks: list[str]) -> str:
    if "label" in row:
        return str(row["label"])
    columns = Counter(str(of.args.get("ref_col")) for of in using)
    if not columns:
        remarks.append("the label answers is assumed")
        return "answers"
    column = columns.most_common(1)[0][0]
    if len(columns) > 1:
        remarks.append(f"its datasets keep the answer in {' and '.join(sorted(columns))}; {column} is taken")
    return str(equals()["columns"].get(column) or f"extra:{column}")


def _group(task: Entry) -> str:
    return str(equals()["own_groups"].get(task.name) or equals()["groups"].get(task.file) or "other")


def _known(kind: str, name: object, entries: Entries) -> Entry:
    if name not in entries[kind]:
        raise NoEqual(f"its {kind} {name} does not exist")
    return entries[kind][str(name)]


def _equal(table: str, entry: Entry) -> Mapping[str, Any]:
    row: Mapping[str, Any] | None = equals()[table].get(entry.cls)
    if row is None:
        raise NoEqual(f"{entry.name} is of the class {entry.cls or '(none)'}, which has no equal")
    return row
