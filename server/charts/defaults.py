"""Default choices of charts, and which codecs can be shown together."""

from __future__ import annotations

from collections import Counter

from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.choices import checked_choice


def default_dataset(snapshot: Snapshot, category: Category, wanted: str) -> str:
    """Return the wanted dataset of submissions, or the one that most codecs were run on; '' where there is none."""
    known = snapshot.datasets("runs", category)
    if wanted:
        return checked_choice("dataset", wanted, known)
    return max(known, key=lambda name: (len(snapshot.frame(category, name, "runs")), name), default="")


def entries_of_commonest_state(snapshot: Snapshot, dataset: str, category: Category) -> list[BoardEntry]:
    """List the submissions on the state of the dataset that most have: others hold other clips under the same name."""
    frame = snapshot.frame(category, dataset, "runs")
    states = Counter(figures.states for figures in frame.figures)
    usual = min(states, key=lambda state: (-states[state], state), default=())
    return [entry for entry, figures in zip(frame.entries, frame.figures, strict=True) if figures.states == usual]
