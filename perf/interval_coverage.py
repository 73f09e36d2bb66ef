"""Measures how often 95 % intervals hold the truth, and how often equal codecs are called different.

Run ``python perf/interval_coverage.py [datasets [statistic ...]]``; decision 16 in docs/decisions shows its tables.

The populations are parametric, with shapes like those of codecs on `mini`. Each clip has latent normal values, shared
within a cluster of 4 to 8 clips (a recording, a speaker) with a correlation of 0.4, or of a clip alone:

- stft and mel: lognormal, sigma 0.35; PESQ: 1 + 3.5 beta(4, 3); STOI: beta(16, 1.5);
- silent: STOI, of which 3 % of the clips are 0;
- f0corr: four clips in five 1 - beta(1, 25), the others 1 - 1.3 beta(2.2, 1.2): a long tail of lost pitch;
- rare: the same, with lost pitch in one clip of twenty;
- score: of the four metrics of speech, whose latent values are correlated with 0.6 to 0.8;
- wer: 4 to 25 words a clip, errors binomial with a rate of beta(0.6, 5);
- eer, mindcf: embeddings of 12 dimensions, of a speaker and a clip; scores are cosines, trials all of one speaker and
  as many of two. Speakers have 4 to 8 clips, where clips are not clustered two each.

``former`` is the method of decision 5: percentiles of resampled clips at widened levels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.table import PROBES
from codec_superb.metrics.noise.random_numbers import random_stream
from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import METRICS, overall_metrics
from codec_superb.pipeline.aggregates.estimate import draw_figures, estimate
from codec_superb.pipeline.aggregates.evidence import PairedEvidence
from codec_superb.pipeline.statistics.bootstrap import replicate_means, widening
from codec_superb.pipeline.statistics.jackknife import Floats, Jackknife, interval, means
from codec_superb.pipeline.statistics.paired import difference_of
from codec_superb.pipeline.statistics.ranks import place_codecs

Integers = NDArray[np.int64]
Rng = np.random.Generator
Ends = tuple[float, float] | None
SIZES = (23, 50, 200)
REPLICATES = 1000
ALIKE = 0.4
_MIXED = np.linalg.cholesky([[1, 0.8, -0.6, -0.6], [0.8, 1, -0.6, -0.6], [-0.6, -0.6, 1, 0.7], [-0.6, -0.6, 0.7, 1]])
METRIC_KEYS = overall_metrics("speech")
_DIMENSIONS = 12


class Coverage(NamedTuple):
    """Intervals of one drawn dataset, by the former method and by this one."""

    former: Ends
    now: Ends


def clusters_of(rng: Rng, clips: int, clustered: bool, alone: int = 1) -> Integers:
    """Return the number of each clip's cluster, of 4 to 8 clips each, or of ``alone``."""
    sizes = rng.integers(4, 9, clips) if clustered else np.full(clips, alone)
    return np.repeat(np.arange(clips), sizes)[:clips]


def latent(rng: Rng, clusters: Integers, columns: int) -> Floats:
    """Draw normal values, alike within a cluster of several clips."""
    alike = ALIKE if clusters[-1] + 1 < len(clusters) else 0.0
    shared = rng.normal(size=(clusters[-1] + 1, columns))[clusters]
    return np.sqrt(alike) * shared + np.sqrt(1 - alike) * rng.normal(size=(len(clusters), columns))


def metrics_of(rng: Rng, clusters: Integers) -> Floats:
    """Columns stft, mel, pesq, stoi."""
    z = latent(rng, clusters, 4) @ _MIXED.T
    pesq, stoi = 1 + 3.5 * betaincinv(4, 3, ndtr(z[:, 2])), betaincinv(16, 1.5, ndtr(z[:, 3]))
    return np.column_stack([1.3 * np.exp(0.35 * z[:, 0]), 0.8 * np.exp(0.35 * z[:, 1]), pesq, stoi])


def pitch_of(rng: Rng, clusters: Integers, share: float = 0.2) -> Floats:
    """One column, f0corr, with lost pitch in a share of the clips."""
    u = ndtr(latent(rng, clusters, 1))
    lost, kept = np.minimum(u / share, 1.0), np.maximum((u - share) / (1 - share), 0.0)
    return np.where(u < share, 1 - 1.3 * betaincinv(1.2, 2.2, 1 - lost), 1 - betaincinv(1, 25, 1 - kept))


