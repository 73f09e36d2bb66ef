"""Gunshot Triangulation: four long recordings of the same 22 shots, which are cut into 88 clips.

The publisher provides ``mic1raw.wav``, ``mic2raw16b.wav``, ``mic3raw.wav`` and ``mic4raw.wav`` with a script that
cuts them. The HEAR benchmark, whose clips the benchmark's paper counts, follows that script, and so does this module:

- each recording, mixed to mono at 48 kHz, is cut to begin one second before the script's alignment offset;
- on the first microphone, a shot begins at a sample of 0.8 or more, more than 25,001 samples after the previous start;
- a clip is 1.5 s long and begins 1/8 s before its shot, at the same position in all four recordings;
- shots 0 to 3 are of firearm 1, and each following three of the next, up to firearm 7.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.audio.quantise import quantise_24_bits
from codec_superb.data_manifests.audio.samples import write_flac
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate
from codec_superb.data_manifests.manifest import ManifestLabels

OFFSETS = {"mic1raw.wav": 15_764_451, "mic2raw16b.wav": 13_764_742, "mic3raw.wav": 9_334_032, "mic4raw.wav": 6_794_611}
"""Recording -> sample at 48 kHz by which the publisher's script aligns it, in the order of the microphones."""

RATE = 48_000
SHOTS = 22
FIREARM_OF_SHOT = (1, *(shot // 3 + 1 for shot in range(SHOTS - 1)))
THRESHOLD = 0.8
APART = 25_001
"""Samples that a shot's start must exceed from the previous one."""
LENGTH = RATE * 3 // 2


def find(request: IndexRequest) -> Listing:
    """Cut the recordings into the request's store and list the clips with microphone, shot and firearm."""
    base = locate(request.root, "mic1raw.wav", ("gunshot_triangulation",))
    absent = [name for name in OFFSETS if not (base / name).is_file()]
    if absent:
        raise LayoutError(f"expected the recordings {', '.join(OFFSETS)} in {base}, {', '.join(absent)} not there")
    recordings = [_aligned(base / name, offset) for name, offset in OFFSETS.items()]
    starts = _beginnings(recordings[0])
    if len(starts) != SHOTS:
        raise LayoutError(f"{base / 'mic1raw.wav'}: expected {SHOTS} shots after the alignment, found {len(starts)}")
    listing = Listing(request.store, stored=True, notes=[f"clips were cut from the recordings in {base}"])
    for microphone, recording in enumerate(recordings, start=1):
        for shot, start in enumerate(starts):
            _cut(listing, recording, microphone, shot, start - RATE // 8)
    return listing


def _aligned(path: Path, offset: int) -> NDArray[np.float32]:
    """Return the recording from one second before ``offset``, mono at 48 kHz."""
    try:
        audio, rate = read_audio(path)
    except AudioFileError as error:
        raise LayoutError(f"{path} is one of the four recordings: {error}") from error
    mono: NDArray[np.float32] = audio.mean(axis=0)
    if rate != RATE:
        import soxr

        mono = soxr.resample(mono, rate, RATE, "VHQ")
    aligned = mono[offset - RATE :].copy()  # a view would keep the minutes before it in memory
    if len(aligned) < RATE:
        length = len(mono) / RATE
        raise LayoutError(f"{path}: expected more than {offset / RATE:.0f} s, the whole recording, got {length:.0f} s")
    return aligned


def _beginnings(audio: NDArray[np.float32]) -> list[int]:
    starts: list[int] = []
    for sample in np.flatnonzero(np.abs(audio) >= THRESHOLD):
        if len(starts) < SHOTS and (not starts or sample - starts[-1] > APART):
            starts.append(int(sample))
    return starts


def _cut(listing: Listing, recording: NDArray[np.float32], microphone: int, shot: int, start: int) -> None:
    firearm = FIREARM_OF_SHOT[shot]
    audio = recording[max(start, 0) : start + LENGTH]
    if len(audio) < LENGTH:
        raise LayoutError(f"the recording of microphone {microphone} ends before the end of shot {shot}")
    path = listing.root / f"mic{microphone}_shot{shot}_fid{firearm}.flac"
    write_flac(path, quantise_24_bits(audio[np.newaxis], RATE))
    extra = {"microphone": str(microphone), "shot": str(shot), "firearm": str(firearm)}
    listing.add(path, ManifestLabels(events=(f"firearm {firearm}",), extra=extra), below=listing.root)
