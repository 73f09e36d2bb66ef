"""The table of conditions: what each one does, where it acts, its parameter with its range, and its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["sound", "payload", "chain"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of condition; the functions are in :mod:`sound`, :mod:`babble` and :mod:`payload`."""

    key: str
    """``noise:white``; a condition is the key, and its strength after a colon where it has one."""
    label: str
    """Name for people."""
    place: Place
    """``sound``: before the encoder; ``payload``: between encoder and decoder; ``chain``: both, several times."""
    parameter: str
    """Name of the strength for people; '' for a kind without one."""
    unit: str
    low: float
    high: float
    usual: tuple[float, ...]
    """Strengths that are usually measured, from weak to strong."""
    definition: str
    source: str
    whole: bool = False
    """Whether the strength is a whole number."""
    damages: bool = True
    """Whether it takes something from the sound; a louder one is coded better by what has steps of fixed size."""
    version: str = "1"
    """Version of the definition, part of a run's identity."""

    @property
    def grows(self) -> bool:
        """Whether a higher strength is the stronger condition."""
        return not self.usual or self.usual[-1] > self.usual[0]

    @property
    def axis(self) -> str:
        """Parameter with its unit; '' for a kind without one."""
        return f"{self.parameter} ({self.unit})" if self.unit else self.parameter


_ALL = (
    Kind(
        "noise:white", "white noise", "sound", "signal-to-noise ratio", "dB", -20, 60, (20, 10, 5),
        "Gaussian white noise, at a ratio of powers over the whole clip",
        "levels by power as in C. K. A. Reddy et al., Interspeech 2020 (DNS Challenge)",
    ),
    Kind(
        "noise:babble", "babble", "sound", "signal-to-noise ratio", "dB", -20, 60, (20, 10, 5),
        "eight voices of other speakers of the same dataset, at a ratio of powers over the whole clip",
        "levels by power as in C. K. A. Reddy et al., Interspeech 2020 (DNS Challenge)",
    ),
    Kind(
        "level", "level", "sound", "largest sample", "dBFS", -60, 0, (0, -10, -20, -30),
        "the clip scaled to a largest sample; the gain is undone after the decoder",
        "largest sample against full scale, AES17", damages=False,
    ),
    Kind(
        "band:telephone", "telephone band", "sound", "", "", 0, 0, (),
        "linear-phase band-pass, 300 to 3,400 Hz", "band of ITU-T G.712",
    ),
    Kind(
        "reverb", "reverberation", "sound", "reverberation time", "s", 0.05, 5, (0.3, 0.6, 1.0),
        "a synthetic room: direct path and exponentially decaying Gaussian noise of the same energy",
        "J. A. Moorer, Computer Music Journal 3 (2), 1979; J.-D. Polack, 1988",
    ),
    Kind(
        "loss", "lost packets", "payload", "loss", "%", 0.01, 60, (1, 3, 5, 10, 20),
        "packets or frames of tokens lost in bursts; packets 20 ms apart are correlated by 1/2",
        "E. N. Gilbert, Bell Syst. Tech. J. 39, 1960; E. O. Elliott, Bell Syst. Tech. J. 42, 1963",
    ),
    Kind(
        "bits", "bit errors", "payload", "bit error rate", "%", 0.0001, 50, (0.01, 0.1, 1),
        "each bit of the payload inverted on its own", "binary symmetric channel, C. E. Shannon, 1948",
    ),
    Kind(
        "repeat", "codings in a row", "chain", "codings", "", 2, 20, (2, 3, 5),
        "the resynthesis coded again, so many times in all", "tandem coding, as in ITU-T P.830", whole=True,
    ),
)  # fmt: skip
KINDS: dict[str, Kind] = {kind.key: kind for kind in _ALL}
"""All kinds by key, in the order in which they are shown."""
