"""The sound of a clip that lies in a store: an object, a part of one (WebDataset), or a cell of a table (Parquet)."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.audio.cells import audio_bytes
from codec_superb.data_manifests.audio.container import missing_bytes
from codec_superb.data_manifests.audio.quantise import quantise_24_bits
from codec_superb.data_manifests.audio.samples import Samples, flac_bytes, hash_samples
from codec_superb.data_manifests.audio.store import decode_any
from codec_superb.data_manifests.errors import AudioFileError, ObjectError
from codec_superb.data_manifests.objects.cache import ObjectCache, store_cache
from codec_superb.data_manifests.objects.object_file import open_table
from codec_superb.data_manifests.objects.stores import Found, store_of

BY_FFMPEG = frozenset({".m4a", ".aac", ".wma"})
"""What libsndfile does not read."""
_WHOLE = frozenset({"PCM_16", "PCM_24", "PCM_S8", "PCM_U8"})
"""Of libsndfile: what a FLAC of this program's holds as it is."""
_ROWS_AT_ONCE = 16


class _Group(NamedTuple):
    """A row group of a table."""

    number: int
    first: int
    """Its first row."""


class Measured(NamedTuple):
    """What is known of a clip's sound once it was read."""

    sha256: str
    """Of the samples."""
    sampling_rate: int
    frames: int
    size: int
    """Bytes of the file as it was published."""


@dataclass(frozen=True, slots=True)
class StoredSound:
    """Where a clip's file lies in a store; it is read when it is opened, through the cache of this machine."""

    url: str
    """Of the object that holds it."""
    size: int
    """Bytes of the file; of a cell, of its table."""
    version: str
    """Of the object; '' where nobody looked: its hash is compared."""
    start: int = 0
    """First byte of the file in the object."""
    row: int | None = None
    """Of a table, counted from 0."""
    column: str = ""
    suffix: str = ""
    """Of the file's name, in lower case, where it decides how the file is decoded."""
    stored: bool = False
    """Whether the clip is what ``datasets index`` stores of a published file on this machine: a FLAC of integers."""
    sha256: str = ""
    """As the clip list states it; '' where it is not known."""
    sha256_of: Literal["file", "samples"] = "file"

    def open(self, _mode: Literal["rb"] = "rb", /) -> BinaryIO:
        """Open the file for reading in bytes.

        Raises ObjectError where the object has changed, is truncated or cannot be had, AudioFileError where it holds no
        sound, StoreError where the store gives nothing, FetchError where a package is missing.
        """
        kept = store_cache()
        key = self._key(self.row)
        if file := kept.open(key):
            return file
        # the cells of a row group come together
        with kept.alone(key if self.row is None else self._key(-1 - self._group().number)):
            return kept.open(key) or io.BytesIO(self._fetch(kept) if self.row is None else self._fetch_group(kept))

    def __str__(self) -> str:
        """Return its address, and where it lies in the object."""
        if self.row is not None:
            return f"{self.url}, row {self.row + 1}"
        return f"{self.url}, byte {self.start}" if self.start else self.url

    def _key(self, row: int | None) -> str:
        place = [row, self.column] if row is not None else [self.start, self.size]
        return json.dumps([self.url, self.version or self.sha256, *place, self.stored])

    def _fetch(self, kept: ObjectCache) -> bytes:
        store, key = store_of(self.url)
        size, version = self.size, self.version
        if not version:
            _, size, version = store.stat(key)
        content = store.read(key, self.start, size, version)
        content = kept_form(content, self.suffix, str(self)) if self.stored else content
        if not self._is_right(content):
            raise ObjectError(f"{self}: its content is not what the clip list says: list its clips again")
        kept.put(self._key(None), content)
        return content

    def _is_right(self, content: bytes) -> bool:
        if not self.sha256:
            return True
        if self.sha256_of == "file":
            return hashlib.sha256(content).hexdigest() == self.sha256
        # of one version with that ETag: what was measured when it was listed
        return bool(self.version) or _samples(content, str(self))[0] == self.sha256

    def _group(self) -> _Group:
        """Return the row group that holds the cell."""
        assert self.row is not None
        first = 0
        metadata = table_of(self.url, self.size, self.version).metadata
        for group in range(metadata.num_row_groups):
            length = metadata.row_group(group).num_rows
            if self.row < first + length:
                return _Group(group, first)
            first += length
        raise ObjectError(f"{self}: the table has {first} rows")

    def _fetch_group(self, kept: ObjectCache) -> bytes:
        """Read the column of a row group, keep its sounds, and return this one: Parquet is compressed by column."""
        group, row = self._group()
        table = table_of(self.url, self.size, self.version)
        wanted: bytes | None = None
        failed: AudioFileError | None = None
        for batch in table.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=[self.column]):
            for cell in batch.column(0):
                try:
                    content = audio_bytes(cell.as_py(), str(self))
                    content = kept_form(content, self.suffix, str(self)) if self.stored else content
                    kept.put(self._key(row), content)
                    wanted = content if row == self.row else wanted
                except AudioFileError as error:  # costs its own clip
                    failed = error if row == self.row else failed
                row += 1
        if failed or wanted is None:
            raise failed or ObjectError(f"{self}: the table ends before it")
        return wanted


@lru_cache(maxsize=4)
def table_of(url: str, size: int, version: str) -> Any:
    """Return a Parquet table of a store, opened once: of several versions the one that is asked for."""
    return open_table(Found(url, size, version))


def kept_form(content: bytes, suffix: str, where: str) -> bytes:
    """Return what is kept of a published file: as it is where its integers fit into a FLAC, else that FLAC.

    So it has the samples of a clip that was stored on this machine. Raises AudioFileError, beginning with ``where``.
    """
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as sound:
            if sound.subtype in _WHOLE and sound.frames and not missing_bytes(io.BytesIO(content)):
                return content
    except soundfile.SoundFileError:
        pass
    return flac_bytes(decode_published(content, suffix, where))


def decode_published(content: bytes, suffix: str, where: str) -> Samples:
    """Return the samples of an audio file, by FFmpeg where libsndfile does not read what its suffix says."""
    if suffix not in BY_FFMPEG:
        return decode_any(content, where)
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(content)
        file.flush()
        return quantise_24_bits(*read_audio(Path(file.name)))


def measure(content: bytes, suffix: str, where: str) -> Measured:
    """Return hash, rate and length of what is kept of a published file. Raises AudioFileError."""
    digest, rate, frames = _samples(kept_form(content, suffix, where), where)
    return Measured(digest, rate, frames, len(content))


def _samples(content: bytes, where: str) -> tuple[str, int, int]:
    """Return hash, rate and number of the samples of what is kept. Raises AudioFileError."""
    import soundfile

    try:
        data, rate = soundfile.read(io.BytesIO(content), dtype="int32", always_2d=True)
    except soundfile.SoundFileError as error:
        raise AudioFileError(f"{where} is no audio: {error}") from error
    return hash_samples(data, rate), rate, len(data)
