"""The data type of a clip: one audio file of a dataset with its category, licence and labels.

Conventions: audio is float32 in [-1, 1], shape ``(channels, samples)``, with its rate in Hz beside it.
A clip id is stable across machines: it comes from the manifest or from the publisher's file name,
never from the order of a listing. Ids use ``/`` between parts and may be used as relative paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.audio_file import read_audio, read_header
from codec_superb.data_manifests.errors import ObjectError
from codec_superb.data_manifests.files import Readable

# metrics/table.py states the same, because neither layer may import the other; a test compares the two.
Category = Literal["speech", "audio", "music"]
CATEGORIES: tuple[Category, ...] = ("speech", "audio", "music")


@dataclass(frozen=True, slots=True)
class Labels:
    """The dataset's labels of a clip; an unknown field is None or empty."""

    text: str | None = None
    """Transcript, as published."""
    language: str | None = None
    """BCP 47 language tag."""
    speaker: str | None = None
    emotion: str | None = None
    events: tuple[str, ...] = ()
    """Sound-event, instrument, genre or keyword classes, as named by the dataset."""
    extra: tuple[tuple[str, str], ...] = ()
    """Further published labels (pitch, session, trial list …) as sorted name-value pairs."""
    question: str | None = None
    """What is asked about the clip, in writing."""
    choices: tuple[str, ...] = ()
    """Answers to choose from, in the order of their letters."""
    answers: tuple[str, ...] = ()
    """Right answers, any of which will do; of a question with choices the text of the right one."""


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip: the path of its audio, its category, licence and labels."""

    id: str
    dataset: str
    category: Category
    path: Readable
    """Audio file: an absolute path, or its place in a store."""
    licence: str
    """SPDX identifier where there is one, otherwise the publisher's own name for it."""
    attribution: str
    sampling_rate: int | None = None
    """Hz; None for a folder of audio, where it is known only after decoding."""
    labels: Labels = field(default_factory=Labels)
    cluster: str = ""
    """Opaque id of what makes clips of its dataset alike (:mod:`codec_superb.data_manifests.clusters`); '' for a clip
    on its own."""
    frames: int | None = None
    """Samples per channel, where the clip list states them: of clips in a store, whose headers are not read."""
    slice: str = ""
    """The recording condition that the clip was made in, at most 64 characters; '' where the dataset names none."""

    def load(self) -> tuple[NDArray[np.float32], int]:
        """Decode the clip: float32 in [-1, 1] of shape ``(channels, samples)``, and its rate in Hz.

        Raises :class:`~codec_superb.data_manifests.audio.audio_file.AudioFileError` with the reason when the
        file cannot be decoded, is empty, or holds NaN or Inf.
        """
        return read_audio(self.path)

    def header(self) -> tuple[int, int] | None:
        """Return rate in Hz and samples per channel, as the clip list or the file's header states them.

        None where libsndfile cannot read the file, or its object cannot be had. Raises OSError for a file that is
        missing, StoreError where a store gives nothing at all.
        """
        if self.sampling_rate and self.frames:
            return self.sampling_rate, self.frames
        try:
            return read_header(self.path)
        except ObjectError:  # it is the clip's own failure when it is read
            return None
