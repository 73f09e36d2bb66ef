"""Write the questions of understanding tasks with their sounds, for a chat that is asked elsewhere.

``questions.jsonl`` has a line for each sound and prompt: ``dataset``, ``tasks`` that share the answer, ``clip``,
``side``, ``codec`` and ``sha256`` of a resynthesis, ``asked`` (of the messages), ``messages``, ``options``, and
``sound``, a file beside it: a reference as WAV, mono, at its own rate and exact; a resynthesis as the run holds it
(FLAC). A line with ``model`` and ``answer`` added is one of ``probe --answers``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from codec_superb.applications.catalogue import choose
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Item
from codec_superb.applications.plugged import adopt
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import probe
from codec_superb.applications.task_definitions.definition import DEFAULT
from codec_superb.applications.task_definitions.messages import Prompt, as_data, digest
from codec_superb.applications.understanding.scoring import definition_of
from codec_superb.applications.understanding.templates import render
from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.names import reference_names
from codec_superb.pipeline.importing.references import wav
from codec_superb.pipeline.output_file import make_folder, write_output, writing
from codec_superb.pipeline.probing.choice import ProbeGroup, examine, labelled, with_clips
from codec_superb.pipeline.probing.store import ProbeStore
from codec_superb.pipeline.runs.dataset_access import load_mono
from codec_superb.pipeline.runs.finished import by_dataset
from codec_superb.pipeline.runs.folder import find_runs
from codec_superb.pipeline.workers.progress import Progress, SilentProgress

FILE = "questions.jsonl"


class Questions(NamedTuple):
    """What was written."""

    lines: int
    sounds: int


def write_questions(
    runs: Sequence[Path],
    folder: Path,
    *,
    applications: Sequence[str],
    tasks: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Questions:
    """Write into ``folder`` what a chat would be asked about the references and resyntheses of runs.

    A clip whose prompt has no value for it is left out. Raises PipelineError for two datasets of one name, whose
    answers could be mixed up; ApplicationError where no understanding task was named; else as ``probe``.
    """
    choices = choose(adopt(applications, tasks))
    groups = [examine(group, choices) for group in by_dataset(find_runs(runs))]
    names = [group.runs.dataset.name for group in groups]
    if len(set(names)) != len(names):
        raise PipelineError(
            f"expected datasets of different names, got {', '.join(names)}: give those of each a folder of questions"
        )
    rows = [row for row in map(probe, (of.probe for of in with_clips(groups, choices))) if row.definition is not None]
    if not rows:
        raise ApplicationError("expected understanding tasks, got none: name some with --application or --tasks")
    progress = progress or SilentProgress()
    make_folder(folder)
    with ExitStack() as stack:
        stack.enter_context(writing(folder))
        lines: list[dict[str, Any]] = []
        for group in groups:
            stores = [ProbeStore(run, group.runs.dataset, stack) for run in group.runs.folders]
            lines += _lines(group, stores, [row for row in rows if row.key in group.probes], folder, progress)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        write_output(folder / FILE, text.encode())
    return Questions(len(lines), len({line["sound"] for line in lines}))


def _lines(
    group: ProbeGroup, stores: Sequence[ProbeStore], rows: Sequence[Probe], folder: Path, progress: Progress
) -> Iterator[dict[str, Any]]:
    by_prompt: dict[str, tuple[Prompt, list[Probe]]] = {}
    for row in rows:
        prompt = definition_of(row).prompt(DEFAULT)
        by_prompt.setdefault(prompt.sha256, (prompt, []))[1].append(row)
    names = reference_names(group.runs.dataset.clip_ids())
    progress.start(f"questions about {group.runs.dataset.name}", len(group.items), 0)
    for clip, item in group.items.items():
        questions = [found for of in by_prompt.values() if (found := _question(item, *of)) is not None]
        if questions and any(clip in store.clips and store.clips[clip].sha256 for store in stores):
            sounds = [{"side": "reference", "sound": _reference(group, clip, names[clip], folder)}]
            sounds += _resyntheses(stores, clip, names[clip], folder)
            yield from ({"dataset": group.runs.dataset.name, "clip": clip, **of, **asked}
                        for asked in questions for of in sounds)  # fmt: skip
        progress.advance()


def _question(item: Item, prompt: Prompt, rows: Sequence[Probe]) -> dict[str, Any] | None:
    wanted = [row.key for row in rows if item.category in row.categories and labelled(row, item)]
    if not wanted:
        return None
    try:
        messages = render(prompt, item)
    except PredictionFailed:
        return None
    options = list(prompt.classes or item.choices)
    return {"tasks": wanted, "asked": digest(messages), "messages": as_data(messages), "options": options}


def _reference(group: ProbeGroup, clip: str, name: str, folder: Path) -> str:
    path = f"sounds/{group.runs.dataset.name}/reference/{name}"
    content = wav(*load_mono(group.runs.dataset.clip(clip)))[0]
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / path, content, sync=False)
    return path


def _resyntheses(stores: Sequence[ProbeStore], clip: str, name: str, folder: Path) -> Iterator[dict[str, str]]:
    seen = {""}
    for number, store in enumerate(stores, 1):
        of = store.clips.get(clip)
        if of is None or of.sha256 in seen:  # two codecs may make the same of it
            continue
        seen.add(of.sha256)
        codec = store.info.card.name
        path = f"sounds/{store.info.dataset.name}/{number:03d}-{codec}/{name.removesuffix('.wav')}.flac"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store.folder.audio_path(clip), folder / path)
        yield {"side": "resynthesis", "codec": store.info.title, "sha256": of.sha256, "sound": path}
