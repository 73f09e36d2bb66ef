"""Who wins a bitrate band: the codec with the highest score, where it can be told from every other one of the band.

A codec whose interval lies wholly below that of the best is behind. The nearest of the others are compared with the
best clip by clip, and are behind where a paired test says so after Holm's correction for all codecs of the band; what
has no clip rows, or is further down than the nearest, is not told apart by its interval.
"""

from __future__ import annotations

import math

import numpy as np
from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.statistics.effect import PairedTest
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.leaderboard.select import Ranked, rank
from codec_superb.server.ranking.bands import ALPHA, BANDS, Band, holm
from codec_superb.server.ranking.caches import RankingCaches
from codec_superb.server.ranking.pairs import Contest, contest, is_ahead, p_value
from codec_superb.web import text
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.site.board.choices import BoardState
from codec_superb.web.site.ranking.view import BandResult, BandsAnswer, CategoryBands, Neighbour
from codec_superb.web.site.whose import ShownSource

MOST_ROWS = 25_000
"""Clip rows of the nearest rivals of a band's best that are read, each once: 300 codecs on 75 clips, 12 on 2,000."""


def bands(session: Session, snapshot: Snapshot, source: ShownSource | None, kept: RankingCaches) -> BandsAnswer:
    """Answer for all categories, each as the board shows it where no source is chosen."""
    of = {each: source or _shown(snapshot, each) for each in CATEGORIES}
    return BandsAnswer(
        revision=snapshot.revision,
        source=source,
        alpha=ALPHA,
        categories=[_category(session, snapshot, category, of[category], kept) for category in CATEGORIES],
    )


def _shown(snapshot: Snapshot, category: Category) -> ShownSource:
    return "verified" if snapshot.default_source(category) == "verified" else "runs"


def ranked_by_score(snapshot: Snapshot, category: Category, source: ShownSource) -> Ranked:
    """Return the codecs that the board ranks by the overall score."""
    return rank(snapshot, BoardState(category=category, metric=SCORE_KEY, source=source))


def _category(
    session: Session, snapshot: Snapshot, category: Category, source: ShownSource, kept: RankingCaches
) -> CategoryBands:
    ranked = ranked_by_score(snapshot, category, source)
    frame = ranked.frame
    # a lossless codec wins by definition, at whatever rate
    fit = (ranked.best > 0) & ~frame.flags("lossless")
    rates = frame.numbers("kbps")
    found = []
    for band in BANDS:
        members = np.flatnonzero(fit & (rates >= band.low) & (rates < band.high)).tolist()
        found.append(_band(session, frame, band, members, ranked.datasets, kept))
    return CategoryBands(category=category, source=source, datasets=list(ranked.datasets), bands=found)


def _band(
    session: Session, frame: ResultFrame, band: Band, members: list[int], datasets: tuple[str, ...], kept: RankingCaches
) -> BandResult:
    scores, (low, high) = frame.numbers(SCORE_KEY), frame.ends(SCORE_KEY)
    members.sort(key=lambda place: (-scores[place], frame.entries[place].codec))
    if not members:
        return BandResult(band.key, band.label, band.low, _finite(band.high), 0, None, "", "", "", None, False, [])
    best, *others = members
    near = [place for place in others if high[place] >= low[best]]
    tests = [
        contest(session, Contest(_submission(frame, best), _submission(frame, place), datasets, frame.category), kept)
        for place in near[: MOST_ROWS // max(1, frame.figures[best].clips)]
    ]
    found = [p_value(test) for test in tests]
    adjusted = holm([1.0 if p is None else p for p in found], len(others))
    neighbours = []
    for number, place in enumerate(near):
        test, p, after = (tests[number], found[number], adjusted[number]) if number < len(tests) else (None, None, 1.0)
        if test is not None and after < ALPHA and is_ahead(test):
            continue
        entry, known = frame.entries[place], p is not None
        reason = _reason(test, after if known else None)
        neighbours.append(
            Neighbour(
                entry.codec, entry.title, entry.source, entry.submitter, float(scores[place]), p,
                after if known else None, reason,
            )
        )  # fmt: skip
    top = frame.entries[best]
    return BandResult(
        band.key, band.label, band.low, _finite(band.high), len(members), top.codec, top.title, top.source,
        top.submitter, float(scores[best]), not neighbours, neighbours,
    )  # fmt: skip


def _reason(test: PairedTest | None, adjusted: float | None) -> str:
    if test is None:
        return "their intervals overlap, and no shared clips were compared"
    if adjusted is None:
        return "the shared clips are of one speaker or recording"
    if adjusted < ALPHA:
        return f"it is the better one on the clips, although its score is lower (p {text.p_value(adjusted)} after Holm)"
    return f"p {text.p_value(adjusted)} after Holm, {test.clusters} clusters of clips"


def _submission(frame: ResultFrame, place: int) -> str:
    return frame.entries[place].submission or ""


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
