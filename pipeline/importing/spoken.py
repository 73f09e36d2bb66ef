"""Let a program speak the texts of a dataset, and keep what it said as a dataset that codecs then resynthesise.

Synthesisers, voice cloning and chats that answer aloud are asked once. The folder that comes of it is a folder of audio
with ``labels.csv`` like any other: a recording a text, labelled with the text and its language, with ``source`` (the
clip whose text it is), ``maker`` and the dataset's own labels. ``maker.json`` tells the program, its arguments, the
dataset, its state and the day. What was spoken is spoken once: the same call goes on, and another program needs another
folder.
"""

from __future__ import annotations

import csv
import io
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from codec_superb.data_manifests import Clip, Dataset, open_dataset
from codec_superb.data_manifests.files import PARTIAL, file_sha256, locked, remove_partial
from codec_superb.data_manifests.folders.labels_csv import LABELS_FILE
from codec_superb.data_manifests.folders.text_table import SUFFIXES, TextTable
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.names import reference_names
from codec_superb.pipeline.output_file import make_folder, write_output, writing
from codec_superb.pipeline.runs.dataset_access import refuse_output_inside
from codec_superb.pipeline.runs.journal import Journal
from codec_superb.pipeline.runs.outcome import FailedClip
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.workers.progress import Progress, SilentProgress
from codec_superb.record import Record

MAKER = "maker.json"
SECONDS = 300.0
"""A text that takes longer has failed."""
PLACES = ("text", "out", "language", "sound")
_LABELS = ("path", "text", "language", "category", "source", "maker")
"""Columns of every such folder; the dataset's own labels follow, but for those of these names."""


class SpokenText(Record):
    """A line of the journal: one text that was spoken."""

    clip: str
    file: str
    text: str
    language: str | None
    sha256: str
    """Of the file."""


class Maker(Record):
    """Contents of ``maker.json``."""

    command: tuple[str, ...]
    """Program and arguments, with ``{text}``, ``{out}``, ``{language}`` and ``{sound}`` where they stand."""
    label: str
    """Label of the dataset whose text is spoken."""
    language: str | None = None
    """Of the texts, where it was given."""
    dataset: str
    manifest_hash: str
    made: str
    """Day, UTC."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What :func:`speak_dataset` did."""

    folder: Path
    clips: int
    """Recordings that are there now."""
    done: int
    """Recordings made by this call."""
    failed: list[FailedClip] = field(default_factory=list)
    left_out: int = 0
    """Clips without a text."""


