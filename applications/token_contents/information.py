"""Information and purity of two discrete labels of the same frames; pure functions of counts.

``table`` is a contingency table ``(tokens, labels)`` of frame counts. Definitions after Hsu et al., "HuBERT"
(arXiv:2106.07447): phone purity is the share of frames whose phone is the most frequent one of their token, cluster
purity that of frames whose token is the most frequent one of their phone, PNMI the mutual information over the entropy
of the phones. Each figure is a ratio of sums over frames, so that what a clip adds is kept of it.

All are too high for little sound: with as many tokens as frames everything is told by heart. What the same labels give
in a wrong place (:func:`shifted`) says by how much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class FrameSums(NamedTuple):
    """What frames add to the figures of one codebook and one kind of label, each ``(frames,)``, in bits."""

    information: Floats
    """log2 of p(token, label) / (p(token) p(label)): their mean is the mutual information."""
    label: Floats
    """-log2 p(label): their mean is the entropy of the labels."""
    token: Floats
    """-log2 p(token)."""
    pure: Floats
    """1 where the label is the most frequent one of the token, the lowest of several."""
    clustered: Floats
    """1 where the token is the most frequent one of the label."""


def contingency(tokens: Integers, labels: Integers) -> Integers:
    """Return the table ``(tokens, labels)`` of two arrays of whole numbers from 0, ``(frames,)`` each."""
    found = np.zeros((int(tokens.max(initial=-1)) + 1, int(labels.max(initial=-1)) + 1), np.int64)
    np.add.at(found, (tokens, labels), 1)
    return found


def frame_sums(tokens: Integers, labels: Integers) -> FrameSums:
    """Return what each frame adds; both are ``(frames,)``, whole numbers from 0, of all clips together."""
    _, tokens = np.unique(tokens, return_inverse=True)
    _, labels = np.unique(labels, return_inverse=True)
    table = contingency(tokens.astype(np.int64), labels.astype(np.int64)).astype(np.float64)
    total = max(1.0, table.sum())
    of_token, of_label = table.sum(axis=1), table.sum(axis=0)
    joint = table[tokens, labels]
    return FrameSums(
        np.log2(joint * total / (of_token[tokens] * of_label[labels])) if tokens.size else np.zeros(0),
        np.log2(total / of_label[labels]),
        np.log2(total / of_token[tokens]),
        (table.argmax(axis=1)[tokens] == labels).astype(np.float64) if tokens.size else np.zeros(0),
        (table.argmax(axis=0)[labels] == tokens).astype(np.float64) if tokens.size else np.zeros(0),
    )


def mutual_information(tokens: Integers, labels: Integers) -> float:
    """Return the mutual information in bits a frame, 0 without a frame."""
    found = frame_sums(tokens, labels).information
    return float(found.mean()) if found.size else 0.0


def normalised_mutual_information(tokens: Integers, labels: Integers) -> float:
    """Return it over the mean of both entropies, in [0, 1]; 1 where both are constant, as scikit-learn's."""
    sums = frame_sums(tokens, labels)
    below = float(sums.label.sum() + sums.token.sum()) / 2
    return float(sums.information.sum()) / below if below > 0 else 1.0


def phone_normalised(tokens: Integers, labels: Integers) -> float:
    """Return PNMI: the part of the labels' entropy that the tokens tell, in [0, 1]; NaN for constant labels."""
    sums = frame_sums(tokens, labels)
    below = float(sums.label.sum())
    return float(sums.information.sum()) / below if below > 0 else float("nan")


def shifted(labels: Integers, seed: int, number: int) -> Integers:
    """Return the labels of all clips turned in a circle by a drawn number of frames: a control that keeps their runs.

    A permutation of single frames would be too kind: labels and tokens last several frames, which makes chance larger.
    """
    if labels.size < 2:  # noqa: PLR2004 -- nothing to turn
        return labels
    rng = np.random.default_rng([seed, number])
    return np.roll(labels, int(rng.integers(1, labels.size)))
