"""Training sounds in shards as XARES-LLM publishes and reads them: what it drops, and how it decodes."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from codec_superb.applications.clips import at_rate
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Samples
from codec_superb.base_codec import fitting
from codec_superb.data_manifests.audio.webdataset import Shard, ShardReport, read_entries, texts_of
from codec_superb.data_manifests.objects.object_file import in_order
from codec_superb.data_manifests.objects.published import shards_at
from codec_superb.data_manifests.objects.store_path import Place

_LEAST_DIFFERENT, _LONG, _LEAST_LETTERS = 4, 10, 0.5


class ShardSample(NamedTuple):
    """A sound and one of its texts."""

    key: str
    place: str
    """Shard and member, for people."""
    audio: bytes
    """The file as it stands in the shard."""
    target: str


def find_shards(root: Place, pattern: str) -> list[Place]:
    """Return the shards of a pattern below ``root``. Raises ApplicationError naming the first one that is missing."""
    found, missing = shards_at(root, pattern)
    if missing:
        raise ApplicationError(
            f"{missing[0]}: expected a shard, found none ({len(missing)} of {len(found) + len(missing)} of {pattern} "
            "are missing); fetch them, or name their folder with --data DIR"
        )
    return found


def read_shard(file: Place, fields: Sequence[str], report: ShardReport, *, training: bool) -> Iterator[ShardSample]:
    """Yield the samples of a shard, a sound with several texts several times; ``fields`` are tried in order.

    Texts that the published recipe takes for corrupt are left out of training, and of nothing else; all is counted.
    """
    # of a store from beginning to end, compressed or not: nothing of it is kept here
    shard = file if isinstance(file, Path) else Shard(file.name, in_order(file.state()))
    for entry in read_entries(shard, report):
        for target in texts_of(entry, fields, report):
            if training and is_corrupt(target):
                report.note("a text that training leaves out", entry.place, repr(target[:40]))
            else:
                yield ShardSample(entry.key, entry.place, entry.audio, target)


def decode(sample: ShardSample, rate: int) -> Samples:
    """Return a sound mono at ``rate`` Hz, divided by its peak where that is above 1, as published.

    Raises PredictionFailed for what is no sound, or has no samples.
    """
    from codec_superb.data_manifests.audio.audio_file import read_audio
    from codec_superb.data_manifests.errors import AudioFileError

    try:
        with tempfile.NamedTemporaryFile() as file:  # decoders of compressed sound want a file
            file.write(sample.audio)
            file.flush()
            audio, own = read_audio(Path(file.name))
    except AudioFileError as error:
        raise PredictionFailed(f"{sample.place}: {str(error).replace(file.name, 'its sound')}") from error
    mono = fitting.to_mono(audio)[0]
    if not mono.size:
        raise PredictionFailed(f"{sample.place}: expected a sound, got one of 0 samples")
    peak = float(np.abs(mono).max())
    return at_rate(mono / np.float32(peak) if peak > 1 else mono, own, rate)


def is_corrupt(text: str) -> bool:
    """Whether the published recipe takes a text for broken: half of it no letters, few different signs, accents."""
    signs = [sign for sign in text if not sign.isspace()]
    if not signs:
        return True
    letters = sum(sign.isalnum() for sign in signs) / len(signs)
    few = len(signs) > _LONG and len(set(signs)) < _LEAST_DIFFERENT
    return letters < _LEAST_LETTERS or few or any(unicodedata.combining(sign) for sign in signs)