def speak_dataset(
    dataset: str,
    folder: Path,
    command: str,
    *,
    label: str = "text",
    language: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Spoken:
    """Call ``command`` for the text of each clip of ``dataset`` (or of ``limit`` of them); what is there is kept.

    ``command`` is divided as a shell would, but no shell runs it: ``{text}`` stands for the text (without it the text
    comes by standard input), ``{out}`` for the WAV file that the program writes, ``{language}`` for its language,
    ``{sound}`` for the clip's own recording, whose voice may be cloned. ``label`` is ``text``, ``question`` or
    ``extra:NAME``; ``language`` is the texts' where it is not their clips' (that of ``extra:X_text`` is
    ``extra:X_language`` where the dataset has it). ``dataset`` may be a CSV or Parquet table of texts too. A program
    that ends with an error, writes no sound or takes over 300 s fails its clip.

    Raises DatasetError; PipelineError for a command without ``{out}``, one that is not there, a folder that another
    command made, and where no clip has the label.
    """
    words = _divided(command)
    opened = _opened(dataset, words)
    refuse_output_inside(dataset, opened, folder)
    texts = {clip: text for clip in select_clips(opened, limit) if (text := _text(opened.clip(clip), label))}
    left_out = len(select_clips(opened, limit)) - len(texts)
    if not texts:
        raise PipelineError(f"{opened.name}: expected clips with the label {label}, got none of {left_out}")
    names = reference_names(opened.clip_ids())
    progress = progress or SilentProgress()
    make_folder(folder)
    with writing(folder), locked(folder / ".made.lock"), Journal(folder / ".made.jsonl", SpokenText) as journal:
        remove_partial(folder)
        maker = _maker(folder, words, label, language, opened)
        there = {clip: line for clip in texts if (line := journal.last(clip)) and _is_whole(folder, line, texts[clip])}
        todo = [clip for clip in texts if clip not in there]
        failed = []
        progress.start(f"{Path(words[0]).name} speaks {opened.name}", len(texts), len(there))
        for clip in todo:
            try:
                tag = language or _language(opened.clip(clip), label)
                there[clip] = _spoken(opened.clip(clip), (texts[clip], tag), folder, names[clip], words)
                journal.append(there[clip])
            except _NotSpoken as error:
                failed.append(FailedClip(clip, "speak", str(error)))
            progress.advance()
        spoken = [(there[clip], dict(opened.clip(clip).labels.extra)) for clip in texts if clip in there]
        write_output(folder / LABELS_FILE, _labels(spoken, Path(maker.command[0]).name))
    return Spoken(folder, len(there), len(todo) - len(failed), failed, left_out)


class _NotSpoken(Exception):
    """The program made no sound of a text; the message is the reason."""


def _divided(command: str) -> list[str]:
    """Return program and arguments. Raises PipelineError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PipelineError(f"expected a command, got {command!r}: {error}") from None
    if not any("{out}" in word for word in words):
        raise PipelineError(f"expected {{out}} in the command, the file that the program writes, got {command!r}")
    return words


def _opened(dataset: str, words: Sequence[str]) -> Dataset:
    """Return the dataset, or a table of texts. Raises DatasetError, and PipelineError where a text has no voice."""
    if Path(dataset).suffix not in SUFFIXES:
        return open_dataset(dataset)
    if any("{sound}" in word for word in words):
        raise PipelineError(
            f"expected a command without {{sound}}, as {dataset} is texts alone, got {shlex.join(words)}"
        )
    return TextTable(Path(dataset))


def _language(clip: Clip, label: str) -> str | None:
    """Return the language of what is spoken: that of a text of the dataset's own, where it is stated, or the clip's."""
    own = label.partition(":")[2]
    stated = dict(clip.labels.extra).get(f"{own.removesuffix('text')}language") if own.endswith("_text") else None
    return stated or clip.labels.language


def _text(clip: Clip, label: str) -> str:
    kind, _, own = label.partition(":")
    if kind not in {"text", "question", "extra"}:
        raise PipelineError(f"expected the label text, question or extra:NAME, got {label!r}")
    found = dict(clip.labels.extra).get(own) if own else getattr(clip.labels, kind)
    return str(found or "").strip()


def _maker(folder: Path, words: Sequence[str], label: str, language: str | None, dataset: Dataset) -> Maker:
    """Write who speaks, once. Raises PipelineError where the folder is another command's."""
    path = folder / MAKER
    day = datetime.now(UTC).date().isoformat()
    maker = Maker(
        command=tuple(words),
        label=label,
        language=language,
        dataset=dataset.name,
        manifest_hash=dataset.manifest_hash,
        made=day,
    )
    with suppress(FileNotFoundError):
        before = Maker.model_validate(strict_json.loads(path.read_bytes()))
        if before.model_copy(update={"made": day}) != maker:
            raise PipelineError(
                f"{folder} was made by {shlex.join(before.command)} of {before.label} of {before.dataset}: name "
                "another folder for another command, label or state of the dataset"
            )
        return before
    write_output(path, strict_json.dumps(maker.model_dump(mode="json")))
    return maker


def _is_whole(folder: Path, line: SpokenText, text: str) -> bool:
    try:
        return line.text == text and file_sha256(folder / line.file) == line.sha256
    except OSError:
        return False


def _spoken(clip: Clip, said: tuple[str, str | None], folder: Path, name: str, words: Sequence[str]) -> SpokenText:
    """Let the program speak into a file that is renamed once it holds a sound. Raises _NotSpoken, PipelineError."""
    text, language = said
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{PARTIAL}{path.name}")
    if not isinstance(clip.path, Path) and any("{sound}" in word for word in words):
        raise PipelineError(f"{clip.path}: a program takes a file of this machine as {{sound}}: fetch the dataset")
    values = {"text": text, "out": str(part), "language": language or "", "sound": str(clip.path)}
    try:
        _call([_filled(word, values) for word in words], text, takes_text=any("{text}" in word for word in words))
        if not _samples(part):
            raise _NotSpoken("the program ended well and wrote no sound")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return SpokenText(clip=clip.id, file=name, text=text, language=language, sha256=file_sha256(path))


def _filled(word: str, values: Mapping[str, str]) -> str:
    """Put the values into a word at one go, so that a text with {out} in it stays as it is."""
    parts, rest = [], word
    while rest:
        place = min((f"{{{name}}}" for name in PLACES if f"{{{name}}}" in rest), key=rest.index, default="")
        before, _, rest = rest.partition(place) if place else (rest, "", "")
        parts += [before, values[place.strip("{}")] if place else ""]
    return "".join(parts)


def _call(words: Sequence[str], text: str, *, takes_text: bool) -> None:
    given = None if takes_text else text.encode()
    try:
        done = subprocess.run(words, input=given, capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise PipelineError(f"there is no program {words[0]!r}: install it, or write its path") from None
    except (OSError, ValueError) as error:  # ValueError: a text with a NUL
        raise _NotSpoken(str(error)) from error
    except subprocess.TimeoutExpired:
        raise _NotSpoken(f"the program took more than {SECONDS:g} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise _NotSpoken(f"the program ended with {done.returncode}" + (f": {said[-1][:200]}" if said else ""))


def _samples(path: Path) -> int:
    import soundfile

    try:
        return int(soundfile.info(str(path)).frames)
    except (soundfile.LibsndfileError, OSError):
        return 0


def _labels(spoken: Sequence[tuple[SpokenText, Mapping[str, str]]], maker: str) -> bytes:
    own = sorted({name for _, extra in spoken for name in extra} - set(_LABELS))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*_LABELS, *own))
    for line, extra in spoken:
        usual = (line.file, line.text, line.language or "", "speech", line.clip, maker)
        rows.writerow((*usual, *(extra.get(name, "") for name in own)))
    return text.getvalue().encode()
