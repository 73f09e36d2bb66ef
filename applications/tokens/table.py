"""The table of disturbances as data: names and definitions. Imports no codec, so that pages can read it."""

from __future__ import annotations

from dataclasses import dataclass

CODINGS = (2, 3, 5, 10, 25)
"""The tokens of these codings are compared with those of the first: the fifth is the one after four decodings."""
VERSION = "1"
"""Of the disturbances; a change of numbers changes it, and that of the probe."""
NOISES = (40, 30, 20)
"""Signal-to-noise ratios in dB."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One row of the table."""

    key: str
    label: str
    definition: str


DISTURBANCES: dict[str, Disturbance] = {
    row.key: row
    for row in (
        *(
            Disturbance(f"recode_{n}", f"coded {n} times", f"the tokens of coding {n}, the sound decoded between")
            for n in CODINGS
        ),
        *(
            Disturbance(f"step_{n}", f"coding {n}, the one before", f"coding {n} against coding {n - 1}")
            for n in CODINGS
        ),
        Disturbance("shift_1", "shifted by a sample", "one sample of silence before the sound"),
        Disturbance("shift_quarter", "shifted by ¼ frame", "a quarter of a frame of silence before the sound"),
        Disturbance("shift_half", "shifted by ½ frame", "half a frame of silence before the sound"),
        Disturbance("shift_frame", "shifted by a frame", "a frame of silence before it, its tokens a frame later"),
        *(
            Disturbance(f"noise_{snr}", f"noise, {snr} dB", f"white noise {snr} dB below the clip's power")
            for snr in NOISES
        ),
        Disturbance("louder", "6 dB louder", "the samples times 1.995, none cut off"),
        Disturbance("quieter", "6 dB quieter", "the samples times 0.501"),
        Disturbance("mp3", "MP3 before", "through MP3 at 128 kbps (LAME), at 44.1 kHz"),
        Disturbance("resampled", "resampled", "to 44.1 kHz and back, of sound at 44.1 kHz to 48 kHz (soxr VHQ)"),
    )
}
