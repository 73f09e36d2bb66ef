"""What else could have come out: shares of the others that each codec beats, over resampled clips.

The leading codecs are resampled clip by clip, with the same clusters for all of them. Codecs without clip rows, those
behind, and applications are drawn from their intervals instead, each by itself, which makes their ranges wider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.metrics.noise.random_numbers import SEED, random_stream
from codec_superb.pipeline.statistics.bootstrap import drawn_counts
from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, Floats
from codec_superb.server.ranking.aggregation import borda, exact_shares, places
from codec_superb.server.ranking.bradley_terry import abilities, win_counts
from codec_superb.server.ranking.caches import RankingCaches
from codec_superb.server.ranking.clips import ClipValues, clip_values, same_clips, score_draws
from codec_superb.server.ranking.field import Cell, Field
from codec_superb.server.ranking.weights import ASPECTS
from codec_superb.web.quantity import SCORE_KEY

DRAWS = 200
"""The 2.5 % level rests on five of them."""
MOST_COMPARED = 100
"""Leading codecs that are compared clip by clip."""
MOST_ROWS = 200_000
"""Clip rows that are read for one ranking; on larger datasets fewer codecs are compared."""
_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Abilities:
    """Bradley and Terry's model of the leading codecs."""

    codecs: tuple[int, ...]
    """Their positions."""
    clips: int
    point: Floats
    draws: Floats
    """Shape ``(draws, codecs)``."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What points of any weights follow from."""

    ranks: tuple[Floats, ...]
    """Of each cell, shape ``(codecs,)``."""
    shares: Mapping[str, Floats]
    """Of each aspect over the draws, shape ``(draws, codecs)``."""
    exact: tuple[Mapping[str, Fraction], ...]
    """Share of the others that each codec beats, by aspect."""
    by_clips: frozenset[int]
    """Positions of the codecs that were resampled clip by clip."""
    model: Abilities | None


def drawn(session: Session, found: Field, kept: RankingCaches) -> Drawn:
    """Draw for a field of at least one codec."""
    votes = np.array([float(each) for each in found.votes])
    ranks = tuple(places(cell.values, votes, higher_is_better=cell.higher_is_better) for cell in found.cells)
    leading = _leading(found, ranks)
    clips = [_clips_of(session, cell, leading, kept) for cell in found.cells]
    noise = _noise(found)
    shares: dict[str, list[Floats]] = {}
    whole = set(leading)
    for number, (cell, rows) in enumerate(zip(found.cells, clips, strict=True)):
        values, resampled = _draws(cell, noise[:, number], leading, rows)
        if _scored(cell):
            whole &= resampled
        shares.setdefault(cell.aspect, []).append(borda(places(values, votes, higher_is_better=cell.higher_is_better)))
    means = {aspect: np.mean(parts, axis=0).astype(np.float32) for aspect, parts in shares.items()}
    if not any(_scored(cell) for cell in found.cells):
        whole = set()
    return Drawn(ranks, means, _exact_shares(found), frozenset(whole), _model(found, leading, clips))


def _exact_shares(found: Field) -> tuple[Mapping[str, Fraction], ...]:
    """Return the share of the others that each codec beats, by aspect: the mean over its cells."""
    cells = Counter(cell.aspect for cell in found.cells)
    sums: list[dict[str, Fraction]] = [dict.fromkeys(cells, Fraction()) for _ in found.entries]
    for cell in found.cells:
        shares = exact_shares(cell.values, found.votes, higher_is_better=cell.higher_is_better)
        for own, share in zip(sums, shares, strict=True):
            own[cell.aspect] += share / cells[cell.aspect]
    return tuple(sums)


def _scored(cell: Cell) -> bool:
    return ASPECTS[cell.aspect].quantity == SCORE_KEY


def _leading(found: Field, ranks: Sequence[Floats]) -> list[int]:
    """Choose those to compare clip by clip: the best by the mean of all ranks, whatever the weights."""
    order = np.lexsort((np.arange(len(found.entries)), np.mean(ranks, axis=0)))
    rows = sum(cell.clips for cell in found.cells if _scored(cell))
    most = min(MOST_COMPARED, MOST_ROWS // rows) if rows else 0
    return sorted(order[:most].tolist())


_Rows = list[ClipValues | None]


def _clips_of(session: Session, cell: Cell, leading: Sequence[int], kept: RankingCaches) -> _Rows:
    """Read the clips of the leading codecs in a cell; nothing of an application."""
    if not _scored(cell):
        return [None] * len(leading)
    names = (cell.dataset,)
    read = (clip_values(session, cell.submissions[place], names, cell.category, kept.clips) for place in leading)
    return [rows.get(cell.dataset) for rows in read]


def _noise(found: Field) -> Floats:
    """Draw standard normal numbers of shape ``(draws, cells, codecs)``, which depend on a codec's name alone."""
    from scipy.special import ndtri

    cells = len(found.cells)
    drawn = [
        # the raw stream is what numpy promises to keep (NEP 19); half a step keeps 0 and 1 out
        ((random_stream(SEED, "ranking", entry.codec).random_raw(DRAWS * cells) >> np.uint64(11)) + 0.5) / 2.0**53
        for entry in found.entries
    ]
    return np.asarray(ndtri(np.array(drawn)).reshape(-1, DRAWS, cells).transpose(1, 2, 0), dtype=np.float64)


def _draws(cell: Cell, noise: Floats, leading: Sequence[int], rows: _Rows) -> tuple[Floats, set[int]]:
    """Return values of shape ``(draws, codecs)``, and which codecs were resampled by clips."""
    spread = (cell.high - cell.low) / (2 * _QUANTILE)
    # an unknown interval says nothing: as wide as the scale of a score
    values = cell.values + noise * np.where(np.isfinite(spread), spread, 1.0)
    chosen, clusters = same_clips(rows)
    usable = [row for place in chosen if (row := rows[place]) is not None]
    if usable:
        resampled = score_draws(usable, clusters, cell.dataset, cell.category, DRAWS)
        if np.isfinite(resampled).all():
            mine = [leading[place] for place in chosen]
            values[:, mine] = resampled
            return np.clip(values, 0.0, 1.0), set(mine)
    return (np.clip(values, 0.0, 1.0) if _scored(cell) else values), set()


def _model(found: Field, leading: Sequence[int], clips: Sequence[_Rows]) -> Abilities | None:
    """Fit the model to all clips of the scored cells; None where fewer than two codecs share them."""
    parts = [(cell, rows) for cell, rows in zip(found.cells, clips, strict=True) if _scored(cell)]
    chosen = [same_clips(rows) for _, rows in parts]
    common = set.intersection(*(set(places) for places, _ in chosen)) if chosen else set()
    shared = sorted(common)
    if len(shared) < 2:  # noqa: PLR2004 -- nobody to meet
        return None
    values, counts = [], []
    for (cell, rows), (_, clusters) in zip(parts, chosen, strict=True):
        met = [row for place in shared if (row := rows[place]) is not None]
        values.append(np.stack([row.scores(cell.category) for row in met], axis=1))
        units = int(clusters.max()) + 1
        stream = random_stream(SEED, "ranking", cell.dataset, cell.category)
        counts.append(np.vstack([np.ones((1, units)), *drawn_counts(units, DRAWS, stream)])[:, clusters])
    table = np.concatenate(values)
    wins = win_counts(table, np.concatenate(counts, axis=1))
    point = abilities(wins[0])
    # near the answer already: a draw moves an ability by little
    draws = np.array([abilities(each, start=point, tolerance=1e-4) for each in wins[1:]])
    return Abilities(tuple(leading[place] for place in shared), len(table), point, draws)
