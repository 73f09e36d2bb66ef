"""Checks of listening samples: they play, hold one mono stream, and are the sounds of their clip and of its row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.distortion import INFINITE, si_sdr
from codec_superb.metrics.errors import Undefined
from codec_superb.pipeline.submission.facts.clips import Known, KnownClip
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS, decoded
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.stored_rows import StoredRows

LENGTH_SLACK = 0.05
"""Seconds by which a sample may be longer or shorter than its clip; those of ``pack`` differ by 0.0035 s at most."""
SOUND_DB = 1.5
"""Largest mean difference of levels between a clip and its sample. Over the 75 clips of ``mini`` the coder makes 0.08
dB of difference, 0.43 dB at most; the nearest two clips, sung by one voice, are 2.7 dB apart, and most 14 dB."""
NEARER_DB, SAME_DB = 3.0, 0.0
"""By how much the SI-SDR between the two sounds of a sample may lie above that of its row, or above 0 dB where that is
more, and what it must have where the row has :data:`CLEAR_DB`. The coder of samples only adds noise: of six samples
each of 58 honest runs none was nearer to its reference by more than 0.05 dB, and none of such rows below 7 dB."""
SAMPLE_BYTES = 9600
"""Bytes of a second of a sample, and as many for its headers: the coder's are 8,000, 8,500 of the second that takes
most. Beside others a sample of more is heard to advantage."""
CLEAR_DB, FINE_DB = 10.0, 30.0
"""From the second on the coder may write two sounds alike."""
_PACK = "pack again with --samples"
_Sound = NDArray[np.float32]


def check_sound(
    submission: Submission,
    members: Mapping[str, bytes],
    rows: StoredRows,
    known: Known | None,
    findings: Findings,
) -> None:
    """Decode every sample from its first page to its last, compare it with what is known of its clip, doubt others."""
    named = known if known is not None and submission.kind == "named" else lambda _name: None
    scored, others = _scored(submission, rows), []
    for sample in submission.samples:
        dataset = named(sample.dataset)
        clip = dataset.clips.get(sample.clip) if dataset is not None else None
        reference, resynthesis = (
            _check_sample(name, members.get(name, b""), clip, findings, reference=name == sample.reference)
            for name in (sample.reference, sample.resynthesis)
        )
        value = scored.get((sample.dataset, sample.clip))
        if reference is None or resynthesis is None or value is None:
            continue
        found = _si_sdr(reference, resynthesis)
        if (value < FINE_DB and found > max(value, 0.0) + NEARER_DB) or (value >= CLEAR_DB and found < SAME_DB):
            others.append(f"{sample.dataset}/{sample.clip}, SI-SDR {found:.0f} dB, in its row {value:.0f} dB")
    if others:
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        findings.doubt(f"listening samples that are another sound than the one that was scored: {others[0]}{more}")


def _scored(submission: Submission, rows: StoredRows) -> Mapping[tuple[str, str], float]:
    """Return the SI-SDR of the rows of samples that hold their clip whole, by dataset and clip.

    Under a condition there is none: a row may be compared with another sound than the sample's reference. Nor is there
    above 48 kHz: what a sample leaves out there may be most of the difference.
    """
    if not submission.samples or submission.condition is not None or "si_sdr" not in rows.metrics:
        return {}
    its = rows.where("clip", {sample.clip for sample in submission.samples})
    rates = its.number("sampling_rate")
    whole = (its.number("samples") <= SECONDS * rates) & (rates <= OPUS_RATE)
    names = zip(its.texts("dataset"), its.texts("clip"), strict=True)
    values = zip(names, its.number("si_sdr").tolist(), whole.tolist(), strict=True)
    return {name: value for name, value, all_of_it in values if all_of_it and np.isfinite(value)}


def _si_sdr(reference: _Sound, resynthesis: _Sound) -> float:
    length = min(reference.size, resynthesis.size)
    try:
        return si_sdr(reference[:length], resynthesis[:length], OPUS_RATE)
    except Undefined as undefined:
        return np.inf if undefined.args[0] == INFINITE else -np.inf


def _check_sample(
    name: str, data: bytes, clip: KnownClip | None, findings: Findings, *, reference: bool
) -> _Sound | None:
    try:
        audio = decoded(data)
    except ValueError as error:
        expected = "one mono Ogg Opus stream that decodes, of at most ten seconds, and nothing behind it"
        findings.add(name, expected, error, _PACK)
        return None
    if len(data) > (most := int(SAMPLE_BYTES * (1 + audio.size / OPUS_RATE))):
        findings.add(name, f"at most {most:,} bytes, as of 64 kbps", f"{len(data):,}", _PACK)
    if clip is None or clip.samples is None or not clip.sampling_rate:
        return audio
    # imported here: a check without samples needs no transforms
    from codec_superb.pipeline.submission.facts.fingerprint import distance, fingerprint, frames_of

    length = min(SECONDS, clip.samples / clip.sampling_rate)
    if abs(audio.size / OPUS_RATE - length) > LENGTH_SLACK:
        findings.add(name, f"{length:.3f} s, as its clip has", f"{audio.size / OPUS_RATE:.3f} s", _PACK)
    elif reference and clip.sound is not None:
        apart = distance(clip.sound, fingerprint(audio, OPUS_RATE, frames_of(clip.sound)))
        if apart > SOUND_DB:
            expected = f"the sound of the clip, within {SOUND_DB:g} dB"
            findings.add(name, expected, f"sound that differs by {apart:.2g} dB", _PACK)
    return audio
