"""A folder of runs for ``serve``: finds them, says how far each has come, and packs the finished ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.cli.dataset_facts import facts_of_prepared
from codec_superb.cli.options import DEFAULT_SAMPLES, plain_path
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.runs.folder import INFO, RunFolder, folders_with
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.runs.journal import read_journal
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.tables.rows import ResynthesisRow, ScoreLine
from codec_superb.server.datasets.service import DatasetFacts
from codec_superb.server.local.runs import LocalCodec, LocalRun
from codec_superb.web.text import count

_TABLES = ("clips.parquet", "pairs.parquet", "vectors.parquet")
_SIGNS = (INFO, "clips.parquet", "journal")
"""Any of these makes a folder one of a run, be it a broken one."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was read of one run folder, and the stamps of its files then."""

    results: str
    """Stamp of the files that a submission is made of."""
    journals: str
    """Stamp of the others, which grow while a stage runs."""
    run: LocalRun
    info: RunInfo | None


class RunsOnDisk:
    """The runs below a folder: the folder of a run, of a codec's runs, or of many codecs."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunFolderError(f"expected a folder of runs, got {folder}; codec-superb bench --out {folder} makes it")
        self._folder = folder
        self._looks: dict[Path, _Look] = {}
        self._packed: dict[str, list[Path]] = {}

    @property
    def place(self) -> str:
        """Path, for people."""
        return plain_path(self._folder)

    def look(self) -> Sequence[LocalCodec]:
        """Find all runs; of those whose files have not changed since the last call only times and sizes are read."""
        self._looks = {path: self._one(path) for path in folders_with(_SIGNS, self._folder)}
        groups: dict[str, list[Path]] = {}
        for path, look in self._looks.items():
            own = " on own datasets" if look.info is not None and look.info.dataset.location else ""
            groups.setdefault(self._codec_folder(path) + own, []).append(path)
        self._packed = {name: [path for path in paths if self._is_finished(path)] for name, paths in groups.items()}
        return [
            LocalCodec(name, tuple(self._looks[path].run for path in paths), self._stamp(self._packed[name]))
            for name, paths in groups.items()
        ]

    def pack(self, codec: LocalCodec, out: Path) -> str:
        """Write the submission of a codec's finished runs; without sound, saying why, where no clip can be read."""
        runs = self._packed[codec.name]
        try:
            pack(runs, out, samples=DEFAULT_SAMPLES, any_licence=True)
        except (PipelineError, DatasetError) as error:
            pack(runs, out)  # raises where sound is not what is wrong
            return f"without sound: {error}"
        return ""

    def unknown_datasets(self, codec: LocalCodec, known: dict[str, str]) -> Sequence[DatasetFacts]:
        """Describe the benchmark's datasets of its finished runs that are not known, as they are on this machine."""
        infos = [self._looks[path].info for path in self._packed[codec.name]]
        datasets = [info.dataset for info in infos if info is not None and not info.dataset.location]
        return [
            facts_of_prepared(one.name, metrics=False) for one in datasets if known.get(one.name) != one.manifest_hash
        ]

    def _one(self, path: Path) -> _Look:
        results = _stamp_of(path / INFO, *(path / name for name in _TABLES))
        before = self._looks.get(path)
        same = before if before is not None and before.results == results else None
        if same and same.run.state != "unfinished":  # what probes append to a journal changes nothing then
            return same
        journals = _stamp_of(*sorted((path / "journal").glob("*.jsonl")))
        if same and same.journals == journals:
            return same
        return _Look(results, journals, *_read(path, self._folder))

    def _codec_folder(self, run: Path) -> str:
        """Name the folder of a run: below the one that is shown, by its own name where it is that one or above it."""
        place = run.parent.relative_to(self._folder) if run != self._folder else Path()
        return run.resolve().parent.name if place == Path() else str(place)

    def _is_finished(self, path: Path) -> bool:
        return self._looks[path].run.state == "finished"

    def _stamp(self, runs: Sequence[Path]) -> str:
        return " ".join(self._looks[path].results for path in runs)


def _stamp_of(*files: Path) -> str:
    """Hash which file each is, its time and its size."""
    digest = hashlib.sha256()
    for file in files:
        try:
            state = file.stat()
        except OSError:
            continue
        # a file that was written anew and renamed has another inode, whatever its time and size
        digest.update(f"{file.name} {state.st_ino} {state.st_mtime_ns} {state.st_size}\n".encode())
    return digest.hexdigest()


def _read(path: Path, folder: Path) -> tuple[LocalRun, RunInfo | None]:
    """Say how far a run has come, from its ``run.json`` and, where it is not finished, the lines of a journal."""
    place = str(path.relative_to(folder)) if path != folder else path.resolve().name
    run = RunFolder(path)
    try:
        info = run.info()
    except (PipelineError, OSError) as error:
        return LocalRun(place, "broken", str(error)), None
    selected, clips = info.dataset.selected, count(info.dataset.clips, "clip")
    if info.status == "scored" and run.has_table():
        try:
            failed = sum(row.status != "ok" for row in run.rows())
        except (PipelineError, OSError) as error:
            return LocalRun(place, "broken", str(error)), info
        whole = clips if selected == info.dataset.clips else f"{selected} of {clips}"
        return LocalRun(place, "finished", whole + _of_them(failed)), info
    journal, failed = path / "journal", 0
    if info.status != "started" and run.has_table():
        command, words = "score", "scored"
        done = len({line.clip for line in read_journal(journal / "score.jsonl", ScoreLine)})
    else:
        command, words = "import" if (journal / "import.jsonl").exists() else "resynth", "resynthesised"
        states = {row.clip: row.status for row in read_journal(journal / "resynth.jsonl", ResynthesisRow)}
        done, failed = len(states), sum(status != "ok" for status in states.values())
    detail = f"{min(done, selected)} of {count(selected, 'clip')} {words}{_of_them(failed)}; "
    detail += f"codec-superb {command} goes on with it, unless it runs now"
    return LocalRun(place, "unfinished", detail), info


def _of_them(failed: int) -> str:
    return f", {failed} failed" if failed else ""
