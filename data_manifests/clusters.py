"""Clusters: the clips of one speaker or recording, which are no independent evidence about a codec.

A manifest names the label that says so: ``speaker``, one of the dataset's own (``extra``), or ``clip`` for none. The id
of a cluster is a hash, so that what is made of the clips tells who speaks to nobody who does not have the dataset.
"""

from __future__ import annotations

import hashlib

from codec_superb.data_manifests.clip import Labels

UNIT = "speaker"
"""The label that is looked at where no manifest names one."""
ALONE = "clip"
"""Stands for none: each clip is its own cluster."""


def cluster_id(dataset: str, labels: Labels, unit: str = UNIT, *, otherwise: str = "") -> str:
    """Return the id of a clip's cluster, 12 hexadecimal digits, '' for a clip on its own.

    ``otherwise`` is what the clip shares where it has no such label: the recording that it was cut out of.
    """
    label = labels.speaker if unit == UNIT else dict(labels.extra).get(unit)
    label = label or otherwise
    if unit == ALONE or not label:
        return ""
    # the unit separator of ASCII: dataset and label cannot run together
    return hashlib.sha256(f"{dataset}\x1f{label}".encode()).hexdigest()[:12]
