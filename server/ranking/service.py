"""The aggregated ranking: points by a visitor's weights, mean ranks, abilities, and what would change the winner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.server.board.entries import BoardEntry
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.ranking.aggregation import Places, borda, rank_ranges, weighted
from codec_superb.server.ranking.caches import RankingCaches
from codec_superb.server.ranking.draws import DRAWS, Drawn, drawn
from codec_superb.server.ranking.field import Field, field
from codec_superb.server.ranking.weights import ASPECTS, fraction, points, turn
from codec_superb.web.site.ranking.view import (
    Range,
    RankedCodec,
    RankingAnswer,
    TurningPoint,
    UnrankedCodec,
)
from codec_superb.web.site.whose import ShownSource

_NOBODY = "No codec has all that has a weight: give a weight of 0 to what they lack"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a visitor chose."""

    source: ShownSource
    band: str
    weights: Mapping[str, float]
    """By aspect, in the order of :data:`ASPECTS`."""

    @property
    def used(self) -> dict[str, float]:
        """Weights above 0."""
        return {name: self.weights[name] for name in ASPECTS if self.weights[name] > 0}


def _key(snapshot: Snapshot, choice: Choice) -> tuple[int, ShownSource, str, tuple[str, ...]]:
    return snapshot.revision, choice.source, choice.band, tuple(choice.used)


def ranked_field(snapshot: Snapshot, choice: Choice, kept: RankingCaches) -> Field:
    """Return who is ranked by a choice, with its ranks."""
    make = partial(field, snapshot, choice.source, choice.band, tuple(choice.used))
    found: Field = kept.fields.get(_key(snapshot, choice), make)
    return found


def ranking(session: Session, snapshot: Snapshot, choice: Choice, kept: RankingCaches) -> RankingAnswer:
    """Answer for one choice; at least one weight is above 0."""
    key = _key(snapshot, choice)
    found = ranked_field(snapshot, choice, kept)
    codecs: list[RankedCodec] = []
    turning, model, said = None, None, _NOBODY + ("." if choice.source == "runs" else ", or show all submissions.")
    if found.entries:
        sample: Drawn = kept.once(kept.drawn, key, partial(drawn, session, found, kept))
        model = sample.model
        codecs = _rows(found, sample, choice.used)
        turning, said = _turn(found, sample.exact, choice.used)
    return RankingAnswer(
        revision=snapshot.revision,
        source=choice.source,
        band=choice.band,
        weights=dict(choice.weights),
        datasets={name: list(names) for name, names in found.datasets.items()},
        draws=DRAWS,
        clips=model.clips if model else 0,
        compared=len(model.codecs) if model else 0,
        codecs=codecs,
        unranked=[UnrankedCodec(each.codec, each.reason) for each in found.unranked],
        turn=turning,
        summary=said,
    )


def _rows(found: Field, sample: Drawn, weights: dict[str, float]) -> list[RankedCodec]:
    aspects = [cell.aspect for cell in found.cells]
    mean = weighted(sample.ranks, aspects, weights)
    reached = borda(mean)
    total = sum(weights.values())
    over = np.asarray(sum(weight / total * sample.shares[name] for name, weight in weights.items()), np.float64)
    own = {
        name: np.mean([borda(r) for r, of in zip(sample.ranks, aspects, strict=True) if of == name], axis=0)
        for name in weights
    }
    ranges = rank_ranges(reached, over)
    abilities = _abilities(sample)
    order = np.lexsort((np.arange(len(reached)), ranges[0]))
    return [
        RankedCodec(
            codec=(entry := found.entries[place]).codec,
            title=entry.title,
            status=entry.source,
            submitter=entry.submitter,
            kbps=None if math.isnan(found.rates[place]) else found.rates[place],
            rank=_range(ranges, place),
            points=float(reached[place]),
            mean_rank=float(mean[place]),
            ability=abilities[place][0] if place in abilities else None,
            ability_rank=abilities[place][1] if place in abilities else None,
            shares={name: float(part[place]) for name, part in own.items()},
            by_clips=place in sample.by_clips,
        )
        for place in order.tolist()
    ]


def _abilities(sample: Drawn) -> dict[int, tuple[float, Range]]:
    if sample.model is None:
        return {}
    ranges = rank_ranges(sample.model.point, sample.model.draws)
    return {
        place: (float(sample.model.point[number]), _range(ranges, number))
        for number, place in enumerate(sample.model.codecs)
    }


def _range(ranges: tuple[Places, Places, Places], place: int) -> Range:
    return Range(*(int(part[place]) for part in ranges))


def _said(entry: BoardEntry) -> str:
    return f"{entry.title} ({entry.source_label})"


def _turn(
    found: Field, shares: Sequence[Mapping[str, Fraction]], weights: Mapping[str, float]
) -> tuple[TurningPoint | None, str]:
    """Find the smallest change that makes another codec the first, and say it."""
    exact = {name: fraction(weight) for name, weight in weights.items()}
    reached = points(shares, exact)
    highest = max(reached)
    first = [_said(entry) for entry, each in zip(found.entries, reached, strict=True) if each == highest]
    if len(first) > 1:
        return None, f"{', '.join(first[:-1])} and {first[-1]} are first together."
    turned = turn(shares, exact)
    if turned is None:
        return None, f"{first[0]} is first, and no change of a single weight would make another codec the first."
    now = exact[turned.aspect]
    other, weight = found.entries[turned.codec], turned.rounded(now)
    moved = (
        f"rises from {float(now):g} above {weight:g}"
        if turned.weight > now
        else f"falls from {float(now):g} below {weight:g}"
    )
    said = (
        f"{first[0]} is first, unless the weight of “{ASPECTS[turned.aspect].label}” {moved}: then {_said(other)} is."
    )
    return TurningPoint(turned.aspect, float(now), weight, other.codec, other.title), said
