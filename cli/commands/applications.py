"""``codec-superb applications``: list applications, probes and models, and whether the models can run here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.cli.task_lists import print_tasks, tasks_as_data


def command(
    places: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]…", help="Files or folders of tasks of your own.")
    ] = None,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="List understanding tasks: those of DIR, or all that are known.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List applications, their probes, and the models (backends) that they use, with licences; or tasks."""
    from codec_superb.applications.availability import availability
    from codec_superb.applications.catalogue import known_backends
    from codec_superb.applications.plugged import adopt, adopt_announced
    from codec_superb.applications.table import APPLICATIONS, PROBES

    adopt_announced()
    own = adopt((), places) if places else ()
    if tasks or places:
        listed = tasks_as_data([PROBES[key] for key in own] if own else PROBES.values())
        print_json({"tasks": listed}) if as_json else print_tasks(listed)
        return
    entries = known_backends()
    found = {name: availability(entry) for name, entry in entries.items()}
    if as_json:
        print_json({
            "applications": {name: list(probes) for name, probes in APPLICATIONS.items()},
            "probes": [
                {
                    "key": row.key, "label": row.label, "needs": row.needs, "categories": row.categories,
                    "figures": [figure.key for figure in row.metrics], "backend": row.backend, "paper": row.paper,
                    "origin": row.origin,
                }
                for row in PROBES.values()
            ],
            "tasks": tasks_as_data(PROBES.values()),
            "backends": [
                {"name": name, "probes": entry.probes, "summary": entry.summary, "origin": entry.origin,
                 **asdict(found[name])}
                for name, entry in entries.items()
            ],
        })  # fmt: skip
        return
    of = {key: [name for name, keys in APPLICATIONS.items() if key in keys] for key in PROBES}
    rows = [
        (
            ", ".join(of[row.key]),
            row.key,
            f"{row.label}{_mark(row.origin)}",
            ", ".join(row.needs),
            ", ".join(row.categories),
            row.backend,
        )
        for row in PROBES.values()
    ]
    head = ("application", "probe", "title", "label", "clips", "default backend")
    print_table("Probes", head, rows, numbers_from=len(head))
    print()
    backends = [
        (
            name,
            ", ".join(entry.probes),
            there.state,
            there.licence,
            f"{entry.summary}{_mark(entry.origin)}; {there.detail}",
        )
        for (name, entry), there in zip(entries.items(), found.values(), strict=True)
    ]
    columns = ("backend", "probes", "here", "licence of the model", "what it is")
    print_table("Backends", columns, backends, numbers_from=len(columns), folds=True)


def _mark(origin: str) -> str:
    """Say which distribution a plug-in comes from."""
    return f" [{origin}]" if origin else ""
