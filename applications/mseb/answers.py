"""Answers to spoken questions: the overlap of words, and the score below which a question has no answer.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track; Rajpurkar, Jia and Liang, Know
What You Don't Know, ACL 2018 (F1 of answers, questions without one).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import MissingPackage
from codec_superb.missing_package import not_installed

Floats = NDArray[np.float64]

NO_ANSWER = "No Answer"
FIXED = 0.8
"""The score below which published rows say that there is no answer."""
SEED = 42
"""Of the mixture, as published."""
_LEAST = 2
_EQUAL = 1e-8
"""Difference of inverse variances that is none."""


def token_f1(target: str, answer: str) -> float:
    """Return the F1 of the words of an answer, in [0, 1].

    Words are split at white space and compared as they are: letter case and punctuation count. With ``No Answer`` on
    either side it is 1 where both are, else 0. Worked numbers: ``b l a`` and ``b l i`` have 2/3, ``a b`` and ``a b c``
    .8.
    """
    if NO_ANSWER in (target, answer):
        return float(target == answer)
    # SQuAD's own script first removes case, punctuation and articles (Rajpurkar et al., 2016); this one does not
    wanted, given = target.split(), answer.split()
    overlap = (Counter(wanted) & Counter(given)).total()
    return 2.0 * overlap / (len(wanted) + len(given)) if overlap else 0.0


def geometric_f1(answerable: Floats, unanswerable: Floats, share: Floats) -> Floats:
    """Return ``answerable ** share * unanswerable ** (1 - share)``, in [0, 1]; all of one shape, ``0 ** 0`` being 1.

    ``answerable`` and ``unanswerable`` are mean F1 of questions with and without an answer (0 where there is none),
    ``share`` the share of those with one. Worked number: three answerable of .5 and one unanswerable of 1 have
    .5 ** .75 = .59460.
    """
    return np.asarray(np.power(answerable, share) * np.power(unanswerable, 1.0 - share))


class Normal(NamedTuple):
    """One weighted normal density."""

    weight: float
    mean: float
    variance: float

    def at(self, place: float) -> float:
        """Return the weighted density."""
        power = -((place - self.mean) ** 2) / (2.0 * self.variance)
        return float(self.weight * np.exp(power) / np.sqrt(2.0 * np.pi * self.variance))


def crossing(one: Normal, other: Normal) -> float:
    """Return where two weighted normal densities are equal: the threshold between two kinds of scores.

    Of two such places the one of the larger density; the only one where the variances are equal; half way between the
    means where there is none. Worked number: weights of a half, means 2 and 8, variances 1 cross at 5.
    """
    # the logarithms of both densities are equal where square x² + linear x + rest is 0
    square = 1.0 / (2.0 * one.variance) - 1.0 / (2.0 * other.variance)
    linear = other.mean / other.variance - one.mean / one.variance
    odds = np.log(one.weight / other.weight) + 0.5 * np.log(other.variance / one.variance)
    rest = one.mean**2 / (2.0 * one.variance) - other.mean**2 / (2.0 * other.variance) - odds
    halfway = (one.mean + other.mean) / 2.0
    if abs(square) < _EQUAL:
        return float(-rest / linear) if linear else halfway
    under = linear**2 - 4.0 * square * rest
    if under < 0:
        return halfway
    places = [float((-linear + sign * np.sqrt(under)) / (2.0 * square)) for sign in (1.0, -1.0)]
    return max(places, key=one.at)


def threshold(scores: Floats) -> float:
    """Return the score below which a question is taken to have no answer, from the best scores of all, ``(n,)``.

    Two normal densities are fitted to them (scikit-learn's ``GaussianMixture``, seed 42); the threshold is their
    :func:`crossing`. Fewer than two different scores have nothing to tell apart: then it is the smallest, below which
    nothing lies. Raises MissingPackage with the install command.
    """
    if np.unique(scores).size < _LEAST:
        return float(scores.min(initial=np.inf)) if scores.size else FIXED
    try:
        from sklearn.mixture import GaussianMixture
    except ModuleNotFoundError as error:
        raise MissingPackage(not_installed("mseb_reasoning", error.name, extra="mseb")) from error
    # sorted: sums within the fit must not depend on the order of clips
    mixture = GaussianMixture(n_components=2, random_state=SEED).fit(np.sort(scores)[:, None])
    parts = zip(mixture.weights_, mixture.means_.ravel(), mixture.covariances_.ravel(), strict=True)
    one, other = (Normal(*map(float, part)) for part in parts)
    return crossing(one, other)
