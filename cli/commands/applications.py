"""``codec-superb applications``: list applications, probes and models, and whether the models can run here."""

from __future__ import annotations

from dataclasses import asdict

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption


def command(as_json: JsonOption = False) -> None:
    """List applications, their probes, and the models (backends) that they use, with licences."""
    from codec_superb.applications.availability import availability
    from codec_superb.applications.catalogue import BACKENDS
    from codec_superb.applications.table import APPLICATIONS, PROBES

    found = {name: availability(entry) for name, entry in BACKENDS.items()}
    if as_json:
        print_json({
            "applications": {name: list(probes) for name, probes in APPLICATIONS.items()},
            "probes": [
                {
                    "key": row.key, "label": row.label, "label_needed": row.label_needed, "categories": row.categories,
                    "figures": [figure.key for figure in row.metrics], "backend": row.backend, "paper": row.paper,
                }
                for row in PROBES.values()
            ],
            "backends": [
                {"name": name, "probes": entry.probes, "summary": entry.summary, **asdict(found[name])}
                for name, entry in BACKENDS.items()
            ],
        })  # fmt: skip
        return
    of = {key: [name for name, keys in APPLICATIONS.items() if key in keys] for key in PROBES}
    rows = [
        (", ".join(of[row.key]), row.key, row.label, row.label_needed or "", ", ".join(row.categories), row.backend)
        for row in PROBES.values()
    ]
    head = ("application", "probe", "title", "label", "clips", "default backend")
    print_table("Probes", head, rows, numbers_from=len(head))
    print()
    backends = [
        (name, ", ".join(entry.probes), there.state, there.licence, f"{entry.summary}; {there.detail}")
        for (name, entry), there in zip(BACKENDS.items(), found.values(), strict=True)
    ]
    columns = ("backend", "probes", "here", "licence of the model", "what it is")
    print_table("Backends", columns, backends, numbers_from=len(columns), folds=True)
