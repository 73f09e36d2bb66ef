"""Vectors of texts on disk: plain ``.npy`` files below the program's home, by model, role and content, never pickles.

``<home>/text_vectors/<model digest>/`` holds, digests shortened to 16 characters,

- ``<collection's SHA-256>-<role>.npy``: float32 ``(rows, dimensions)``, memory-mapped; while it is made, a folder of
  the same name without suffix with its finished blocks; with another suffix, the links of an index over it;
- ``texts-<role>/<number>.npy``: rows of the SHA-256 of a text and its vector.

Every file is written beside its place and renamed, so that a killed process leaves whole files only.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from codec_superb.applications.interface import Samples, TextRole
from codec_superb.applications.text.nearest import LINKS_SUFFIX
from codec_superb.data_manifests.files import PARTIAL, remove_partial, replacing
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.reference_predictions import SHORT, alone
from codec_superb.pipeline.workers.progress import Progress

_KEY_BYTES = 32


def folder_of(digest: str) -> Path:
    """Return the folder of the vectors of a model, by its digest; it need not exist."""
    return codec_superb_home() / "text_vectors" / digest[:SHORT]


def key_of(text: str) -> bytes:
    """Return the key of a text: its SHA-256 in UTF-8."""
    return hashlib.sha256(text.encode()).digest()


class CollectionVectors:
    """The file of one collection's vectors, and its blocks while they are made."""

    def __init__(self, folder: Path, sha256: str, role: TextRole) -> None:
        self._path = folder / f"{sha256[:SHORT]}-{role}.npy"
        self._blocks = self._path.with_suffix("")
        self.links = self._path.with_suffix(LINKS_SUFFIX)
        """Of an index of these vectors, where one was built."""

    def whole(self) -> Samples | None:
        """Return the vectors memory-mapped, None where they are not all there."""
        found: Samples | None = _opened(self._path)
        return found

    @contextmanager
    def writing(self, progress: Progress) -> Iterator[None]:
        """Keep other processes from making the same vectors; they wait, and find them made."""
        with alone(self._path.with_name(f".{self._path.name}.lock"), progress, "embeds the same collection"):
            remove_partial(self._blocks)
            yield

    def has(self, block: int) -> bool:
        """Whether a block is finished."""
        return _opened(self._block(block)) is not None

    def put(self, block: int, vectors: Samples) -> None:
        """Store a block; of one that is there nothing changes."""
        self._blocks.mkdir(parents=True, exist_ok=True)
        _save(self._block(block), vectors)

    def join(self, rows: int, blocks: int) -> Samples:
        """Join the blocks to the whole, and return it. Raises PipelineError where they do not fit together."""
        parts = [_opened(self._block(number)) for number in range(blocks)]
        shapes = {0 if part is None else int(part.shape[1]) for part in parts}
        if len(shapes) > 1 or sum(len(part) for part in parts if part is not None) != rows:
            shutil.rmtree(self._blocks)
            raise PipelineError(
                f"expected {rows} vectors of one length, got lengths {', '.join(map(str, shapes))}: the model, or the "
                "collection, changed while its texts were embedded; try again"
            )
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, *shapes)}
        # written, not mapped: storing into a map on a full disk is no error but a signal that ends the process
        with replacing(self._path) as temporary, temporary.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for part in parts:
                assert part is not None
                file.write(part.astype("<f4", copy=False).tobytes())
        shutil.rmtree(self._blocks)
        made = self.whole()
        assert made is not None
        return made

    def _block(self, number: int) -> Path:
        return self._blocks / f"{number:08d}.npy"


class TextRows:
    """The vectors of single texts in one role."""

    def __init__(self, folder: Path, role: TextRole) -> None:
        self._folder = folder / f"texts-{role}"
        self._rows: dict[bytes, Samples] = {}
        self._read: set[str] = set()
        self.dimensions: int | None = None
        """Numbers of a vector, once there is one."""

    def refresh(self) -> Mapping[bytes, Samples]:
        """Read what other processes have added, and return all vectors, memory-mapped, by :func:`key_of` their text."""
        for path in self._files():
            if path.name not in self._read:
                self._read.add(path.name)
                self._take(_opened(path))
        return self._rows

    @contextmanager
    def writing(self, progress: Progress) -> Iterator[None]:
        """Keep other processes from embedding the same texts."""
        with alone(self._folder.with_name(f".{self._folder.name}.lock"), progress, "embeds texts with the same model"):
            remove_partial(self._folder)
            yield

    def put(self, keys: Sequence[bytes], vectors: Samples) -> None:
        """Store vectors; only while :meth:`writing`. Raises PipelineError where earlier ones have another length."""
        if self.dimensions not in {None, vectors.shape[1]}:
            raise PipelineError(
                f"expected vectors of {self.dimensions} numbers, as the model gave before, got {vectors.shape[1]}: it "
                f"is another model under the same name; name it by its revision, or delete {self._folder.parent}"
            )
        rows = np.empty(len(keys), [("key", "u1", (_KEY_BYTES,)), ("vector", "<f4", (vectors.shape[1],))])
        rows["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), _KEY_BYTES)
        rows["vector"] = vectors
        self._folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.stem) for path in self._files()), default=-1)
        path = self._folder / f"{number:08d}.npy"
        _save(path, rows)
        self._read.add(path.name)
        self._take(rows)

    def _files(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("*.npy") if path.stem.isdecimal())

    def _take(self, rows: Any) -> None:
        if rows is not None and len(rows):
            self.dimensions = rows["vector"].shape[1]
            keys = rows["key"].tobytes()
            places = range(0, len(keys), _KEY_BYTES)
            self._rows |= {
                keys[at : at + _KEY_BYTES]: row for at, row in zip(places, np.asarray(rows["vector"]), strict=True)
            }


def _save(path: Path, array: Any) -> None:
    # numpy writes into a file itself, and its error for a full disk does not say that it is full
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    with replacing(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def _opened(path: Path) -> Any:
    """Return an array memory-mapped; None where there is none, or a damaged one, which is removed."""
    assert not path.name.startswith(PARTIAL)
    try:
        return np.load(path, "r", allow_pickle=False)
    except FileNotFoundError:
        return None
    except (ValueError, EOFError):  # any other error is the machine's, and says nothing of the file
        path.unlink(missing_ok=True)
        return None
