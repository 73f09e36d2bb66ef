"""``codec-superb admin backup`` and ``admin restore``: the leaderboard's database and files as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import MEGABYTE, note, print_json
from codec_superb.cli.options import JsonOption, plain_path
from codec_superb.cli.server_options import (
    DatabaseOption,
    StorageOption,
    missing_extra,
    private_files,
    server_settings,
)
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.server.operations.backup_file import BackupManifest

FILES_LACK = 3
SHOWN = 5


def backup(
    target: Annotated[Path, typer.Argument(metavar="DIR|FILE.zip", help="The file, or a folder to put it into.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Back up database and submission files into one file, also while the service runs.

    Exit 3 where files of withdrawn submissions lack: the backup is whole without them, and names them.
    """
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.operations.backup import make_backup
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    with private_files():
        made = make_backup(settings, target)
    if as_json:
        print_json({"file": str(made.path), "bytes": made.size, **_facts(made.manifest)})
    else:
        note(f"{plain_path(made.path)}: {_words(made.manifest)}, {made.size / MEGABYTE:.1f} MB")
    if made.manifest.missing:
        raise typer.Exit(FILES_LACK)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="What `admin backup` wrote.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Remove the leaderboard that is there for good.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only verify the file; change nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into an empty database of either kind, all of it or nothing; stop the service first."""
    settings = server_settings(database, storage)
    try:
        from codec_superb.server.operations.restore import restore_backup, verify_backup
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    with private_files():
        manifest = verify_backup(file) if check else restore_backup(settings, file, replace=replace)
    if as_json:
        print_json({"file": str(file), "restored": not check, **_facts(manifest)})
    else:
        note(f"{'whole' if check else 'restored'}: {_words(manifest)}")


def _facts(manifest: BackupManifest) -> dict[str, Any]:
    return {
        "created": manifest.created,
        "program": manifest.program,
        "schema_revision": manifest.schema_revision,
        "tables": {name: table.rows for name, table in manifest.tables.items()},
        "files": len(manifest.files),
        "missing": sorted(manifest.missing),
    }


def _words(manifest: BackupManifest) -> str:
    rows = count(sum(table.rows for table in manifest.tables.values()), "row")
    files = count(len(manifest.files), "file")
    told = f"backup of {manifest.created}, schema {manifest.schema_revision}, {rows}, {files}"
    if manifest.missing:
        named = ", ".join(sorted(manifest.missing)[:SHOWN])
        told += f"; without {count(len(manifest.missing), 'file')} of withdrawn submissions, not whole there: {named}"
    return told
