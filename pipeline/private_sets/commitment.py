"""What may be said of a dataset whose clips nobody may see: counts, durations, and a commitment to its content."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import fsum

from codec_superb.data_manifests import Category, open_dataset
from codec_superb.data_manifests.clip import Clip
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.errors import PipelineError


@dataclass(frozen=True, slots=True)
class PrivateFacts:
    """Facts of a private dataset, public ones and the two secrets behind the commitment."""

    counts: dict[Category, int]
    """Clips of each category that has some."""
    seconds: dict[Category, float]
    """Seconds of sound, likewise."""
    sounds: dict[Category, list[str]]
    """SHA-256 of each clip's decoded sound, likewise; secret."""
    salt: str
    """64 hexadecimal digits that make the commitment say nothing before it is opened."""
    manifest_hash: str
    """SHA-256 over clip ids, audio and labels."""

    @property
    def commitment(self) -> str:
        """SHA-256 of both."""
        return commitment(self.salt, self.manifest_hash)


def commitment(salt: str, manifest_hash: str) -> str:
    """Return the SHA-256 of both as text, one behind the other: ``printf %s%s SALT HASH | sha256sum``."""
    return hashlib.sha256(f"{salt}{manifest_hash}".encode("ascii")).hexdigest()


def private_facts(spec: str) -> PrivateFacts:
    """Read the facts of a dataset (a folder, a list of files, a manifest), and draw its salt.

    Raises DatasetError for what is no dataset, PipelineError where files cannot be read as sound; their number is said.
    """
    with unreadable_for_others():
        dataset = open_dataset(spec)
        lengths: dict[Category, list[float]] = defaultdict(list)
        sounds: dict[Category, list[str]] = defaultdict(list)
        broken = 0
        for clip in map(dataset.clip, dataset.clip_ids()):
            rate, frames = clip.header() or (None, 0)
            if rate:
                lengths[clip.category].append(frames / rate)
                sounds[clip.category].append(_sound_hash(clip))
            else:
                broken += 1
        if broken:
            raise PipelineError(
                f"expected sound in every file of the private dataset, got {broken} of {len(dataset)} that cannot be "
                "read; `codec-superb datasets check` names them"
            )
        counts = Counter({category: len(values) for category, values in lengths.items()})
        return PrivateFacts(
            counts={category: counts[category] for category in CATEGORIES if counts[category]},
            seconds={category: fsum(lengths[category]) for category in CATEGORIES if counts[category]},
            sounds={category: sounds[category] for category in CATEGORIES if counts[category]},
            salt=secrets.token_hex(32),
            manifest_hash=dataset.manifest_hash,
        )


def _sound_hash(clip: Clip) -> str:
    """Hash the samples, so that a copy in another container is the same; the file, where it cannot be decoded."""
    try:
        audio, rate = clip.load()
    except AudioFileError:
        return file_sha256(clip.path)
    return hashlib.sha256(f"{rate} {audio.shape}\n".encode() + audio.astype("<f4").tobytes()).hexdigest()


@contextmanager
def unreadable_for_others() -> Iterator[None]:
    """Have what is written while the body runs, caches with clip names among it, readable for this user alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
