"""Default choices of charts, and which codecs can be shown together."""

from __future__ import annotations

from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.choices import checked_choice
from codec_superb.web.application_rows import most_sent


def default_dataset(snapshot: Snapshot, category: Category, wanted: str) -> str:
    """Return the wanted dataset of submissions, or that of most senders, then codecs; '' where there is none."""
    known = snapshot.datasets("runs", category)
    if wanted:
        return checked_choice("dataset", wanted, known)
    found = [(name, entry.sender) for name in sorted(known) for entry in snapshot.frame(category, name, "runs").entries]
    return most_sent(found) if found else ""


def entries_of_commonest_state(snapshot: Snapshot, dataset: str, category: Category) -> list[BoardEntry]:
    """List the submissions on the state of the dataset that most have: others hold other clips under the same name."""
    frame = snapshot.frame(category, dataset, "runs")
    pairs = zip(frame.entries, frame.figures, strict=True)
    states = sorted((figures.states, entry.sender) for entry, figures in pairs)
    usual = most_sent(states) if states else ()
    return [entry for entry, figures in zip(frame.entries, frame.figures, strict=True) if figures.states == usual]
