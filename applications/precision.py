"""Mean average precision from the ranks of clips within their classes, weighted so that a bootstrap is one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.figures import Evidence, Floats


def mean_average_precision(evidence: Evidence, weights: Floats) -> Floats:
    """Return the macro mean average precision in percent, shape ``(draws,)``.

    Each pair is a clip that has a class, with its rank r among all clips by the score of that class (as many clips
    score at least as much). Its precision is the number of clips of the class with a rank of at most r, over r; the
    average precision of the class is the mean over its clips, as scikit-learn's ``average_precision_score``; the figure
    is the mean over the classes.

    In a draw of the bootstrap the precision at each clip stays as it was over all clips, and is weighted by how often
    the draw holds the clip: ranks within a draw would need the scores of all clips for all classes, which no submission
    carries. A class of which the draw holds no clip is left out; NaN where the draw holds none of any class.
    """
    clips = weights.shape[1]
    classes, column = np.unique(evidence.right, return_inverse=True)
    above, below = np.zeros((clips, classes.size)), np.zeros((clips, classes.size))
    np.add.at(above, (evidence.left, column), precisions(column, evidence.scores))
    np.add.at(below, (evidence.left, column), 1.0)
    held = weights @ below
    average = np.divide(weights @ above, held, out=np.zeros_like(held), where=held > 0)
    present = (held > 0).sum(axis=1)
    mean: Floats = np.full(weights.shape[0], np.nan)
    np.divide(100.0 * average.sum(axis=1), present, out=mean, where=present > 0)
    return mean


def precisions(classes: NDArray[np.int64], ranks: Floats) -> Floats:
    """Return the precision at each pair, in (0, 1]: clips of its class with a rank as good, over its rank."""
    found = np.zeros(ranks.shape)
    for name in np.unique(classes):
        mine = classes == name
        of_class = ranks[mine]
        found[mine] = np.searchsorted(np.sort(of_class), of_class, side="right") / of_class
    return found
