"""Whether a listening sample plays: decoded whole, within limits, before anybody's browser gets it."""

from __future__ import annotations

import io

from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS

_SLACK = 1.0
"""Seconds beyond the longest sample that padding may add."""


def playback_problem(data: bytes) -> str:
    """Decode Ogg Opus; return '' where it plays, else the reason why it does not.

    Stops as soon as more has come out than a sample may hold, whatever the file says about its length.
    """
    import av

    try:
        with av.open(io.BytesIO(data), format="ogg") as container:
            streams = [(stream.type, stream.codec_context.name) for stream in container.streams]
            if [kind for kind, _ in streams] != ["audio"] or "opus" not in streams[0][1]:
                return f"streams {streams}"
            return _decode(container)
    except (av.FFmpegError, ValueError, AttributeError, EOFError) as error:
        return f"{type(error).__name__}: {error}"[:200]


def _decode(container: object) -> str:
    samples = 0
    for frame in container.decode(audio=0):  # type: ignore[attr-defined]  # av has no types
        samples += frame.samples
        if samples > (SECONDS + _SLACK) * OPUS_RATE or frame.sample_rate != OPUS_RATE:
            return f"more than {SECONDS:g} s, or another rate than {OPUS_RATE} Hz"
    return "" if samples else "no sound in it"
