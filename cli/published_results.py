"""Lists and removes results that a maintainer imported: for ``admin mseb`` and ``admin tasks``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.server_database import ACTOR, server_transaction


def list_published(
    kind: Literal["mseb", "ultraeval"], database: str | None, storage: Path | None, *, as_json: bool
) -> None:
    """Print the name, number of values, source and date of each."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.published.importing import NOUNS
        from codec_superb.server.published.repository import imported

        noun = NOUNS[kind][0]
        data = [
            {noun: row.name, "values": len(row.results), "source": row.source,
             "added": row.added.isoformat(timespec="seconds")}
            for row in imported(session, kind)
        ]  # fmt: skip
    if as_json:
        print_json(data)
        return
    head = (noun, "values", "source", "added")
    print_table("", head, [tuple(str(entry[name]) for name in head) for entry in data], numbers_from=len(head))


def remove_published(
    kind: Literal["mseb", "ultraeval"], name: str, database: str | None, storage: Path | None, *, as_json: bool
) -> None:
    """Remove those of one encoder or model."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.published.importing import remove

        remove(session, kind, name, actor=ACTOR)
    if as_json:
        print_json({"removed": name})
    else:
        typer.echo(f"{name} is removed")