def silent_of(rng: Rng, clusters: Integers) -> Floats:
    """One column: STOI, now and then 0."""
    return np.where(rng.random((len(clusters), 1)) < 0.03, 0.0, metrics_of(rng, clusters)[:, 3:])


def errors_of(rng: Rng, clusters: Integers) -> tuple[Floats, Floats]:
    """Errors and words of each clip."""
    words = rng.integers(4, 26, len(clusters))
    rate = betaincinv(0.6, 5, ndtr(latent(rng, clusters, 1)[:, 0]))
    return rng.binomial(words, rate).astype(np.float64), words.astype(np.float64)


def voices_of(rng: Rng, speakers: Integers) -> Floats:
    """Embeddings of unit length."""
    voices = rng.normal(size=(speakers[-1] + 1, _DIMENSIONS))[speakers] + 1.1 * rng.normal(
        size=(len(speakers), _DIMENSIONS)
    )
    return np.asarray(voices / np.linalg.norm(voices, axis=1, keepdims=True))


@cache
def truth(name: str) -> float:
    """Value on a population of a million clips."""
    rng, alone = np.random.default_rng(99), np.arange(1_000_000)
    if name == "score":
        return float(_score(metrics_of(rng, alone).mean(axis=0)))
    if name == "wer":
        errors, words = errors_of(rng, alone)
        return float(100 * errors.sum() / words.sum())
    if name in ("eer", "mindcf"):
        voices = voices_of(rng, np.repeat(alone[:300_000], 2))
        same, other = (np.sort((one * two).sum(axis=1)) for one, two in _pairs(voices))
        threshold = np.concatenate([same, other])
        threshold.sort()
        miss = np.searchsorted(same, threshold) / len(same)
        alarm = 1 - np.searchsorted(other, threshold) / len(other)
        if name == "mindcf":
            return float((miss + 99 * alarm).min())
        return float(100 * miss[np.argmax(miss >= alarm)])
    return float(_one_column(name)(rng, alone).mean())


def _pairs(voices: Floats) -> list[tuple[Floats, Floats]]:
    first, second = voices[::2], voices[1::2]
    return [(first, second), (first, np.roll(second, 1, axis=0))]


def _score(table: Floats) -> Floats:
    return dataset_score({key: table[..., place] for place, key in enumerate(METRIC_KEYS)}, "speech")


def _one_column(name: str) -> Callable[[Rng, Integers], Floats]:
    if name in METRIC_KEYS:
        return lambda rng, clusters: metrics_of(rng, clusters)[:, [METRIC_KEYS.index(name)]]
    return {"f0corr": pitch_of, "rare": partial(pitch_of, share=0.05), "silent": silent_of}[name]


def of_means(name: str, rng: Rng, clips: int, clustered: bool) -> Coverage:
    """Draw a dataset, and make the intervals of a mean or of the score."""
    clusters = clusters_of(rng, clips, clustered)
    values = metrics_of(rng, clusters) if name == "score" else _one_column(name)(rng, clusters)
    pick: Callable[[Floats], Floats] = _score if name == "score" else lambda table: table[..., 0]
    row = METRICS[{"silent": "stoi", "rare": "f0corr"}.get(name, name)] if name != "score" else None
    found = means(values, clusters, values.mean(axis=0)).map(pick)
    draws = pick(replicate_means(values, REPLICATES, _stream(rng)))
    return Coverage(_former(draws, clips), interval(found, *((row.minimum, row.maximum) if row else (0.0, 1.0))))


def of_probe(name: str, rng: Rng, clips: int, clustered: bool) -> Coverage:
    """Draw a dataset, and make the intervals of an application metric."""
    sides = _recognised(rng, clips, clustered) if name == "wer" else _verified(rng, clips, clustered)
    metric = next(of for of in sides.probe.metrics if name in of.key)
    by_clip = PairedEvidence(sides.probe, sides.clips, np.arange(clips), sides.reference, sides.resynthesis)
    draws = draw_figures(by_clip, "", int(rng.integers(1 << 30)), REPLICATES if name == "wer" else 200)[metric][:, 1]
    score = estimate(sides)[metric].scores(metric)["resynthesis"]
    now = None if score.low is None or score.high is None else (score.low, score.high)
    return Coverage(_former(draws, clips), now)


