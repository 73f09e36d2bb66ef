"""Storage of a run's resyntheses: 24-bit FLAC, one file per clip, replaced atomically.

Values are rounded to 24 bits and clamped to their range, [-1, 1 - 2**-23]; samples beyond [-1, 1] are counted before. A
file is written under a temporary name and renamed, so every file in ``audio/`` is complete. There is no fsync: after
the death of a process renamed files are intact in the kernel's page cache; after a power loss the last half minute
(Linux writes dirty pages back after 30 s by default) may be missing, which is detected by size or SHA-256.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.fitting import pieces
from codec_superb.data_manifests.files import PARTIAL, write_atomically
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.pipeline.errors import RunFolderError

# 24 bits: a step is 138 dB below full scale
FULL_SCALE = 1 << 23
SUFFIX = ".flac"
COMPONENT_LIMIT = 200
"""Bytes of one path component; common file systems allow 255, and a suffix and a temporary name must fit as well."""


class Stored(NamedTuple):
    """Facts about a stored resynthesis."""

    sha256: str
    """SHA-256 over the 24-bit samples as little-endian 32-bit integers."""
    clipped_samples: int


def file_name(clip_id: str, suffix: str = SUFFIX) -> str:
    """Return the relative path of a clip's file: its id, with components replaced that are too long or reserved."""
    *folders, leaf = clip_id.split("/")
    parts = [*(_component(part, suffix, folder=True) for part in folders), _component(leaf, suffix, folder=False)]
    return "/".join(parts) + suffix


def _component(part: str, suffix: str, *, folder: bool) -> str:
    """Make one path component safe; a changed one ends with a hash of the original, so that names stay unique."""
    too_long = len(part.encode()) > COMPONENT_LIMIT
    # A folder named like a file (a.flac/) could collide with the file of another clip.
    reserved = part in {"", ".", ".."} or part.startswith(PARTIAL) or "\0" in part or (folder and part.endswith(suffix))
    if not too_long and not reserved:
        return part
    stem = part.encode()[:120].decode(errors="ignore").replace("\0", "").removesuffix(suffix).lstrip(".")
    return f"{stem}~{hashlib.sha256(part.encode()).hexdigest()[:16]}"


def quantise(audio: NDArray[np.float32]) -> NDArray[np.int32]:
    """Round samples in [-1, 1] to 24-bit integers, clamping values beyond."""
    quantised = np.empty(audio.shape, dtype=np.int32)
    for its in pieces(audio.size):  # a second copy of an hour takes half a gigabyte
        # exact in single precision: a power of two, and 24 bits
        scaled = audio[its] * np.float32(FULL_SCALE)
        quantised[its] = np.clip(np.rint(scaled, out=scaled), -FULL_SCALE, FULL_SCALE - 1, out=scaled)
    return quantised


def digest(samples: NDArray[np.int32]) -> str:
    """SHA-256 over 24-bit samples."""
    return hashlib.sha256(_as_bytes(samples)).hexdigest()


def _as_bytes(samples: NDArray[np.int32]) -> memoryview:
    """Return the bytes of the samples that are hashed, without a copy."""
    # a fixed byte order, so that the hash is that of every machine
    return np.ascontiguousarray(samples, dtype="<i4").data


def write_audio(path: Path, audio: NDArray[np.float32], rate: int) -> Stored:
    """Store mono ``audio`` of shape ``(samples,)`` at ``rate`` Hz; an existing file is replaced atomically.

    Raises OSError when the disk is full or not writable, soundfile's error for a rate that FLAC does not support.
    """
    import soundfile

    encoded = io.BytesIO()  # in memory: libsndfile does not report a full disk
    sha256, clipped = hashlib.sha256(), 0
    # at libsndfile's level 5: level 0 takes an eighth less time and a third more space on the clips of `mini`
    with soundfile.SoundFile(encoded, "w", rate, 1, "PCM_24", format="FLAC") as file:
        for its in pieces(audio.size):
            samples = quantise(audio[its])
            sha256.update(_as_bytes(samples))
            file.write(samples << 8)  # libsndfile takes 24-bit samples in the upper bits of int32
            clipped += int(np.count_nonzero(np.abs(audio[its]) > 1.0))
    # not synced clip by clip: a file that a crash of the machine left empty is found by the stage
    try:
        write_atomically(path, encoded.getbuffer(), sync=False)
    except FileNotFoundError:  # the first clip of its folder
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, encoded.getbuffer(), sync=False)
    return Stored(sha256.hexdigest(), clipped)


def read_audio(path: Place, sha256: str) -> tuple[NDArray[np.float32], int]:
    """Return the samples ``(samples,)`` that :func:`write_audio` stored and their rate in Hz.

    Raises RunFolderError when the file is missing or damaged, or when its samples have another SHA-256.
    """
    import soundfile

    try:
        # libsndfile's callbacks swallow what reading an object raises: all of it is read before
        file = path if isinstance(path, Path) else io.BytesIO(path.read_bytes())
        stored, rate = soundfile.read(file, dtype="int32", always_2d=True)
    except (soundfile.SoundFileError, OSError) as error:
        raise RunFolderError(
            f"the resynthesis cannot be read: {error}; call resynth, or import, with --overwrite"
        ) from error
    # an arithmetic shift keeps the sign
    stored >>= 8
    samples = stored[:, 0]
    if digest(samples) != sha256:
        raise RunFolderError(
            "the stored resynthesis is not what resynth wrote; call resynth, or import, with --overwrite"
        )
    audio = samples.astype(np.float32)  # exact, as in quantise
    audio *= np.float32(1 / FULL_SCALE)
    return audio, int(rate)
