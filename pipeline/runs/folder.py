"""A run on disk: ``runs/<codec>/<dataset>/`` with its ``run.json``, audio, journals and table.

run.json             RunInfo, replaced atomically
audio/<clip>.flac    the resyntheses
tokens/<clip>.npy    their tokens, where a command asked to store them
clips.parquet        a row per clip of the last resynth call, sorted by id; written at the end of a stage
pairs.parquet        trials and ranks of probes that have some
vectors.parquet      frames of probes that keep some
journal/*.jsonl      the finished clips of each stage, from which an interrupted stage is resumed
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pydantic import ValidationError

from codec_superb.applications.plugged import join_stored
from codec_superb.data_manifests.files import remove_partial, write_atomically
from codec_superb.data_manifests.objects.store_path import Place, StorePath, readable
from codec_superb.pipeline.errors import ClipTableError, InUse, RunFolderError
from codec_superb.pipeline.output_file import make_folder
from codec_superb.pipeline.runs import audio_store, token_store
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.runs.journal import Journal, read_journal, read_new
from codec_superb.pipeline.runs.outcome import FailedClip
from codec_superb.pipeline.runs.shard import Shard, shard_of_folder
from codec_superb.pipeline.tables import clips as clip_table
from codec_superb.pipeline.tables import pairs as pair_table
from codec_superb.pipeline.tables import vectors as vector_table
from codec_superb.pipeline.tables.clip_columns import BLOCK, in_row_groups
from codec_superb.pipeline.tables.rows import (
    ClipRow,
    FramesRow,
    ImportLine,
    KeptRow,
    PredictionLine,
    ResynthesisRow,
    ScoreLine,
)
from codec_superb.pipeline.tables.stored_rows import StoredRows

if TYPE_CHECKING:
    import pyarrow as pa

INFO = "run.json"
_LEVELS = 3
"""Of folders below an output folder, with itself: codecs, datasets."""
_AT_ONCE = 8
"""Folders of a store that are listed at the same time."""
P = TypeVar("P", Path, StorePath)


class Run(Generic[P]):
    """One codec on one dataset, of this machine or of a store: what is read of it."""

    def __init__(self, path: P) -> None:
        self.path: P = path
        self.audio: P = path / "audio"
        self.tokens: P = path / "tokens"
        self._table: P = path / "clips.parquet"
        self._pairs: P = path / "pairs.parquet"
        self._vectors: P = path / "vectors.parquet"

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.path / INFO).is_file()

    def info(self) -> RunInfo:
        """Read ``run.json``; RunFolderError when it is missing, damaged or of another format."""
        try:
            info = RunInfo.model_validate_json((self.path / INFO).read_bytes())
        except FileNotFoundError:
            copied = "" if isinstance(self.path, Path) else ", which codec-superb copy writes last"
            raise RunFolderError(f"{self.path} is not a run: expected a file {INFO} in it{copied}") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"{part}: " for part in [".".join(map(str, first["loc"]))] if part)
            raise RunFolderError(
                f"{self.path / INFO} is not what this version writes: {where}{first['msg']}; run resynth --overwrite"
            ) from error
        join_stored(info.probes.values())
        return info

    def rows(self) -> Iterator[ClipRow]:
        """Yield the rows of the requested clips, sorted by clip id, without holding them all in memory."""
        with self._told():
            yield from self._opened()

    def stored_rows(self) -> StoredRows:
        """Read the same rows as columns."""
        with self._told():
            return StoredRows.read(self._opened())

    def has_table(self) -> bool:
        """Whether a stage has finished."""
        return self._table.is_file()

    def pairs(self) -> tuple[KeptRow, ...]:
        """Read the trials, ranks and frames of the probes; empty where no probe has any.

        Raises RunFolderError for a damaged file.
        """
        found: list[KeptRow] = []
        try:
            if self._pairs.is_file():
                found += pair_table.read_pairs(readable(self._pairs), name=str(self._pairs), max_rows=None)
            if self._vectors.is_file():
                found += vector_table.read_vectors(readable(self._vectors), name=str(self._vectors), max_rows=None)
        except ClipTableError as error:
            raise RunFolderError(f"{error}; delete the file and call probe again with --overwrite") from error
        return tuple(found)

    def audio_path(self, clip_id: str) -> P:
        """Path of the resynthesis of a clip; it need not exist."""
        return self.audio / audio_store.file_name(clip_id)

    def tokens_path(self, clip_id: str) -> P:
        """Path of the tokens of a clip; it need not exist."""
        return self.tokens / token_store.token_file_name(clip_id)

    def predictions(self) -> Iterator[PredictionLine]:
        """Yield the predictions on resyntheses, oldest first, also while a process adds to them."""
        return read_journal(self._journal_path("probe"), PredictionLine)

    def _journal_path(self, stage: str) -> P:
        return self.path / "journal" / f"{stage}.jsonl"

    def _opened(self) -> clip_table.ClipTable:
        table = self._finished_table()
        return clip_table.open_table(readable(table), name=str(table), leave=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise RunFolderError, which says how a damaged table is made again."""
        import pyarrow as pa

        try:
            yield
        except (ClipTableError, pa.ArrowException) as error:
            where = "" if isinstance(error, ClipTableError) else f"{self._table}: "
            again = "delete the file and call resynth, or import, again: what was finished is not done twice"
            again = again if isinstance(self.path, Path) else "copy the run there again"
            raise RunFolderError(f"{where}{str(error).rstrip('.')}; {again}") from error

    def _finished_table(self) -> P:
        """Return the table's path. Raises RunFolderError while resynth is not finished."""
        if self.info().status == "started" or not self.has_table():
            raise RunFolderError(
                f"the run {self.path} is not finished; call resynth again, or import, to go on with it"
            )
        return self._table


