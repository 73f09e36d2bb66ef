"""Whatever is wrong with a backup is found before anything is touched, and said in one sentence."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.server.rows import fill_tables

from codec_superb.cli.main import call
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import restore_backup, verify_backup
from codec_superb.server.settings import Settings


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one backup for all tests, which only read it."""
    folder = tmp_path_factory.mktemp("backup")
    settings = Settings(storage=folder / "storage")
    settings.storage.mkdir()
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        fill_tables(session, settings.files)
    database.close()
    return make_backup(settings, folder / "backup.zip").path


def rewritten(backup: Path, folder: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> Path:
    """Copy a backup after ``change`` worked on its manifest and its other parts."""
    with zipfile.ZipFile(backup) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    change(manifest, parts)
    out = folder / "rewritten.zip"
    with zipfile.ZipFile(out, "w") as target:
        for name, content in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            target.writestr(name, content)
    return out


def _is_refused(path: Path, tmp_path: Path) -> str:
    """Try to restore it, see that no row and no file came of it, and return the reason."""
    target = Settings(storage=tmp_path / "target")
    with pytest.raises(OperationError) as caught:
        restore_backup(target, path)
    assert [entry.name for entry in target.storage.rglob("*") if entry.is_file() and entry.suffix != ".lock"] == []
    return str(caught.value)


def _drop_table(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    del manifest["tables"]["results"]


def _drop_part(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    del parts["tables/results.parquet"]


def _add_part(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    parts["../../outside"] = b"x"


def _change_part(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    parts["tables/results.parquet"] = parts["tables/results.parquet"][:-1] + b"x"


def _lengthen_part(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    parts["tables/audit.parquet"] += b"x"


def _escape(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    manifest["tables"]["../outside"] = manifest["tables"]["audit"]


def _other_format(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    manifest["format"] = "codec-superb backup 2"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_drop_table, "manifest and content differ: tables/results.parquet"),
        (_drop_part, "manifest and content differ: tables/results.parquet"),
        (_add_part, "manifest and content differ: ../../outside"),
        (_change_part, "tables/results.parquet: expected"),
        (_lengthen_part, "tables/audit.parquet: expected"),
        (_escape, "manifest: tables"),
        (_other_format, "manifest: format"),
    ],
)
def test_a_backup_that_was_changed_is_refused(
    backup: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None], words: str
) -> None:
    """Parts that are missing, added, changed, longer or named like a way out are found; nothing is restored."""
    reason = _is_refused(rewritten(backup, tmp_path, change), tmp_path)
    assert words in reason
    assert reason.endswith("take another backup")
    assert not (tmp_path / "outside").exists()


def test_a_wrong_count_of_rows_is_refused(backup: Path, tmp_path: Path) -> None:
    """A manifest that promises other rows than come back undoes the whole restore."""

    def promise(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
        manifest["tables"]["results"]["rows"] += 1

    with pytest.raises(OperationError, match="results: expected 19 rows, got 18"):
        restore_backup(Settings(storage=tmp_path / "target"), rewritten(backup, tmp_path, promise))
    database = Database(Settings(storage=tmp_path / "target").database_url)
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE name = 'results'").scalar() == 0
    database.close()


def _exchange(manifest: dict[str, Any], parts: dict[str, bytes], table: str, content: bytes, rows: int) -> None:
    parts[f"tables/{table}.parquet"] = content
    told = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "rows": rows}
    manifest["tables"][table] = {**manifest["tables"].get(table, {}), **told}


def _parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def _without_accounts(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    del manifest["tables"]["accounts"], parts["tables/accounts.parquet"]


def _another_table(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    _exchange(manifest, parts, "alembic_version", _parquet(pa.table({"version_num": ["0001"]})), 1)


def _older_schema(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    manifest["schema_revision"] = "0004"


def _another_column(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    audit = pq.read_table(io.BytesIO(parts["tables/audit.parquet"]))
    changed = audit.set_column(audit.schema.get_field_index("at"), "at", pa.array(["x"] * audit.num_rows))
    _exchange(manifest, parts, "audit", _parquet(changed), audit.num_rows)


def _no_parquet(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    _exchange(manifest, parts, "audit", b"x", 1)


def _no_revision(manifest: dict[str, Any], parts: dict[str, bytes]) -> None:
    empty = pq.read_table(io.BytesIO(parts["tables/revision.parquet"])).slice(0, 0)
    _exchange(manifest, parts, "revision", _parquet(empty), 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_accounts, "expected the tables of schema"),
        (_another_table, "alembic_version"),
        (_older_schema, "expected the tables of schema 0004"),
        (_another_column, "audit: expected the columns of its schema, got others: at (string)"),
        (_no_parquet, "audit: expected a Parquet file"),
        (_no_revision, "expected one row of the table revision"),
    ],
)
@pytest.mark.sample(2, among="forged backups")
def test_a_backup_that_was_forged_is_refused_by_both(
    backup: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None], words: str
) -> None:
    """Hashes that fit what was altered do not help: ``--check`` and the restore itself say the same sentence."""
    forged = rewritten(backup, tmp_path, change)
    for refuse in (lambda: verify_backup(forged), lambda: restore_backup(Settings(storage=tmp_path / "to"), forged)):
        with pytest.raises(OperationError) as caught:
            refuse()
        assert words in str(caught.value)
        assert str(caught.value).endswith("take another backup")


@pytest.mark.parametrize("kept", [0, 10, 0.3, 0.9, -1])
def test_a_cut_file_is_refused(backup: Path, tmp_path: Path, kept: float) -> None:
    """A file that a full disk cut short anywhere is found."""
    whole = backup.read_bytes()
    end = int(kept * len(whole)) if isinstance(kept, float) else kept
    (tmp_path / "cut.zip").write_bytes(whole[:end])
    assert "is no backup of the leaderboard, or damaged" in _is_refused(tmp_path / "cut.zip", tmp_path)


@pytest.mark.sample(1, among="backups")
def test_flipped_bits_are_found(backup: Path, tmp_path: Path) -> None:
    """A bit that rots is told in one sentence, unless it changes nothing that is read."""
    whole, draw, found = backup.read_bytes(), random.Random(3), 0
    for _ in range(200):
        place = draw.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        (tmp_path / "flipped.zip").write_bytes(flipped)
        try:
            verify_backup(tmp_path / "flipped.zip")
        except OperationError:
            found += 1
    assert found > 190  # the rest hit dates and attributes in the zip's own headers


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_method_is_found(backup: Path, tmp_path: Path, method: int) -> None:
    """Members are stored: a directory entry that names a compression is damage, and nothing is decompressed."""
    damaged = bytearray(backup.read_bytes())
    entry = damaged.rindex(b"PK\x01\x02")  # the last entry of the central directory; its method is at byte 10
    damaged[entry + 10] = method
    (tmp_path / "damaged.zip").write_bytes(damaged)
    with pytest.raises(OperationError, match="is compressed"):
        verify_backup(tmp_path / "damaged.zip")


def test_the_command_line_says_it(backup: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """``admin restore --check`` tells what a whole file holds, and ends with 2 for one that is none."""
    options = ("--storage", str(tmp_path / "storage"))
    assert call(["admin", "restore", str(backup), "--check", "--json", *options]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["restored"], facts["files"], facts["tables"]["submissions"]) == (False, 3, 3)
    assert call(["admin", "restore", str(backup), *options]) == 0
    assert "restored: backup of" in capfd.readouterr().err
    assert call(["admin", "backup", str(tmp_path), "--json", *options]) == 0
    assert Path(json.loads(capfd.readouterr().out)["file"]).parent == tmp_path
    assert call(["admin", "restore", str(tmp_path / "nothing.zip"), *options]) == 2
    assert "found no file" in capfd.readouterr().err
