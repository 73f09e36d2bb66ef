"""What the side that checks knows of a dataset's clips, and the form in which it is kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from codec_superb.metrics.table import Category

FORMAT = 3
"""Of the kept form; 1 was clip id to category, 2 had no clusters."""
_FORMER = 2


class KnownClip(NamedTuple):
    """The facts of one clip; what nobody has computed is None."""

    category: Category
    sampling_rate: int | None = None
    """Hz."""
    samples: int | None = None
    """A channel."""
    undefined: frozenset[str] | None = None
    """Metrics that have no meaning on it whatever a codec makes of it."""
    sound: bytes | None = None
    """Its fingerprint (:mod:`codec_superb.pipeline.submission.facts.fingerprint`)."""
    cluster: str | None = None
    """Id of what makes clips alike (:mod:`codec_superb.data_manifests.clusters`), '' for a clip on its own."""
    slice: str | None = None
    """Recording condition, '' for none."""


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """What the checking side knows about a named dataset."""

    manifest_hash: str
    clips: Mapping[str, KnownClip]
    """All clips, by id."""

    def missing_facts(self) -> str:
        """Return in words what is not known of some clip; '' where everything is."""
        words = {"samples": "lengths", "undefined": "where metrics are undefined", "sound": "sound",
                 "cluster": "clusters"}  # fmt: skip
        absent = [word for name, word in words.items() if any(getattr(c, name) is None for c in self.clips.values())]
        return ", ".join(absent)


Known = Callable[[str], KnownDataset | None]
"""Returns what this side knows about a dataset of that name; None for an unknown one."""


def dump_clips(clips: Mapping[str, KnownClip]) -> bytes:
    """Write clips as JSON, a line each, sorted; the same bytes for the same clips."""
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(_entry(clip))}" for name, clip in sorted(clips.items())
    ]
    body = ",\n".join(lines)
    return f'{{"format": {FORMAT}, "clips": {{\n{body}\n}}}}\n'.encode()


def load_clips(data: bytes) -> dict[str, KnownClip]:
    """Read what :func:`dump_clips` wrote, or an earlier form, which lacks facts: they are not known."""
    found: dict[str, Any] = json.loads(data)
    if found.get("format") not in (_FORMER, FORMAT):
        return {name: KnownClip(category) for name, category in found.items()}
    return {name: _clip(*entry) for name, entry in found["clips"].items()}


def shipped_clips(name: str) -> dict[str, KnownClip]:
    """Return the facts that the program brings for a dataset of its own, in the state of its manifest; else nothing."""
    from codec_superb.data_manifests.catalogue import MANIFESTS

    file = MANIFESTS / f"{name}.clips.json"
    return load_clips(file.read_bytes()) if file.is_file() else {}


def _entry(clip: KnownClip) -> list[Any]:
    undefined = None if clip.undefined is None else sorted(clip.undefined)
    sound = None if clip.sound is None else base64.b64encode(clip.sound).decode()
    return [clip.category, clip.sampling_rate, clip.samples, undefined, sound, clip.cluster, clip.slice]


def _clip(
    category: Category, rate: int | None, samples: int | None, undefined: list[str] | None, sound: str | None,
    cluster: str | None = None, slice_: str | None = None,
) -> KnownClip:  # fmt: skip
    return KnownClip(
        category,
        rate,
        samples,
        None if undefined is None else frozenset(undefined),
        None if sound is None else base64.b64decode(sound),
        cluster,
        slice_,
    )
