"""Checks of where sound and bits come from: contradictions are problems, what is hard to believe is a note."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from codec_superb.pipeline.runs.info import is_imported
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.pipeline.tables.rows import ClipRow

_EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
"""A clock may be wrong, or set to the local time of its zone."""
_LEAST_CLIPS = 3
_WHOLE = 1e-6
"""Bits by which a product of bitrate and duration may miss a whole number and still be one."""


def check_origin(rows: Sequence[ClipRow], submission: Submission, findings: Findings) -> None:
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
        coded = [row for row in rows if row.dataset == dataset.name and row.status == "ok"]
        timed = any(row.encode_s is not None or row.decode_s is not None for row in coded)
        if coded and not timed and not is_imported(dataset.provenance):
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


def _computed(rows: Sequence[ClipRow], submission: Submission) -> bool:
    """Whether all bits are a rounded product of the nominal bitrate and the duration.

    Clips whose product is a whole number tell nothing: a codec of whole bits a sample (ITU-T G.711: 8), or one whose
    frames fill the clip, has exactly so many. A fraction of a bit is sent by none: its last frame has more.
    """
    card = submission.codec
    if card.bit_source != "measured" or not card.nominal_kbps:
        return False
    told = [
        (card.nominal_kbps * 1000 * row.seconds, row.bits)
        for row in rows
        if row.status == "ok" and row.seconds and row.bits is not None and row.tokens is None
    ]
    if any(round(product) != bits for product, bits in told):
        return False
    return sum(abs(product - round(product)) > _WHOLE for product, _ in told) >= _LEAST_CLIPS
