"""What numbers that a task keeps of a clip can be true together, beyond the limits of each by itself.

As :mod:`codec_superb.applications.mseb.limits`: a function per kind, which yields what cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator

from codec_superb.applications.probe import SIDES, Fault, KeptClip

_ORDERS = range(1, 5)
_WINS = {0.0, 0.25, 0.5, 0.75, 1.0}


def choice(clip: KeptClip) -> Iterator[Fault]:
    """Expect a right answer to be readable, and answers that are alike to be readable and both right or both wrong."""
    for side in SIDES:
        values = getattr(clip, side)
        if values["correct"] > values["parsed"]:
            yield Fault(f"{side}.correct", "0, where the answer could not be read", values["correct"])
    one, two = clip.reference, clip.resynthesis
    if two["same"] and not (one["parsed"] and two["parsed"] and one["correct"] == two["correct"]):
        yield Fault("resynthesis.same", "0, where the answers are not both readable and equally right", two["same"])


def classifier(clip: KeptClip) -> Iterator[Fault]:
    """Expect of a classifier what is expected of choices, and an answer to each clip, which no figure of it counts."""
    yield from choice(clip)
    for side in SIDES:
        if not (got := getattr(clip, side)["parsed"]):
            yield Fault(f"{side}.parsed", "1, since a classifier always answers", got)


def labels(clip: KeptClip) -> Iterator[Fault]:
    """Expect no more right labels than the clip has or the answer gives, and a readable answer where it gives any."""
    own, classes = clip.shared["labels"], clip.shared["classes"]
    if classes and own > classes:
        yield Fault("labels", f"at most {classes:g}, the classes", own)
    for side in SIDES:
        values = getattr(clip, side)
        most = min(own, values["given"])
        if values["hits"] > most:
            yield Fault(f"{side}.hits", f"at most {most:g}, the labels of the clip and of the answer", values["hits"])
        if (values["given"] > 0) != (values["parsed"] > 0):
            yield Fault(f"{side}.parsed", "1 where the answer gives a label, else 0", values["parsed"])


def edits(clip: KeptClip) -> Iterator[Fault]:
    """Expect words or characters, not both, and no more of them wrong or missing than there are."""
    units = clip.shared["words"] + clip.shared["characters"]
    if (clip.shared["words"] > 0) == (clip.shared["characters"] > 0):
        yield Fault("words", "either words or characters above 0", clip.shared["words"])
    for side in SIDES:
        values = getattr(clip, side)
        wrong = values["substitutions"] + values["deletions"]
        if wrong > units:
            yield Fault(f"{side}.substitutions", f"with the deletions at most {units:g}, the label's units", wrong)


def bleu(clip: KeptClip) -> Iterator[Fault]:
    """Expect as many runs as the length allows, and no more matches than runs."""
    for side in SIDES:
        values = getattr(clip, side)
        if values["reference_length"] < 1:
            yield Fault(f"{side}.reference_length", "at least 1", values["reference_length"])
        for n in _ORDERS:
            total, matched = values[f"total{n}"], values[f"match{n}"]
            runs = max(0.0, values["length"] - n + 1)
            if total != runs:
                yield Fault(f"{side}.total{n}", f"{runs:g}, which {values['length']:g} tokens have", total)
            if matched > total:
                yield Fault(f"{side}.match{n}", f"at most {total:g}, the runs of {n}", matched)


def instructions(clip: KeptClip) -> Iterator[Fault]:
    """Expect no more kept strictly than loosely, and none that was not asked."""
    for side in SIDES:
        values = getattr(clip, side)
        if values["loose"] > clip.shared["asked"]:
            yield Fault(f"{side}.loose", f"at most {clip.shared['asked']:g}, those asked", values["loose"])
        if values["strict"] > values["loose"]:
            yield Fault(f"{side}.strict", f"at most {values['loose']:g}, those kept loosely", values["strict"])


def value(clip: KeptClip) -> Iterator[Fault]:
    """Expect 0 where there is no value."""
    for side in SIDES:
        values = getattr(clip, side)
        number = values.get("value", values.get("rating", 0.0))
        if number and not values["parsed"]:
            yield Fault(f"{side}.parsed", "1, where there is a value above 0", values["parsed"])


def compared(clip: KeptClip) -> Iterator[Fault]:
    """Expect nothing won and no scores where the reply could not be read, and a win in quarters."""
    for side in SIDES:
        values = getattr(clip, side)
        for name in ("win", "rating", "other"):
            if values.get(name) and not values["parsed"]:
                yield Fault(f"{side}.{name}", "0, where the judge's reply could not be read", values[name])
        if values["win"] not in _WINS:
            yield Fault(f"{side}.win", "0, a quarter, a half, three quarters or 1", values["win"])