class RunFolder(Run[Path]):
    """A run on this machine, which stages write."""

    def __init__(self, path: Path) -> None:
        super().__init__(Path(path))

    def write_info(self, info: RunInfo) -> None:
        """Replace ``run.json``."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / INFO, info.model_dump_json(indent=1).encode())

    def table(self) -> pa.Table:
        """Read the whole table."""
        import pyarrow.parquet as pq

        with self._told():
            return pq.read_table(self._finished_table())

    def resyntheses(self) -> list[tuple[str, str | None]]:
        """Return clip and SHA-256 of the resynthesis of each row of the table, whatever the state of the run."""
        import pyarrow.parquet as pq

        with self._told():
            columns = pq.read_table(self._table, columns=["clip", "resynthesis_sha256"]).to_pydict()
        return list(zip(columns["clip"], columns["resynthesis_sha256"], strict=True))

    def write_rows(self, rows: Iterable[ClipRow], metrics: Sequence[str], probes: Sequence[str] = ()) -> None:
        """Replace the table."""
        clip_table.write_table(self._table, rows, metrics, probes)

    def write_blocks(self, blocks: Iterable[pa.Table], metrics: Sequence[str]) -> None:
        """Replace the table by blocks of columns, as :meth:`write_rows` does by rows."""
        clip_table.write_blocks(self._table, in_row_groups(blocks), clip_table.clip_schema(metrics))

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the table, or some columns of it, in blocks: what has a column of a million clips in flat memory."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self._told(), pq.ParquetFile(self._finished_table()) as file:
            for batch in file.iter_batches(BLOCK, columns=columns, use_threads=False):
                yield pa.Table.from_batches([batch])

    def row_groups(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the same by row groups, opening the file for each: a thousand tables may be read side by side."""
        import pyarrow.parquet as pq

        with self._told():
            path = self._finished_table()
            footer = pq.read_metadata(path)
            for number in range(footer.num_row_groups):
                with pq.ParquetFile(path, metadata=footer) as file:
                    yield file.read_row_group(number, columns=columns, use_threads=False)

    def failures(self) -> Iterator[FailedClip]:
        """Yield the clips without a resynthesis, sorted."""
        import pyarrow.compute as pc

        for block in self.blocks(["clip", "status", "stage", "error_type", "error"]):
            for row in block.filter(pc.equal(block["status"], "failed")).to_pylist():
                yield FailedClip(row["clip"], row["stage"], f"{row['error_type']}: {row['error']}")

    def write_pairs(self, rows: Sequence[KeptRow]) -> None:
        """Replace the trials, ranks and frames of all probes; a table without a row has no file."""
        pairs = [row for row in rows if not isinstance(row, FramesRow)]
        frames = [row for row in rows if isinstance(row, FramesRow)]
        if pairs:
            pair_table.write_pairs(self._pairs, pairs)
        else:
            self._pairs.unlink(missing_ok=True)
        if frames:
            vector_table.write_vectors(self._vectors, frames)
        else:
            self._vectors.unlink(missing_ok=True)

    def resynth_journal(self) -> Journal[ResynthesisRow]:
        """Open the journal of resyntheses: the newest line of a clip counts."""
        return Journal(self._journal_path("resynth"), ResynthesisRow)

    def import_journal(self) -> Journal[ImportLine]:
        """Open the journal of what resyntheses made elsewhere were taken from: the newest line of a clip counts."""
        return Journal(self._journal_path("import"), ImportLine)

    def score_journal(self) -> Journal[ScoreLine]:
        """Open the journal of scores."""
        return Journal(self._journal_path("score"), ScoreLine)

    def new_scores(self, offset: int, most: int) -> tuple[list[ScoreLine], int]:
        """Return up to ``most`` lines of the journal of scores from a byte on, and their end, also while it grows."""
        return read_new(self._journal_path("score"), ScoreLine, offset, most)

    def probe_journal(self) -> Journal[PredictionLine]:
        """Open the journal of predictions on resyntheses."""
        return Journal(self._journal_path("probe"), PredictionLine)

    def has_journal(self, stage: Literal["resynth", "score", "probe"]) -> bool:
        """Whether a stage has begun."""
        return self._journal_path(stage).is_file()

    def resynthesised(self) -> set[str]:
        """Return the clips that have a row, also while a process adds to them."""
        return {row.clip for row in read_journal(self._journal_path("resynth"), ResynthesisRow)}

    def forget(self, stage: Literal["resynth", "score"]) -> None:
        """Delete the results of a stage; for ``resynth`` those of all stages."""
        if stage == "score":
            self._journal_path(stage).unlink(missing_ok=True)
        else:  # file by file: other files in the folder belong to the user
            (self.path / INFO).unlink(missing_ok=True)
            self._table.unlink(missing_ok=True)
            self._pairs.unlink(missing_ok=True)
            self._vectors.unlink(missing_ok=True)
            for folder in (self.audio, self.tokens, self.path / "journal"):
                if folder.exists():
                    shutil.rmtree(folder)

    def set_aside(self) -> Path:
        """Rename the folder to a hidden one beside it, for results of another specification; return the new path."""
        number = 1
        while (place := self.path.with_name(f".{self.path.name}.old{number}")).exists():
            number += 1
        # a leading dot: find_runs does not look into it
        return self.path.rename(place)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run against other processes, and remove temporary files of killed ones.

        The kernel releases the flock(2) with the process. Raises InUse when another process holds it, and
        PipelineError where the parent folder cannot be created.
        """
        import fcntl

        make_folder(self.path.parent)
        handle = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                # flock(2): released by the kernel however the process ends; beside the folder, which may be renamed
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUse(f"another process is working on {self.path}; wait for it or end it") from None
            remove_partial(self.path)
            try:
                yield
            except BaseException:
                remove_partial(self.path)
                raise
        finally:
            os.close(handle)


AnyRun = RunFolder | Run[StorePath]


def find_runs(paths: Iterable[Path], shard: Shard | None = None) -> list[RunFolder]:
    """Find the runs in run folders, codec folders or whole output folders, sorted by path, each once.

    Shards of runs are passed over; with ``shard`` those of this number are found, and nothing else. Raises
    RunFolderError for a path without a run.
    """
    found: dict[Path, RunFolder] = {}
    for path in paths:
        runs = folders_with((INFO,), path, shards=shard is not None)
        if shard is not None:
            runs = [run for run in runs if run.name.endswith(shard.suffix)]
        if not runs:
            raise RunFolderError(_nothing_in(path, shard, find_shards([path])))
        found |= {folder.resolve(): RunFolder(folder) for folder in runs}
    return sorted(found.values(), key=lambda run: run.path)


def find_results(places: Iterable[Place]) -> list[AnyRun]:
    """Find runs as :func:`find_runs` does, also in stores, where they are read: what stands there is listed once.

    A run that is still being copied has no ``run.json``: it is found, and what is asked of it raises. Raises
    RunFolderError for a place without a run, StoreError where a store gives nothing.
    """
    found: dict[Place, AnyRun] = {}
    for place in places:
        runs = find_runs([place]) if isinstance(place, Path) else _stored_runs(place)
        found |= {run.path.resolve(): run for run in runs}
    return sorted(found.values(), key=lambda run: str(run.path).split("/"))


def _stored_runs(place: StorePath) -> list[Run[StorePath]]:
    found, level = [], [place]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in range(_LEVELS):
            below = []
            for folder, inner in pool.map(StorePath.listed, level):
                if (folder / INFO).is_file() or any(each.name == "journal" for each in inner):
                    found.append(Run(folder))
                else:
                    below += [each for each in inner if not each.name.startswith(".")]
            level = below
    if not found:
        raise RunFolderError(f"expected a run, a codec's folder or an output folder, found no {INFO} below {place}")
    return found


def open_run(place: Place) -> AnyRun:
    """Return the run at a place."""
    return RunFolder(place) if isinstance(place, Path) else Run(place)


def _nothing_in(path: Path, shard: Shard | None, shards: Sequence[RunFolder]) -> str:
    """Say what was expected in a folder, and what to do."""
    if shard is not None:
        of = f"other shards, {shards[0].path.name} the first" if shards else "no shard"
        return f"expected shard {shard} of a run in {path}, found {of}: call resynth --shard {shard} first"
    if shards:
        return (
            f"expected a whole run, found only shards in {path}: codec-superb merge joins them; "
            "score and probe take one with --shard I/N"
        )
    return f"expected a run, a codec's folder or an output folder, found no {INFO} in {path}"


def find_shards(paths: Iterable[Path]) -> list[RunFolder]:
    """Find the shards of runs in shards, codec folders or whole output folders, sorted by path, each once."""
    found = {
        folder.resolve(): RunFolder(folder) for path in paths for folder in folders_with((INFO,), path, shards=True)
    }
    return sorted(found.values(), key=lambda run: run.path)


def folders_with(names: Iterable[str], root: Path, *, shards: bool = False) -> list[Path]:
    """Return the folders with one of the names in them, sorted: ``root``, and those up to two levels below it.

    Folders that were set aside, that is, renamed to a hidden name, are passed over; so are shards of runs, or, with
    ``shards``, all else.
    """
    found = {path.parent for depth in ("", "*/", "*/*/") for name in names for path in root.glob(depth + name)}
    return sorted(
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
        and (shard_of_folder(path) is not None) == shards
    )
