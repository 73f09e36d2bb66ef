"""The probe ``tokens_contents``: what tokens tell of phones, speakers and pitch, ABX on phones, one text by two voices.

What is kept of a clip are counts, so that every figure is a ratio of their sums (kinds are ``phone``, ``speaker``,
``pitch``; codebooks count from 1, or ``all``):

- ``mi:<kind>:<codebook>``: bits that the tokens tell of the labels; the total is the labels' surprisal. ``control:…``
  is the mean of the same over labels in wrong places, ``nmi:…`` has the mean of both surprisals as total.
- ``pure:<kind>:<codebook>``, ``clustered:<kind>:<codebook>``: frames that are the majority's; the total is all frames.
- ``abx:<within or across>``: weight of errors; the total is the weight of triples, X being of this clip.
- ``edit:<voices or sentences>``: distances to other clips of one text, or of another, by other speakers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoredPair, ScoringInput, Setting
from codec_superb.applications.probe import Probe
from codec_superb.applications.token_contents import abx
from codec_superb.applications.token_contents.information import FrameSums, frame_sums, shifted
from codec_superb.applications.token_contents.labelled_codec import LabelledTokens, from_text
from codec_superb.applications.token_contents.labels import NONE, words_of
from codec_superb.applications.token_contents.rows import KINDS
from codec_superb.applications.token_contents.sequence_distances import distance
from codec_superb.applications.tokens.answers import answered
from codec_superb.applications.tokens.matches import ALL, Counts
from codec_superb.applications.tokens.stability import counted

CONTROLS = 5
"""Wrong places whose mean is taken."""
SEED = 0


def score(probe: Probe, question: ScoringInput) -> ProbeScores:  # noqa: ARG001 -- the table says what takes part
    """Return the counts of each clip; a clip without tokens has failed."""
    found, outcomes = answered(question, str, from_text)
    items = [item for item in question.items if item.clip in found]
    counts = contents(items, found)
    pairs: list[ScoredPair] = []
    for clip, of in counts.items():
        pairs += counted(clip, of)
        outcomes[clip] = ClipOutcome("ok", shared={"counts": float(len(of))})
    aligned = [of for of in found.values() if not of.reason]
    settings: dict[str, Setting] = {
        "aligner": next((of.aligner for of in aligned), ""), "aligned_clips": len(aligned), "controls": CONTROLS,
        "abx": "any context, warped tokens of all codebooks", "abx_segments": abx.MOST,
    }  # fmt: skip
    return ProbeScores(outcomes, pairs=tuple(pairs), settings=settings)


def contents(items: Sequence[Item], found: Mapping[str, LabelledTokens]) -> dict[str, Counts]:
    """Return the counts of clips by id."""
    counts: dict[str, Counts] = {item.clip: {} for item in items}
    for kind in KINDS:
        _add_information(kind, _labels(kind, items, found), found, counts)
    _add_abx(items, found, counts)
    _add_voices(items, found, counts)
    return counts


def _labels(kind: str, items: Sequence[Item], found: Mapping[str, LabelledTokens]) -> dict[str, Sequence[str]]:
    """Return the labels of frames by clip, for clips that have some."""
    labels: dict[str, Sequence[str]] = {}
    for item in items:
        of = found[item.clip]
        if kind == "speaker":
            labels[item.clip] = [item.speaker or NONE] * of.tokens.shape[1]
        else:
            labels[item.clip] = of.phones if kind == "phone" else of.pitch
    return {clip: of for clip, of in labels.items() if any(of)}


def _add_information(
    kind: str, labels: Mapping[str, Sequence[str]], found: Mapping[str, LabelledTokens], counts: dict[str, Counts]
) -> None:
    if not labels:
        return
    # in an order that is drawn: clips of one speaker stand beside each other in a dataset, and controls would too
    order = [sorted(labels)[at] for at in np.random.default_rng(SEED).permutation(len(labels))]
    there = [np.array([label != NONE for label in labels[clip]]) for clip in order]
    named = np.concatenate([np.array(labels[clip])[own] for clip, own in zip(order, there, strict=True)])
    _, numbers = np.unique(named, return_inverse=True)
    clips = np.repeat(np.arange(len(order)), [int(own.sum()) for own in there])
    wrong = [shifted(numbers.astype(np.int64), SEED, at) for at in range(CONTROLS)]
    for book in range(len(found[order[0]].tokens)):
        tokens = np.concatenate([found[clip].tokens[book][own] for clip, own in zip(order, there, strict=True)])
        sums = frame_sums(tokens, numbers.astype(np.int64))
        control = np.mean([frame_sums(tokens, of).information for of in wrong], axis=0)
        for name, total, value in _kept(sums, control):
            each = [np.bincount(clips, weights=of, minlength=len(order)) for of in (total, value)]
            for clip, above, below in zip(order, each[1], each[0], strict=True):
                counts[clip][f"{name}:{kind}:{book + 1}"] = (float(below), float(above))
    _add_all(kind, order, len(found[order[0]].tokens), counts)


def _kept(sums: FrameSums, control: NDArray[np.float64]) -> list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Return name, totals and values of frames."""
    one = np.ones(sums.pure.size)
    return [
        ("mi", sums.label, sums.information),
        ("control", sums.label, control),
        ("nmi", (sums.label + sums.token) / 2, sums.information),
        ("pure", one, sums.pure),
        ("clustered", one, sums.clustered),
    ]


