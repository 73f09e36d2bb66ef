"""Points far from all others on a logarithmic axis: they stand at its edge, so that they leave the others room."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from codec_superb.web.text import count, significant
from codec_superb.web.theme import LIGHT

REACH = 100.0
"""How far beyond the quartiles an axis goes: two decades. Of a board of classical codecs from 9 to 64 kbps that has
room for the lowest of the catalogue (0.125 kbps) and for lossless ones in stereo."""
REACH_LOSSY = 30.0
"""The same upwards for lossy codecs of more than :data:`MOST_LOSSY`."""
MOST_LOSSY = 600.0
"""What no lossy codec of the catalogue exceeds, in kbps: 576 is the most."""
FEWEST = 4
"""Places that have quartiles."""
SENDERS = 5
"""Senders of whom none is a quarter by itself."""
_ROOM = 0.012
"""Share of the axis between its end and the marks."""
_ABOVE, _LINE = "above", 16
"""Name of lines above a chart, and the height of one."""


def near_others(places: Sequence[float], lossless: Sequence[bool] = (), senders: Sequence[str] = ()) -> list[float]:
    """Return the places that are not more than :data:`REACH` beyond the quartiles; of fewer than four, all.

    Where it is said which of them are ``lossless``, the others reach upwards no further than :data:`REACH_LOSSY`, or
    :data:`MOST_LOSSY`. Of :data:`SENDERS` ``senders`` or more each counts once, however many places it has.
    """
    if len(places) < FEWEST:
        return sorted(places)
    counts = Counter(senders)
    shares = [1 / counts[sender] for sender in senders] if len(counts) >= SENDERS else [1.0] * len(places)
    ordered = sorted(zip(places, lossless or [True] * len(places), shares, strict=True))
    low, high = _quartile(ordered) / REACH, _quartile(ordered[::-1])
    lossy = max(high * REACH_LOSSY, MOST_LOSSY)
    return [place for place, wide, _ in ordered if low <= place <= high * REACH and (wide or place <= lossy)]


def _quartile(ordered: Sequence[tuple[float, bool, float]]) -> float:
    """Return the first of the places behind a quarter of the weights."""
    behind, quarter = 0.0, math.fsum(weight for *_, weight in ordered) / 4
    for place, _, weight in ordered:
        behind += weight
        if behind > quarter:
            return place
    return ordered[-1][0]


def at_edge(place: float, inside: Sequence[float], limits: Sequence[float]) -> tuple[float, str]:
    """Return the logarithm at which a place stands on an axis of ``limits``, and the arrow that it is if moved.

    ``inside`` is ascending, as :func:`near_others` gives it.
    """
    start, end = limits
    room = _ROOM * (end - start)
    if place < inside[0]:
        return start + room, "arrow-bar-left"
    return (end - room, "arrow-bar-right") if place > inside[-1] else (math.log10(place), "")


def stand_at_edges(traces: Sequence[dict[str, Any]], layout: dict[str, Any], inside: Sequence[float]) -> None:
    """Move what is not among ``inside`` to the ends of the axis, as arrows that tell where they belong, in place."""
    moved = 0
    for trace in traces:
        for at, x in enumerate(trace["x"]):
            place, arrow = at_edge(x, inside, layout["xaxis"]["range"])
            if not arrow:
                continue
            trace["x"][at] = 10**place
            if "hovertext" in trace:  # a mark; lines and names have none
                moved += trace["meta"]["role"] != "front points"  # drawn once more, over the others
                state = "-open" if "-open" in trace["marker"]["symbol"][at] else ""  # with a dot it has none
                trace["marker"]["symbol"][at] = f"{arrow}{state}"
                trace["hovertext"][at] += outside_text(x)
    tell_outside(layout, moved)


def outside_text(place: float) -> str:
    """Say in the text of a mark where it belongs."""
    return f"<br>outside the axis, at {significant(place)}"


def tell_outside(layout: dict[str, Any], moved: int) -> None:
    """Count above a chart what stands at the ends of its axis, in place."""
    if moved:
        tell_above(
            layout, f"{count(moved, 'codec')} outside the axis: {'arrows' if moved > 1 else 'an arrow'} at its end"
        )


def tell_above(layout: dict[str, Any], text: str) -> None:
    """Write a line above a chart, over those that are there, in place."""
    told = [note for note in layout.get("annotations", ()) if note.get("name") == _ABOVE]
    layout["margin"]["t"] += _LINE
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom"}
    font = {"size": 12, "color": LIGHT.muted}
    note = {**place, "yshift": _LINE * len(told), "name": _ABOVE, "text": text, "showarrow": False, "font": font}
    layout["annotations"] = [*layout.get("annotations", ()), note]
