"""Paired comparison of two codecs on their shared clips: differences with bootstrap intervals, wins and losses.

Both codecs are resampled with the same clips, so that differences in difficulty between clips cancel out. Every
difference is first codec minus second. Clips and values that only one of them has are counted and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import FiniteFloat

from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.metrics.overall import category_score
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, Metric
from codec_superb.pipeline.statistics.bootstrap import REPLICATES
from codec_superb.pipeline.statistics.clip_arrays import ClipArrays, shared
from codec_superb.pipeline.statistics.effect import PairedTest, paired_test
from codec_superb.pipeline.statistics.groups import ClipPool, SharedClips, group_rows, share
from codec_superb.pipeline.statistics.jackknife import Floats, Jackknife, combine, interval
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.record import Record


class Difference(Record):
    """First codec against second, on the same clips."""

    first: FiniteFloat
    second: FiniteFloat
    difference: FiniteFloat
    """First minus second."""
    low: FiniteFloat | None
    """Lower end of the 95 % paired interval of the difference; None for fewer than two effective clusters. The codecs
    differ significantly where it does not hold 0."""
    high: FiniteFloat | None
    """Upper end."""
    first_better: FiniteFloat
    """Fraction of resamples of the clusters in which the first codec is better, ties counted half: describes how steady
    the order is; by itself it is no test, and of few clusters it is too sure."""


class PairedMetric(Record):
    """One metric on the clips of one group that have a value for both codecs."""

    metric: str
    n: int
    """Clips with a value for both codecs, over which everything here is computed."""
    only_first: int
    """Shared clips with a value for the first codec only; left out."""
    only_second: int
    """Shared clips with a value for the second codec only; left out."""
    wins: int
    """Clips on which the first codec is better."""
    losses: int
    """Clips on which the second codec is better."""
    ties: int
    result: Difference | None
    """None where no clip has a value for both."""
    test: PairedTest | None = None
    """Signed-rank test and effect sizes by clusters; None where not asked for, or where ``result`` is None."""


class PairedDataset(Record):
    """Two codecs on one category of one dataset."""

    dataset: str
    category: Category
    shared: int
    """Clips that both codecs resynthesised."""
    only_first: int
    """Clips that the second codec failed on or was not run on; left out."""
    only_second: int
    """Clips that the first codec failed on or was not run on; left out."""
    metrics: tuple[PairedMetric, ...]
    score: Difference | None
    """Overall score of the group; None where a metric of it has no shared value."""


class PairedCategory(Record):
    """Two codecs in one category, over the datasets that both have."""

    category: Category
    datasets: tuple[str, ...]
    """Datasets of the score."""
    left_out: tuple[str, ...]
    """Datasets of the category that only one codec has, or that share no clip."""
    score: Difference | None
    """None where no dataset is shared or a shared one has no score."""


class PairedComparison(Record):
    """The comparison of two codecs on all datasets and categories."""

    datasets: tuple[PairedDataset, ...]
    categories: tuple[PairedCategory, ...]


def compare_paired(
    first: Sequence[ClipRow],
    second: Sequence[ClipRow],
    *,
    metrics: Sequence[str],
    table: Mapping[str, Metric] = METRICS,
    tests: bool = False,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> PairedComparison:
    """Compare two codecs on their shared clips; the order of rows does not matter, swapping the codecs flips signs.

    ``table`` has the row of each of ``metrics``, which says whether more is better. ``tests`` adds p-values and effect
    sizes of metrics.
    Raises PipelineError when a clip has two rows in one of them.
    """
    one, two = group_rows(first), group_rows(second)
    joints: dict[ClipPool, _Drawn] = {}
    datasets = []
    for group in [group for group in one if group in two]:
        codecs = [one[group], two[group]]
        joint = share(group, codecs, sorted(set(metrics)))
        draws = joint.draw(seed, replicates)
        ok = [int(clips.ok.sum()) - joint.clips for clips in codecs]
        own = shared(codecs)
        scores = joint.scores()
        datasets.append(
            PairedDataset(
                dataset=group.dataset,
                category=group.category,
                shared=joint.clips,
                only_first=ok[0],
                only_second=ok[1],
                metrics=tuple(
                    _metric(joint, draws, column, own, table, tests=tests) for column in range(len(joint.keys))
                ),
                score=difference_of(scores, joint.score(draws)) if scores else None,
            )
        )
        if joint.clips:
            joints[group] = joint, draws
    categories = (_category(category, sorted({*one, *two}), joints) for category in CATEGORIES)
    return PairedComparison(datasets=tuple(datasets), categories=tuple(entry for entry in categories if entry))


_Drawn = tuple[SharedClips, Floats]
"""Shared clips, and the means of their draws."""


def _metric(
    joint: SharedClips,
    draws: Floats,
    column: int,
    own: Sequence[ClipArrays],
    table: Mapping[str, Metric],
    *,
    tests: bool,
) -> PairedMetric:
    key = joint.keys[column]
    sign = 1 if table[key].higher_is_better else -1
    has = [np.isfinite(clips.value(key)) for clips in own]
    known = np.isfinite(joint.values[:, 0, column])
    values = joint.values[known, :, column]
    ahead = sign * (values[:, 0] - values[:, 1])
    result = None
    if len(values):
        result = difference_of(joint.column(column), draws[:, :, column], sign)
    return PairedMetric(
        metric=key,
        n=len(values),
        only_first=int((has[0] & ~has[1]).sum()),
        only_second=int((has[1] & ~has[0]).sum()),
        wins=int((ahead > 0).sum()),
        losses=int((ahead < 0).sum()),
        ties=int((ahead == 0).sum()),
        result=result,
        test=paired_test(ahead, joint.clusters[known]) if tests and len(values) else None,
    )


def difference_of(found: Jackknife, draws: Floats, sign: int = 1) -> Difference:
    """Difference of two statistics: ``found`` of shape ``(2,)``, ``draws`` of shape ``(replicates, 2)``."""
    low, high = interval(found.map(_gap)) or (None, None)
    differences = sign * _gap(draws)
    known = differences[np.isfinite(differences)]
    # ties count half on either side, as in a Mann-Whitney statistic
    better = float((known > 0).mean() + (known == 0).mean() / 2) if len(known) else 0.5
    first, second = found.point
    return Difference(
        first=float(first),
        second=float(second),
        difference=float(first - second),
        low=low,
        high=high,
        first_better=better,
    )


def _gap(table: Floats) -> Floats:
    """First minus second; equal codecs must tie although their sums are rounded differently."""
    first, second = table[..., 0], table[..., 1]
    return np.where(np.isclose(first, second, rtol=1e-12, atol=0), 0.0, first - second)


def _category(category: Category, groups: Sequence[ClipPool], joints: dict[ClipPool, _Drawn]) -> PairedCategory | None:
    members = [group for group in groups if group.category == category]
    if not members:
        return None
    used = [joints[group] for group in members if group in joints]
    known = [scores for joint, _ in used if (scores := joint.scores()) is not None]
    score = None
    if known and len(known) == len(used):
        drawn = category_score([joint.score(draws) for joint, draws in used])
        score = difference_of(combine(category_score, known), drawn)
    return PairedCategory(
        category=category,
        datasets=tuple(joint.group.dataset for joint, _ in used),
        left_out=tuple(group.dataset for group in members if group not in joints),
        score=score,
    )
