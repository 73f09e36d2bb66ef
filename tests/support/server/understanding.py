"""Codecs with figures of a shipped task of understanding on the board, drawn as a chat might answer."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session
from support.server.board import Probed, make_submission

from codec_superb.applications.table import PROBES

TASK = next(row for row in PROBES.values() if row.definition is not None and row.definition.task.classes)
CHANCE = 25.0
CEILING = 80.0
ACCURACY: Mapping[str, float] = {"opus_6k": 75.0, "lyra_3.2k": 60.0, "codec2_700": 35.0}
KBPS: Mapping[str, float] = {"opus_6k": 6.0, "lyra_3.2k": 3.2, "codec2_700": 0.7}


def above(accuracy: float) -> float:
    """Return the accuracy above chance, in percent."""
    return 100.0 * (accuracy - CHANCE) / (100.0 - CHANCE)


def make_understanding_codecs(session: Session) -> None:
    """Store three codecs with one task on ``stamps``, and one without."""
    for codec, kbps in KBPS.items():
        value = ACCURACY[codec]
        figures = {
            "accuracy_pct": (value, CEILING),
            "above_chance_pct": (above(value), above(CEILING)),
            "unparsed_pct": (4.0, 2.0),
            "agreement_pct": (value + 5.0, 100.0),
        }
        probed = [Probed(f"{TASK.key}_{end}", *pair, "stamps", "cascade") for end, pair in figures.items()]
        make_submission(session, codec, kbps, datasets={"stamps": ("music",)}, applications=probed)
    make_submission(session, "mp3_64k", 64.0, datasets={"stamps": ("music",)})
