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
FEWEST = 4
"""Places that have quartiles."""
SENDERS = 5
"""Senders of whom none is a quarter by itself."""
_ROOM = 0.012
"""Share of the axis between its end and the marks."""


def near_others(places: Sequence[float], senders: Sequence[str] = ()) -> list[float]:
    """Return the places that are not more than :data:`REACH` beyond the quartiles; of fewer than four, all.

    Of :data:`SENDERS` ``senders`` or more each counts once, however many places it has.
    """
    if len(places) < FEWEST:
        return sorted(places)
    counts = Counter(senders)
    shares = [1 / counts[sender] for sender in senders] if len(counts) >= SENDERS else [1.0] * len(places)
    places, weights = zip(*sorted(zip(places, shares, strict=True)), strict=True)
    low, high = _quartile(places, weights) / REACH, _quartile(places[::-1], weights[::-1]) * REACH
    return [place for place in places if low <= place <= high]


def _quartile(places: Sequence[float], weights: Sequence[float]) -> float:
    """Return the first of the places behind a quarter of the weights."""
    behind, quarter = 0.0, math.fsum(weights) / 4
    for place, weight in zip(places, weights, strict=True):
        behind += weight
        if behind > quarter:
            return place
    return places[-1]


def stand_at_edges(traces: Sequence[dict[str, Any]], layout: dict[str, Any], inside: Sequence[float]) -> None:
    """Move what is not among ``inside`` to the ends of the axis, as arrows that tell where they belong, in place."""
    (start, end), least, most = layout["xaxis"]["range"], min(inside), max(inside)
    room = _ROOM * (end - start)
    moved = 0
    for trace in traces:
        beyond = {at: x for at, x in enumerate(trace["x"]) if not least <= x <= most}
        for at, x in beyond.items():
            trace["x"][at] = 10 ** (start + room if x < least else end - room)
            if "hovertext" in trace:  # a mark; lines and names have none
                moved += trace["meta"]["role"] != "front points"  # drawn once more, over the others
                state = "-open" if "-open" in trace["marker"]["symbol"][at] else ""  # with a dot it has none
                trace["marker"]["symbol"][at] = f"arrow-bar-{'left' if x < least else 'right'}{state}"
                trace["hovertext"][at] += f"<br>outside the axis, at {significant(x)}"
    if moved:
        layout["margin"]["t"] += 16
        text = f"{count(moved, 'codec')} outside the axis: {'arrows' if moved > 1 else 'an arrow'} at its end"
        place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom"}
        font = {"size": 12, "color": LIGHT.muted}
        layout["annotations"] = [{**place, "text": text, "showarrow": False, "font": font}]
