"""What the scorers share: which clips take part, their vectors on both sides, and the oracle's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ScoringInput, TextVectors
from codec_superb.applications.probe import SIDES, Probe, Side

Vectors = NDArray[np.float32]
UNKNOWN = -1.0
"""Kept in place of a number that is not known; see :mod:`codec_superb.applications.mseb.figures`."""


class Taking(NamedTuple):
    """Clips that take part, and the outcomes of all others."""

    items: list[Item]
    others: dict[str, ClipOutcome]


def own_label(item: Item, name: str) -> str:
    """Return one of the dataset's own labels, '' where the clip has none."""
    return str(item.label(f"extra:{name}") or "")


def taking_part(
    probe: Probe, question: ScoringInput, left_out: Callable[[Item], str], *, of_text: bool = False
) -> Taking:
    """Divide the clips: a label is missing, ``left_out`` says why (or ''), a model gave nothing, or ok.

    The answers are vectors, or texts where ``of_text`` is true. Raises ApplicationError for vectors of different
    lengths, which are no answers of one model.
    """
    found = Taking([], {})
    for item in question.items:
        missing = [need.removeprefix("extra:") for need in probe.labels if not item.label(need)]
        why = f"the clip has no label {missing[0]}" if missing else left_out(item)
        if why:
            found.others[item.clip] = ClipOutcome("left_out", why)
        elif problem := _problem(question, item.clip, of_text=of_text):
            found.others[item.clip] = ClipOutcome("failed", problem)
        else:
            found.items.append(item)
    if not of_text:
        _check_dimensions(probe, question, found.items)
    return found


def _problem(question: ScoringInput, clip: str, *, of_text: bool) -> str:
    """Return why a clip has no answer on one side, '' where it has both."""
    if clip in question.failures:
        return question.failures[clip] or "no reason was given"
    for side in SIDES:
        given: Prediction | None = getattr(question, side).get(clip)
        if given is None:
            return f"no answer on the {side}"
        if isinstance(given, str):
            if not of_text:
                return f"expected a vector on the {side}, got a text"
        elif of_text or given.ndim != 1:
            return f"expected a {'text' if of_text else 'vector'} on the {side}, got an array of shape {given.shape}"
        elif not np.isfinite(given).all():
            return f"the vector on the {side} has a number that is not finite"
    return ""


def _check_dimensions(probe: Probe, question: ScoringInput, items: Sequence[Item]) -> None:
    sizes = {np.size(getattr(question, side)[item.clip]) for item in items for side in SIDES}
    if len(sizes) > 1:
        raise ApplicationError(
            f"{probe.key}: expected vectors of one length, got {' and '.join(map(str, sorted(sizes)))}: the answers "
            "are of different models; probe again with --overwrite"
        )


def matrix(side: Mapping[str, Prediction], items: Sequence[Item]) -> Vectors:
    """Return the vectors of clips as rows, float32 of shape ``(clips, dimensions)``."""
    return np.array([side[item.clip] for item in items], np.float32)


def encoder(probe: Probe, question: ScoringInput) -> TextVectors:
    """Return the vectors of texts. Raises ApplicationError where the model that answered encodes none."""
    if question.vectors is None:
        raise ApplicationError(
            f"{probe.key}: expected a chain with a text encoder, or a model of sounds and texts, got a model that "
            f"encodes no texts; name one such as {probe.backend} with --backend"
        )
    return question.vectors


def oracle(question: ScoringInput, items: Sequence[Item]) -> dict[str, Vectors]:
    """Return the vectors of the true transcripts as queries, by clip; none where transcript or encoder are missing."""
    known = {item.clip: item.text for item in items if item.text is not None}
    if question.vectors is None or not known:
        return {}
    rows = np.asarray(question.vectors.of_texts(list(known.values()), "query"), np.float32)
    return dict(zip(known, rows, strict=True))


def said_nothing(question: ScoringInput, side: Side, item: Item) -> float:
    """Return 1 where a chain's first stage heard nothing, which is an answer and counted; 0 elsewhere."""
    heard = question.heard.get(side, {}).get(item.clip)
    return float(heard is not None and not heard.strip())
