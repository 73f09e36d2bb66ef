"""Checks of listening samples: they play, hold one mono stream, and the reference is the sound of its clip."""

from __future__ import annotations

from collections.abc import Mapping

from codec_superb.pipeline.submission.facts.clips import Known, KnownClip
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS, decoded
from codec_superb.pipeline.submission.schema import Submission

LENGTH_SLACK = 0.05
"""Seconds by which a sample may be longer or shorter than its clip; those of ``pack`` differ by 0.0035 s at most."""
SOUND_DB = 1.5
"""Largest mean difference of levels between a clip and its sample. Over the 75 clips of ``mini`` the coder makes 0.08
dB of difference, 0.43 dB at most; the nearest two clips, sung by one voice, are 2.7 dB apart, and most 14 dB."""
_PACK = "pack again with --samples"


def check_sound(submission: Submission, members: Mapping[str, bytes], known: Known | None, findings: Findings) -> None:
    """Decode every sample from its first page to its last, and compare it with what is known of its clip."""
    named = known if known is not None and submission.kind == "named" else lambda _name: None
    for sample in submission.samples:
        dataset = named(sample.dataset)
        clip = dataset.clips.get(sample.clip) if dataset is not None else None
        for name in (sample.reference, sample.resynthesis):
            _check_sample(name, members.get(name, b""), clip, findings, reference=name == sample.reference)


def _check_sample(name: str, data: bytes, clip: KnownClip | None, findings: Findings, *, reference: bool) -> None:
    try:
        audio = decoded(data)
    except ValueError as error:
        expected = "one mono Ogg Opus stream that decodes, of at most ten seconds, and nothing behind it"
        findings.add(name, expected, error, _PACK)
        return
    if clip is None or clip.samples is None or not clip.sampling_rate:
        return
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
