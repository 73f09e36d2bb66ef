"""Which kept numbers of a task cannot be true together: the check of submissions asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codec_superb.applications.probe import SIDES, Fault, KeptClip

_ORDERS = (1, 2, 3, 4)


def faults(clip: KeptClip) -> Iterator[Fault]:
    """Yield what cannot be, whatever the kind of measure, which the names of the numbers tell."""
    for side in SIDES:
        numbers: Mapping[str, float] = getattr(clip, side)
        for name, most, words in _bounds(numbers, clip):
            if numbers[name] > most:
                yield Fault(f"{side}.{name}", f"at most {most:g}, {words}", numbers[name])
    if clip.resynthesis.get("same") == 1 and clip.resynthesis.get("correct") != clip.reference.get("correct"):
        yield Fault("resynthesis.same", "0 where one side is right and the other is not", 1)


def _bounds(numbers: Mapping[str, float], clip: KeptClip) -> Iterator[tuple[str, float, str]]:
    if "parsed" in numbers:
        read = min(numbers["parsed"], clip.reference["parsed"])
        unread = {"correct": numbers["parsed"], "same": read}
        # a value or a rating that could not be read counts 0
        unread |= {name: numbers[name] if numbers["parsed"] else 0.0 for name in ("value", "rating") if name in numbers}
        yield from (
            (name, most, "since nothing was read of the answer")
            for name, most in unread.items()
            if name in numbers and not (name == "same" and numbers is clip.reference)
        )
    if "substitutions" in numbers:
        said = max(clip.shared.values(), default=0.0)
        rest = max(said - numbers["deletions"], 0.0)
        yield "substitutions", rest, "the words or characters of the label without the deletions"
        yield "deletions", said, "the words or characters of the label"
    if "match1" in numbers:
        yield from ((f"match{n}", numbers[f"total{n}"], "the runs of the answer") for n in _ORDERS)
        yield from ((f"total{n}", numbers[f"total{n - 1}"], "the shorter runs") for n in _ORDERS[1:])
        yield "total1", numbers["length"], "the words of the answer"
    if "strict" in numbers:
        yield "strict", numbers["loose"], "the instructions kept loosely"
        yield "loose", clip.shared["asked"], "the instructions asked"