def _add_all(kind: str, clips: Sequence[str], codebooks: int, counts: dict[str, Counts]) -> None:
    for clip in clips:
        for name in ("mi", "control", "nmi", "pure", "clustered"):
            parts = [counts[clip][f"{name}:{kind}:{book}"] for book in range(1, codebooks + 1)]
            counts[clip][f"{name}:{kind}:{ALL}"] = (sum(total for total, _ in parts), sum(value for _, value in parts))


def _add_abx(items: Sequence[Item], found: Mapping[str, LabelledTokens], counts: dict[str, Counts]) -> None:
    segments = [
        phone
        for item in items
        if item.speaker
        for phone in abx.cut(
            item.clip, item.speaker, found[item.clip].tokens, found[item.clip].segments, found[item.clip].frame_rate
        )
    ]
    chosen = abx.drawn(segments, SEED)
    modes: tuple[abx.Mode, ...] = ("within", "across")
    for mode in modes:
        for clip, of in abx.errors(chosen, mode).items():
            counts[clip][f"abx:{mode}"] = (of.cells, of.errors)


def _add_voices(items: Sequence[Item], found: Mapping[str, LabelledTokens], counts: dict[str, Counts]) -> None:
    """Add the distances of clips of one text by two speakers, and of them to another text of the other speaker."""
    texts: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.text and item.speaker and (words := " ".join(words_of(item.text))):
            texts[words].append(item)
    shared = {text: of for text, of in texts.items() if len({item.speaker for item in of}) > 1}
    of_speaker: dict[str, list[tuple[str, Item]]] = defaultdict(list)
    for text in sorted(shared):
        for item in shared[text]:
            of_speaker[item.speaker or ""].append((text, item))
    for text in sorted(shared):
        for one in shared[text]:
            for two in shared[text]:
                if one.speaker != two.speaker:
                    others = [item for other, item in of_speaker[two.speaker or ""] if other > text]
                    others += [item for other, item in of_speaker[two.speaker or ""] if other < text]
                    _add_distance("voices", one, two, found, counts)
                    if others:
                        _add_distance("sentences", one, others[0], found, counts)


def _add_distance(
    name: str, one: Item, two: Item, found: Mapping[str, LabelledTokens], counts: dict[str, Counts]
) -> None:
    far = distance(found[one.clip].tokens[:1], found[two.clip].tokens[:1])
    total, before = counts[one.clip].get(f"edit:{name}", (0.0, 0.0))
    counts[one.clip][f"edit:{name}"] = (total + 1.0, before + far)
