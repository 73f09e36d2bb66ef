"""Clusters: the clips of one speaker, text or recording, which are no independent evidence; slices: their conditions.

A manifest names the label that says which clips are alike: ``speaker``, ``text``, one of the dataset's own (``extra``),
or ``clip`` for none. The id of a cluster is a hash, so that what is made of the clips tells who speaks to nobody who
does not have the dataset. A slice is the published name of a recording condition, another label of the dataset's own.
"""

from __future__ import annotations

import hashlib
import re

from codec_superb.data_manifests.clip import Labels
from codec_superb.data_manifests.errors import LayoutError

UNIT = "speaker"
"""The label that is looked at where no manifest names one."""
TRANSCRIPT = "text"
"""Stands for the transcript: the recordings of one text are alike, whoever speaks."""
ALONE = "clip"
"""Stands for none: each clip is its own cluster."""
MAX_SLICE = 64
# C0, DEL and C1; U+2028 and U+2029, at which str.splitlines breaks; halves of surrogate pairs, which UTF-8 lacks
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def cluster_id(dataset: str, labels: Labels, unit: str = UNIT, *, otherwise: str = "") -> str:
    """Return the id of a clip's cluster, 12 hexadecimal digits, '' for a clip on its own.

    ``otherwise`` is what the clip shares where it has no such label: the recording that it was cut out of.
    """
    own = {UNIT: labels.speaker, TRANSCRIPT: labels.text}
    label = (own[unit] if unit in own else dict(labels.extra).get(unit)) or otherwise
    if unit == ALONE or not label:
        return ""
    # the unit separator of ASCII: dataset and label cannot run together
    return hashlib.sha256(f"{dataset}\x1f{label}".encode()).hexdigest()[:12]


def slice_of(labels: Labels, name: str | None) -> str:
    """Return the recording condition of a clip, its label ``name``; '' where the dataset or the clip has none."""
    return dict(labels.extra).get(name, "") if name else ""


def check_slice(clip_id: str, value: str) -> None:
    """Raise LayoutError for a recording condition that no table of figures can show."""
    if len(value) > MAX_SLICE or _CONTROL.search(value):
        raise LayoutError(
            f"{clip_id}: expected the name of its recording condition to have at most {MAX_SLICE} characters and no "
            f"control characters, got {value[: MAX_SLICE + 1]!r}; name another label as the manifest's slice"
        )
