"""A recording that clips are cut out of: read once, decoded once and only when a clip of it is not stored yet."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

from codec_superb.data_manifests.audio.samples import Samples
from codec_superb.data_manifests.audio.store import decode_any
from codec_superb.data_manifests.errors import AudioFileError

SLACK_SECONDS = 0.1
"""How far after the end of the recording a cut may end; it then ends with the recording."""


class Recording:
    """One audio file. Raises AudioFileError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._content = path.read_bytes()
        except OSError as error:
            raise AudioFileError(f"cannot read {path}: {error.strerror}") from error
        self.digest = hashlib.sha256(self._content).hexdigest()
        """SHA-256 of the file's bytes."""

    @cached_property
    def samples(self) -> Samples:
        """The whole recording: integers as they are, lossy and float sound with 24 bits."""
        return decode_any(self._content, str(self.path))

    def between(self, start: float, end: float) -> Samples:
        """Return what lies from ``start`` to ``end``, seconds that are rounded to the nearest sample (halves to even).

        Raises AudioFileError where no sample lies between them, or ``end`` is later than :data:`SLACK_SECONDS` after
        the recording's.
        """
        whole = self.samples
        first, last = round(start * whole.rate), round(end * whole.rate)
        if not 0 <= first < min(last, len(whole.data)) or last - len(whole.data) > SLACK_SECONDS * whole.rate:
            raise AudioFileError(
                f"{self.path}: expected {start} s to {end} s, got a recording of {whole.seconds:.3f} s"
            )
        return Samples(whole.data[first:last], whole.rate, whole.bits)
