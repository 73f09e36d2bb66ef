"""The file format of a backup: a zip with each table as Parquet, each submission file unchanged, and a manifest.

Members are stored uncompressed (Parquet and submissions are compressed already); the manifest lists them with size and
SHA-256. The format does not depend on the kind of database.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field, NonNegativeInt, ValidationError

from codec_superb.record import Record
from codec_superb.server.errors import OperationError

MANIFEST = "manifest.json"
TABLES = "tables/"
CHUNK = 1 << 20
_MANIFEST_LIMIT = 100_000_000
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
TableName = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]


class Part(Record):
    """One file in the backup."""

    bytes: NonNegativeInt
    sha256: Sha256


class BackupTable(Part):
    """The rows of one table."""

    rows: NonNegativeInt


class BackupManifest(Record):
    """The content of a backup; a backup with other members is damaged."""

    format: Literal["codec-superb backup 1"] = "codec-superb backup 1"
    created: str
    """Start of the transaction that read the tables, ISO 8601, UTC."""
    program: str
    """Version of codec-superb."""
    schema_revision: str
    database: str
    """Kind of the source database."""
    tables: dict[TableName, BackupTable]
    files: dict[Sha256, NonNegativeInt]
    """Size of each submission file, by its SHA-256."""
    missing: dict[Sha256, NonNegativeInt] = Field(default_factory=dict)
    """The same of files of withdrawn submissions that were not whole in their place."""

    @property
    def parts(self) -> dict[str, Part]:
        """Everything but the manifest, by its name in the zip."""
        tables = {table_name(name): Part(bytes=part.bytes, sha256=part.sha256) for name, part in self.tables.items()}
        return tables | {file_name(name): Part(bytes=size, sha256=name) for name, size in self.files.items()}


def table_name(table: str) -> str:
    """Name in the zip of a table."""
    return f"{TABLES}{table}.parquet"


def file_name(sha256: str) -> str:
    """Name in the zip of a submission file."""
    return f"submissions/{sha256}.zip"


class HashingStream:
    """Forwards written data and counts and hashes it; implements the methods of a file that Arrow needs."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._hash = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write and count."""
        self._hash.update(data)
        self.size += len(data)
        return self._target.write(data)

    def tell(self) -> int:
        """Return the bytes written so far."""
        return self.size

    def flush(self) -> None:
        """Leave flushing to the target."""

    def close(self) -> None:
        """Mark the stream as closed; the target is closed by its owner."""
        self.closed = True

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of what was written."""
        return self._hash.hexdigest()


class BackupFile:
    """A backup open for reading; the manifest is read at once, parts are verified when they are extracted."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self.manifest = self._read_manifest()

    def extract(self, name: str, target: IO[bytes]) -> None:
        """Copy a part. Raises OperationError when its size or SHA-256 is not that of the manifest."""
        part = self.manifest.parts[name]
        stream = HashingStream(target)
        with _damage_named(self.path), self._archive.open(name) as source:
            # no further than promised: a damaged size must not fill the disk
            while (chunk := source.read(CHUNK)) and stream.size <= part.bytes:
                stream.write(chunk)
        if (stream.size, stream.sha256) != (part.bytes, part.sha256):
            raise _damaged(self.path, f"{name}: expected {part.bytes} bytes with SHA-256 {part.sha256}, got others")

    def _read_manifest(self) -> BackupManifest:
        with _damage_named(self.path):
            if self._archive.getinfo(MANIFEST).file_size > _MANIFEST_LIMIT:
                raise zipfile.BadZipFile("the manifest is too large")
            # A damaged method would hand stored bytes to zlib, bz2 or lzma, each with errors of its own.
            if packed := [
                info.filename for info in self._archive.infolist() if info.compress_type != zipfile.ZIP_STORED
            ]:
                raise zipfile.BadZipFile(f"expected stored members, {packed[0]} is compressed")
            manifest = BackupManifest.model_validate_json(self._archive.read(MANIFEST))
        listed, found = [MANIFEST, *manifest.parts], self._archive.namelist()
        if sorted(listed) != sorted(found):
            odd = sorted({*listed} ^ {*found}) or ["a name that occurs twice"]
            raise _damaged(self.path, f"manifest and content differ: {', '.join(odd[:3])}")
        return manifest


@contextmanager
def open_backup(path: Path) -> Iterator[BackupFile]:
    """Open a backup. Raises OperationError when it is not one, or damaged."""
    with _damage_named(path):
        archive = zipfile.ZipFile(path)
    with archive:
        yield BackupFile(path, archive)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Convert the exceptions of reading a damaged zip to one OperationError."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise _damaged(path, str(error).strip("'\"")) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise _damaged(path, f"manifest: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
    except FileNotFoundError as error:
        raise OperationError(f"expected a backup at {path}, found no file") from error


def _damaged(path: Path, reason: str) -> OperationError:
    return OperationError(f"{path} is no backup of the leaderboard, or damaged ({reason}); take another backup")
