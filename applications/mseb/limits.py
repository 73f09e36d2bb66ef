"""What numbers that a task keeps of a clip can be true together, beyond the limits of each by itself.

Each function takes a :class:`~codec_superb.applications.probe.KeptClip` and yields what cannot be. A limit by a setting
(``classes``, ``documents``, ``clusters``, ``frames_per_clip``) holds where the probe has that setting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from codec_superb.applications.mseb.stability import GAP_COST
from codec_superb.applications.probe import SIDES, Fault, KeptClip
from codec_superb.applications.text.search import EXACT

_MOST_FRAMES = 2.0
"""Frames of a resynthesis over those of its reference: both last as long, and a codec's rate may vary."""
_SLACK = 1e-6
_HALF = 2.0**-11
"""Relative rounding of a half float."""
_SMALLEST = 2.0**-24
"""Smallest half float, to which numbers below 2^-14 are rounded."""
_UNKNOWN = -1.0


def retrieval(clip: KeptClip) -> Iterator[Fault]:
    """Expect ranks and rows of a collection of so many documents; an index may give more places than there are."""
    documents = _setting(clip, "documents")
    most = documents if clip.settings.get("search", EXACT) == EXACT else math.inf
    yield from _ranks(clip, most)
    for side, values in _sides(clip):
        yield from _within(f"{side}.top", values["top"], 1, documents)


def reranking(clip: KeptClip) -> Iterator[Fault]:
    """Expect a rank, and no wrong word where the very text comes first."""
    yield from _ranks(clip)
    for side, values in _sides(clip):
        if values["rank"] == 1 and values["word_errors"]:
            yield Fault(f"{side}.word_errors", "0, where the very text has rank 1", values["word_errors"])


def classification(clip: KeptClip) -> Iterator[Fault]:
    """Expect classes and ranks among so many, and rank 1 where the predicted class is the right one, only there."""
    classes, label = _setting(clip, "classes"), clip.shared["label"]
    yield from _within("label", label, 1, classes)
    yield from _ranks(clip, classes)
    for side, values in _sides(clip):
        yield from _within(f"{side}.predicted", values["predicted"], 1, classes)
        if (values["rank"] == 1) != (values["predicted"] == label):
            expected = f"rank 1 where the class {label:g} of the clip is predicted, and only there"
            yield Fault(f"{side}.rank", expected, f"rank {values['rank']:g} with {values['predicted']:g} predicted")


def several_labels(clip: KeptClip) -> Iterator[Fault]:
    """Expect no more labels and decisions than classes, and no more right ones than either; -1 for both, or neither."""
    classes, labels = clip.shared["classes"], clip.shared["labels"]
    yield from _within("classes", classes, 1, _setting(clip, "classes"))
    yield from _within("labels", labels, 0, classes)
    for side, values in _sides(clip):
        given = values["given"]
        least = _UNKNOWN if given == _UNKNOWN else 0.0
        yield from _within(f"{side}.given", given, least, classes)
        yield from _within(f"{side}.hits", values["hits"], least, min(given, labels))


def transcription(clip: KeptClip) -> Iterator[Fault]:
    """Expect of an empty transcript that it lacks every word and every character.

    Nothing else follows: ``ice cream`` for ``icecream`` has no wrong character, ``color`` for ``colour`` no wrong word,
    and a label of a lone bracket has characters and no words.
    """
    for side, values in _sides(clip):
        for unit in ("word", "character"):
            wrong, all_of_them = values[f"{unit}_errors"], clip.shared[f"{unit}s"]
            if values["no_answer"] and wrong != all_of_them:
                expected = f"{all_of_them:g}, all of the clip, where nothing was heard"
                yield Fault(f"{side}.{unit}_errors", expected, wrong)


