"""Default choices of charts, and which codecs can be shown together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from codec_superb.metrics.table import Category
from codec_superb.server.board.entries import BoardEntry, by_senders
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.choices import checked_choice
from codec_superb.web.senders import most_sent
from codec_superb.web.site.charts.choices import ChartState
from codec_superb.web.site.whose import ShownSource


def of_clips(snapshot: Snapshot, state: ChartState) -> tuple[ShownSource, Snapshot]:
    """Return the chosen source, or the leaderboard's default, and its submissions: published figures have no clips."""
    verified = {entry.codec for entry in snapshot.entries("verified")}
    named = set(state.codec) <= verified
    usual = snapshot.usual_source(lambda entry: _whole(entry, state)) if named else "runs"
    known: dict[str, ShownSource] = {source: source for source in get_args(ShownSource)}
    source = known[checked_choice("source", state.source or usual, list(known))]
    return source, snapshot.of(source)


def _whole(entry: BoardEntry, state: ChartState) -> bool:
    """Whether it has complete results of a category on the chosen dataset, or over all."""
    own = entry.figures.get((state.category, state.dataset))
    return own is not None and own.complete


def default_dataset(snapshot: Snapshot, category: Category, wanted: str) -> str:
    """Return the wanted dataset of submissions, or that of most senders, then codecs; '' where there is none."""
    known = snapshot.datasets("runs", category)
    if wanted:
        return checked_choice("dataset", wanted, known)
    found = [(name, entry) for name in sorted(known) for entry in snapshot.frame(category, name, "runs").entries]
    whole = [(name, entry) for name, entry in found if entry.figures[category, name].complete]
    return by_senders(whole or found)[0][0] if found else ""


def entries_of_commonest_state(snapshot: Snapshot, dataset: str, category: Category) -> list[BoardEntry]:
    """List the submissions on the state of the dataset that most have: others hold other clips under the same name."""
    frame = snapshot.frame(category, dataset, "runs")
    place = category, dataset
    states = sorted((entry.figures[place].states, entry.sender) for entry in complete_first(frame.entries, place))
    usual = most_sent(states) if states else ()
    return [entry for entry in frame.entries if entry.figures[place].states == usual]


def complete_first(entries: Sequence[BoardEntry], place: tuple[Category, str]) -> Sequence[BoardEntry]:
    """Return the complete submissions on a dataset; where there is none, the partial ones."""
    return [entry for entry in entries if entry.figures[place].complete] or entries