def _recognised(rng: Rng, clips: int, clustered: bool) -> PairedEvidence:
    clusters = clusters_of(rng, clips, clustered)
    errors, words = errors_of(rng, clusters)
    nothing = np.zeros(clips)
    values = {"words": words, "characters": nothing, "substitutions": errors, "deletions": nothing}
    side = Evidence(values | {"insertions": nothing})
    return PairedEvidence(PROBES["asr"], tuple(map(str, range(clips))), clusters, side, side)


def _verified(rng: Rng, clips: int, clustered: bool) -> PairedEvidence:
    clusters = clusters_of(rng, clips, clustered, alone=2)
    voices = voices_of(rng, clusters)
    left, right = np.triu_indices(clips, 1)
    same = clusters[left] == clusters[right]
    kept = np.concatenate([np.flatnonzero(same), rng.permutation(np.flatnonzero(~same))[: same.sum()]])
    left, right, same = left[kept], right[kept], same[kept]
    side = Evidence({}, left, right, same, (voices[left] * voices[right]).sum(axis=1))
    return PairedEvidence(PROBES["asv"], tuple(map(str, range(clips))), clusters, side, side)


def _stream(rng: Rng) -> np.random.PCG64:
    return random_stream(int(rng.integers(1 << 30)), "coverage")


def _former(draws: Floats, clips: int) -> Ends:
    level = float(ndtr(-1.959964 * widening(clips)))
    low, high = np.quantile(draws[np.isfinite(draws)], [level, 1 - level])
    return float(low), float(high)


STATISTICS: dict[str, Callable[[str, Rng, int, bool], Coverage]] = {
    **dict.fromkeys(("score", "stft", "mel", "pesq", "stoi", "silent", "f0corr", "rare"), of_means),
    **dict.fromkeys(("wer", "eer", "mindcf"), of_probe),
}


def equal_codecs(rng: Rng, clips: int, clustered: bool, codecs: int = 2) -> tuple[bool, bool]:
    """Whether the paired test, and the ranges of ranks, call two codecs different whose populations are equal."""
    clusters = clusters_of(rng, clips, clustered)
    common = metrics_of(rng, clusters)
    own = [metrics_of(rng, clusters) for _ in range(codecs)]
    flat = np.concatenate([(common + its) / 2 for its in own], axis=1)
    shape = (codecs, len(METRIC_KEYS))
    found = means(flat, clusters, flat.mean(axis=0)).map(lambda table: table.reshape(*table.shape[:-1], *shape))
    scores: Jackknife = found.map(_score)
    draws = _score(replicate_means(flat, REPLICATES, _stream(rng), clusters).reshape(-1, *shape))
    gap = difference_of(scores, draws)
    ranks = place_codecs(("one", "two"), scores.point, draws, int(clusters[-1]) + 1)
    apart = gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high
    return apart, any(rank.best == rank.worst for rank in ranks)


def main(datasets: int, names: list[str]) -> None:
    """Print the tables of coverage and of false positives, in percent."""
    print("| statistic | clips | alone: former | alone: now | clusters: former | clusters: now |")
    print("|---|---|---|---|---|---|")
    for name in [name for name in STATISTICS if name in names or not names]:
        for clips in SIZES:
            cells = []
            for clustered in (False, True):
                rng = np.random.default_rng([clips, clustered])
                count = datasets if name not in ("eer", "mindcf") else datasets // 4
                found = [STATISTICS[name](name, rng, clips, clustered) for _ in range(count)]
                for ends in zip(*found, strict=True):
                    known = [end for end in ends if end is not None]
                    hits = sum(low <= truth(name) <= high for low, high in known)
                    none = f" ({100 * (1 - len(known) / count):.0f} % none)" if len(known) < count else ""
                    cells.append(f"{100 * hits / len(known):.1f}{none}" if known else "none")
            print(f"| {name} | {clips} | " + " | ".join(cells) + " |", flush=True)
    if names and "equal" not in names:
        return
    print("\n| equal codecs, clips | alone: test | alone: ranks | clusters: test | clusters: ranks |")
    print("|---|---|---|---|---|")
    for clips in SIZES:
        cells = []
        for clustered in (False, True):
            rng = np.random.default_rng([clips, clustered])
            found = np.array([equal_codecs(rng, clips, clustered) for _ in range(datasets)])
            cells += [f"{100 * share:.1f}" for share in found.mean(axis=0)]
        print(f"| {clips} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:])
