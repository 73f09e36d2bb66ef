"""``codec-superb conditions``: what a run can be made under, from the table of conditions."""

from __future__ import annotations

from dataclasses import asdict

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption


def command(as_json: JsonOption = False) -> None:
    """List the conditions of --condition: where each acts, its range, its definition and its source."""
    from codec_superb.pipeline.conditions.table import KINDS, Kind

    def span(kind: Kind) -> str:
        return f"{kind.parameter}: {kind.low:g} to {kind.high:g} {kind.unit}".strip() if kind.parameter else "–"

    if as_json:
        print_json([asdict(kind) for kind in KINDS.values()])
        return
    rows = [
        (
            key if not kind.parameter else f"{key}:X", f"the {kind.place}", span(kind),
            ", ".join(f"{value:g}" for value in kind.usual) or "–", kind.definition, kind.source,
        )
        for key, kind in KINDS.items()
    ]  # fmt: skip
    head = ("condition", "acts on", "X", "usual", "what is done", "source")
    print_table("", head, rows, numbers_from=len(head), folds=True)