def segmentation(clip: KeptClip) -> Iterator[Fault]:
    """Expect no more terms found than there are, and those with term and times among those with either."""
    terms = clip.shared["terms"]
    for side, values in _sides(clip):
        for name in (name for name in values if name.startswith("both_")):
            tolerance = name.removeprefix("both_")
            both, times, term = (values[f"{part}_{tolerance}"] for part in ("both", "times", "term"))
            most = 0.0 if values["no_answer"] else terms
            # each true term is found by both, by its times or by itself: once
            if both > min(times, term) or times + term - both > most:
                expected = f"at most {most:g} terms found, of which those with times and term are in both counts"
                got = f"{times:g} by times, {term:g} by term, {both:g} by both"
                yield Fault(f"{side}.{name}", expected, got)
        for name in (name for name in values if name.startswith("right_")):
            if values[name] and values[f"confidence_{name.removeprefix('right_')}"] == _UNKNOWN:
                yield Fault(f"{side}.{name}", "0 for a term that was not found", values[name])


def clustering(clip: KeptClip) -> Iterator[Fault]:
    """Expect numbers of labels and clusters below their number."""
    most = _setting(clip, "clusters") - 1
    yield from _within("label", clip.shared["label"], 0, most)
    for side, values in _sides(clip):
        for name, number in values.items():
            yield from _within(f"{side}.{name}", number, 0, most)


def stability_of_vectors(clip: KeptClip) -> Iterator[Fault]:
    """Expect a cost of at most that of a gap, or of the dearest substitution, for each vector of the longer side."""
    most = GAP_COST * _MOST_FRAMES * clip.shared["vectors"]
    yield from _within("resynthesis.cost", clip.resynthesis["cost"], 0, most)


def stability_of_codes(clip: KeptClip) -> Iterator[Fault]:
    """Expect at most one edit for each unit of the longer side."""
    most = _MOST_FRAMES * clip.shared["units"]
    yield from _within("resynthesis.edits", clip.resynthesis["edits"], 0, most)


def reconstruction(clip: KeptClip) -> Iterator[Fault]:
    """Expect the squared difference that the kept frames have, within the rounding of half floats.

    Where only some frames are kept, that of all frames is at least what these add to it.
    """
    if clip.frames is None:
        return
    one, two, total = clip.frames.reference, clip.frames.resynthesis, clip.frames.total
    most = min(total, _setting(clip, "frames_per_clip"))
    if "frames_per_clip" in clip.settings and len(one) != most:
        yield Fault("frames", f"{most:g} of the {total} frames kept, as the setting frames_per_clip says", len(one))
    value = clip.resynthesis["squared_difference"]
    root = math.sqrt(max(0.0, value))
    # roots of mean squares differ by no more than that of the rounding (Minkowski)
    found = math.sqrt(np.mean((one - two) ** 2))
    rounding = math.sqrt(np.mean(((np.abs(one) + np.abs(two)) * _HALF + clip.frames.scale * _SMALLEST) ** 2))
    slack = 1.01 * rounding + _SLACK * found
    share = math.sqrt(len(one) / total)
    is_equal = bool(np.array_equal(one, two))
    too_small = root < share * (found - slack) or (value == 0.0 and not is_equal)
    if too_small or (len(one) == total and root > found + slack):
        word = "" if len(one) == total else "at least "
        expected = f"{word}{(share * found) ** 2:.6g}, computed from the frames in vectors.parquet"
        yield Fault("resynthesis.squared_difference", expected, value)


def _ranks(clip: KeptClip, most: float = math.inf) -> Iterator[Fault]:
    """Ranks count from 1; that of the oracle is -1 where the clip has no transcript."""
    if clip.shared.get("oracle_rank", _UNKNOWN) != _UNKNOWN:
        yield from _within("oracle_rank", clip.shared["oracle_rank"], 1, most)
    for side, values in _sides(clip):
        yield from _within(f"{side}.rank", values["rank"], 1, most)


def _sides(clip: KeptClip) -> Iterator[tuple[str, Mapping[str, float]]]:
    for side in SIDES:
        yield side, getattr(clip, side)


def _setting(clip: KeptClip, name: str) -> float:
    """Return a number of the settings, infinite where there is none."""
    found = clip.settings.get(name)
    return math.inf if found is None or isinstance(found, str) else float(found)


def _within(place: str, number: float, least: float, most: float) -> Iterator[Fault]:
    if not least <= number <= most + _SLACK:
        expected = f"at least {least:g}" if most == math.inf else f"{least:g} to {most:g}"
        yield Fault(place, expected, number)
