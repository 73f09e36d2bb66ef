"""Checks of where sound and bits come from: contradictions are problems, what is hard to believe is a note."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from codec_superb.pipeline.runs.info import is_imported
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.pipeline.tables.stored_rows import StoredRows

_EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
"""A clock may be wrong, or set to the local time of its zone."""
_LEAST_CLIPS = 3
_WHOLE = 1e-6
"""Bits by which a product of bitrate and duration may miss a whole number and still be one."""


def check_origin(rows: StoredRows, submission: Submission, findings: Findings) -> None:
    """Check that stamps, times and bits fit each other; none of this proves who made a file."""
    _check_moment(submission.created, f"{SUBMISSION_NAME}: created", findings)
    for position, dataset in enumerate(submission.datasets):
        for number, stamp in enumerate(dataset.provenance):
            place = f"{SUBMISSION_NAME}: datasets.{position}.provenance.{number}.started"
            _check_moment(stamp.started, place, findings)
            if stamp.taken_over is not None and stamp.stage != "imported":
                where = f"{SUBMISSION_NAME}: datasets.{position}.provenance.{number}.stage"
                fix = "pack the runs again with this version; a stamp is not edited by hand"
                findings.add(where, "imported, for sound that was taken over from files", stamp.stage, fix)
        coded = rows.where("dataset", {dataset.name}).where("status", {"ok"})
        timed = any(np.isfinite(coded.number(name)).any() for name in ("encode_s", "decode_s"))
        if len(coded) and not timed and not is_imported(dataset.provenance):
            findings.doubt(
                f"{dataset.name}: no clip has a time of encoding or decoding, which resynth always measures: "
                "was the sound made elsewhere?"
            )
    if _computed(rows, submission):
        findings.doubt(
            f"every clip's bits are exactly those of the nominal {submission.codec.nominal_kbps:g} kbps, with "
            "fractions of a bit rounded, though the card says that they were measured: computed, not counted?"
        )


def _check_moment(text: str, where: str, findings: Findings) -> None:
    """Expect a moment that there was, since there were such files, and not after tomorrow."""
    latest = datetime.now(UTC) + _AHEAD
    try:
        right = _EARLIEST <= datetime.fromisoformat(text) <= latest
    except ValueError:  # the 30th of February
        right = False
    if not right:
        expected = f"a moment from {_EARLIEST:%Y-%m-%d} to {latest:%Y-%m-%d}"
        findings.add(where, expected, text, "set the clock of the machine, and run again")


def _computed(rows: StoredRows, submission: Submission) -> bool:
    """Whether all bits are a rounded product of the nominal bitrate and the duration.

    Clips whose product is a whole number tell nothing: a codec of whole bits a sample (ITU-T G.711: 8), or one whose
    frames fill the clip, has exactly so many. A fraction of a bit is sent by none: its last frame has more.
    """
    card = submission.codec
    if card.bit_source != "measured" or not card.nominal_kbps:
        return False
    ok = rows.where("status", {"ok"})
    rate, samples, bits = map(ok.number, ("sampling_rate", "samples", "bits"))
    with np.errstate(invalid="ignore", divide="ignore"):
        seconds = np.where(rate != 0, samples / rate, np.nan)
    told = (np.nan_to_num(seconds) != 0) & np.isfinite(bits) & np.isnan(ok.number("tokens"))
    products = card.nominal_kbps * 1000 * seconds[told]
    if (np.rint(products) != bits[told]).any():
        return False
    return int((np.abs(products - np.rint(products)) > _WHOLE).sum()) >= _LEAST_CLIPS
