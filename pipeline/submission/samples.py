"""Listening samples: short Ogg Opus files that a browser plays, written for submissions and checked in them."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

# RFC 7845: Ogg Opus counts at 48 kHz whatever went in
OPUS_RATE = 48_000
SECONDS = 10.0
"""Longest sample; what is longer is cut and faded out."""
_SLACK = 1.0
"""Seconds beyond the longest sample that padding may add."""
# a cut without a fade clicks
_FADE = 0.05
_FIRST, _LAST = 2, 4
"""Bits of an Ogg page's header type: it begins its stream, it ends it."""
_FRAME = 960
"""20 ms: the frame that libopus is made for."""


def ogg_opus(audio: NDArray[np.float32], rate: int, kbps: int = 64) -> bytes:
    """Encode mono audio in [-1, 1] at ``rate`` Hz, shape ``(samples,)`` or ``(1, samples)``, as Ogg Opus (RFC 7845).

    Cut to :data:`SECONDS`. The same audio gives the same bytes. At the default bitrate Opus is nearly
    transparent; samples are for listening, never for a score. ValueError for an empty or many-channel array.
    """
    import av

    signal = coder_input(audio, rate)
    out = io.BytesIO()
    # bitexact: no random stream number, no version of the muxer.
    with av.open(out, "w", format="ogg", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libopus", rate=OPUS_RATE, layout="mono", options={"vbr": "constrained"})
        stream.bit_rate = kbps * 1000
        # FFmpeg's libopus takes frames of its frame_size; the fifo cuts and keeps the time stamps
        fifo = av.AudioFifo()
        frame = av.AudioFrame.from_ndarray(signal[np.newaxis], format="flt", layout="mono")
        frame.sample_rate = OPUS_RATE
        fifo.write(frame)
        for piece in [*fifo.read_many(_FRAME, partial=True), None]:
            container.mux(stream.encode(piece))
    return out.getvalue()


def coder_input(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Return what is encoded of mono ``audio``: at most :data:`SECONDS` at 48 kHz, in [-1, 1], shape ``(samples,)``.

    ValueError for an empty or many-channel array.
    """
    mono = np.asarray(audio, dtype=np.float32)
    if mono.ndim == 2 and mono.shape[0] == 1:  # noqa: PLR2004 -- (channels, samples)
        mono = mono[0]
    if mono.ndim != 1 or not mono.size:
        raise ValueError(f"expected mono audio of shape (samples,) or (1, samples), got {np.shape(audio)}")
    return np.clip(_at_opus_rate(as_sample(mono, rate), rate), -1, 1)


def as_sample(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Return mono ``audio``, shape ``(samples,)``, as a sample holds it: at most :data:`SECONDS`, faded out if cut."""
    length = int(SECONDS * rate)
    if audio.size <= length:
        return audio
    cut = audio[:length].copy()
    fade = int(_FADE * rate)
    cut[length - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    return cut


def _at_opus_rate(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    if rate == OPUS_RATE:
        return np.ascontiguousarray(audio)
    import soxr

    resampled: NDArray[np.float32] = soxr.resample(audio, rate, OPUS_RATE, quality="VHQ")
    return np.ascontiguousarray(resampled, dtype=np.float32)


def decoded(data: bytes) -> NDArray[np.float32]:
    """Decode a sample to mono at 48 kHz, shape ``(samples,)``. Raises ValueError with the reason why it does not play.

    Stops as soon as more has come out than a sample may hold, whatever the file says about its length.
    """
    import av

    if fault := stream_fault(data):
        raise ValueError(fault)
    try:
        # the format is named: FFmpeg's probing would open any of its demuxers on a stranger's bytes
        with av.open(io.BytesIO(data), format="ogg") as container:
            streams = [(stream.type, stream.codec_context.name) for stream in container.streams]
            if [kind for kind, _ in streams] != ["audio"] or "opus" not in streams[0][1]:
                raise ValueError(f"streams {streams}")
            return _decode(container)
    except (av.FFmpegError, AttributeError, EOFError) as error:
        raise ValueError(f"{type(error).__name__}: {error}"[:200]) from error


def stream_fault(data: bytes) -> str:
    """Return what keeps data from being one mono Ogg Opus stream and nothing else; '' for nothing.

    RFC 3533: pages of one serial number, counted from 0, the last one marked as such and at the end of the data. RFC
    7845: the first page holds the identification header, whose tenth byte is the number of channels.
    """
    if not is_ogg_opus(data):
        return "no Ogg Opus"
    if data[37] != 1:
        return f"{data[37]} channels"
    place, number, serial, last = 0, 0, data[14:18], False
    while place < len(data):
        page = data[place : place + 27]
        if last or len(page) < 27 or page[:5] != b"OggS\0" or page[14:18] != serial:  # noqa: PLR2004 -- a header
            return f"{len(data) - place} bytes behind its stream"
        if int.from_bytes(page[18:22], "little") != number or bool(page[5] & _FIRST) != (number == 0):
            return f"page {number} of another stream"
        lacing = data[place + 27 : place + 27 + page[26]]
        place += 27 + page[26] + sum(lacing)
        number, last = number + 1, bool(page[5] & _LAST)
    return "" if last and place == len(data) else "no whole last page"


def is_ogg_opus(data: bytes) -> bool:
    """Whether data begin as RFC 7845, section 3, requires: with an Ogg page of the Opus identification header alone."""
    # RFC 3533: a page header of 27 bytes and one lacing value; RFC 7845: the first packet begins with OpusHead
    return data.startswith(b"OggS") and data[28:36] == b"OpusHead" and len(data) > 37  # noqa: PLR2004 -- its channels


def _decode(container: object) -> NDArray[np.float32]:
    pieces: list[NDArray[np.float32]] = []
    samples = 0
    # counted while it decodes: a granule position may promise anything
    for frame in container.decode(audio=0):  # type: ignore[attr-defined]  # av has no types
        samples += frame.samples
        if samples > (SECONDS + _SLACK) * OPUS_RATE or frame.sample_rate != OPUS_RATE:
            raise ValueError(f"more than {SECONDS:g} s, or another rate than {OPUS_RATE} Hz")
        piece = frame.to_ndarray()
        pieces.append(piece[0] if piece.dtype == np.float32 else piece[0] / np.float32(1 << 15))
    if not samples:
        raise ValueError("no sound in it")
    return np.concatenate(pieces)
