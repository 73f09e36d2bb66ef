"""Export the references of a dataset as WAV files with an index, for codecs that run outside of this program.

``index.csv`` has a line a clip: ``clip``, ``file`` (relative), ``rate`` in Hz, ``samples``, ``category``, ``encoding``,
and ``sha256`` of the file. Files are mono, as the pipeline compares with (the mean of the channels), at the clip's own
rate, in the smallest encoding that holds every sample exactly: 16 or 24 bits, else 32-bit float.
"""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests import Category, Dataset, open_dataset
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.files import file_sha256, in_words, locked, remove_partial, write_atomically
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.names import reference_names
from codec_superb.pipeline.output_file import make_folder, write_output, writing
from codec_superb.pipeline.runs.dataset_access import load_mono, reason_of, refuse_output_inside
from codec_superb.pipeline.runs.journal import Journal, read_journal
from codec_superb.pipeline.runs.outcome import FailedClip
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.workers.progress import Progress, SilentProgress
from codec_superb.record import Record

INDEX = "index.csv"
_BYTES = 4
"""Bytes of a sample at most."""
_BITS = {16: "<i2", 24: "<i4"}
Encoding = Literal["PCM_16", "PCM_24", "FLOAT"]


class ExportedClip(Record):
    """A line of the index."""

    clip: str
    file: str
    rate: int
    samples: int
    category: Category
    encoding: Encoding
    sha256: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What :func:`export_references` did."""

    folder: Path
    clips: int
    """Files that are there now."""
    done: int
    """Files written by this call."""
    failed: list[FailedClip] = field(default_factory=list)


def export_references(
    dataset: str,
    folder: Path,
    *,
    limit: int | None = None,
    category: Category | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the clips of ``dataset`` (or ``limit`` of them) below ``folder``; what is there and unchanged is kept.

    Clips that cannot be read are listed and have no file. Raises DatasetError, and PipelineError where the disk has no
    room for all of them, where ``folder`` lies inside the dataset, or where a file would be replaced that no export
    wrote.
    """
    opened = open_dataset(dataset, category=category)
    refuse_output_inside(dataset, opened, folder)
    clips, names = select_clips(opened, limit), reference_names(opened.clip_ids())
    progress = progress or SilentProgress()
    make_folder(folder)
    # another state of the dataset has another journal: its files are written again
    with (
        writing(folder),
        locked(folder / ".export.lock"),
        _journal(folder, opened, [names[clip] for clip in clips]) as journal,
    ):
        remove_partial(folder)
        known = {clip: journal.last(clip) for clip in clips}
        lines = {clip: line for clip, line in known.items() if line is not None and _is_whole(folder, line)}
        todo = [clip for clip in clips if clip not in lines]
        _refuse_full(opened, todo, folder)
        progress.start(f"export {opened.name}", len(clips), len(lines))
        failed = []
        for clip in todo:
            try:
                lines[clip] = _export(opened, clip, folder, names[clip], journal)
            except AudioFileError as error:
                failed.append(FailedClip(clip, "load", reason_of(error, opened.clip(clip))))
            progress.advance()
        write_output(folder / INDEX, _csv([lines[clip] for clip in clips if clip in lines]))
    return Exported(folder, len(lines), len(todo) - len(failed), failed)


def _journal(folder: Path, dataset: Dataset, files: Sequence[str]) -> Journal[ExportedClip]:
    """Open the journal of a state of the dataset. Raises PipelineError where one of ``files`` is there as another's."""
    journals = list(folder.glob(".export-*.jsonl"))
    ours = {line.file for journal in journals for line in read_journal(journal, ExportedClip)}
    written = files if journals else (*files, INDEX)
    if foreign := [name for name in written if name not in ours and (folder / name).exists()]:
        raise PipelineError(f"{folder / foreign[0]} is there, and no export wrote it: name another folder")
    return Journal(folder / f".export-{dataset.manifest_hash[:16]}.jsonl", ExportedClip)


def _refuse_full(dataset: Dataset, todo: Sequence[str], folder: Path) -> None:
    """Raise PipelineError unless the disk has room for all files, where their headers tell how long they are."""
    needed = 0
    for clip in todo:
        try:
            header = dataset.clip(clip).header()
        except OSError:  # reported when it is its turn
            continue
        needed += header[1] * _BYTES if header else 0
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise PipelineError(
            f"expected {in_words(needed)} free in {folder} for {len(todo)} references, got {in_words(free)}: "
            "free space, name another folder, or export fewer with --limit"
        )


def _is_whole(folder: Path, line: ExportedClip) -> bool:
    """Whether a file is there as it was written."""
    try:
        return file_sha256(folder / line.file) == line.sha256
    except OSError:
        return False


def _export(dataset: Dataset, clip_id: str, folder: Path, name: str, journal: Journal[ExportedClip]) -> ExportedClip:
    clip = dataset.clip(clip_id)
    audio, rate = load_mono(clip)
    content, encoding = wav(audio, rate)
    line = ExportedClip(
        clip=clip_id, file=name, rate=rate, samples=audio.size, category=clip.category, encoding=encoding,
        sha256=hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    # the line first: what is killed between the two is known as an export's, and written again
    journal.append(line)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content, sync=False)
    return line


def wav(audio: NDArray[np.float32], rate: int) -> tuple[bytes, Encoding]:
    """Return mono ``audio`` ``(samples,)`` as a WAV file that holds every sample exactly, and its encoding."""
    import soundfile
    from scipy.io import wavfile

    content = io.BytesIO()
    for bits, kind in _BITS.items():
        # exact in single precision: a power of two
        steps = audio * np.float32(1 << (bits - 1))
        if (steps == np.rint(steps)).all() and -(1 << (bits - 1)) <= steps.min() and steps.max() < 1 << (bits - 1):
            encoding: Encoding = "PCM_16" if bits == 16 else "PCM_24"  # noqa: PLR2004
            # integers: libsndfile scales floats by 32767. It takes 24 bits in the upper ones of 32
            whole = steps.astype(kind) << (8 if encoding == "PCM_24" else 0)
            soundfile.write(content, whole, rate, subtype=encoding, format="WAV")
            return content.getvalue(), encoding
    # libsndfile notes the time in a WAV of floats: two exports would differ
    wavfile.write(content, rate, audio)
    return content.getvalue(), "FLOAT"


def _csv(lines: Sequence[ExportedClip]) -> bytes:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(ExportedClip.model_fields)
    rows.writerows(line.model_dump().values() for line in lines)
    return text.getvalue().encode()
