"""Tokens of a dataset by a codec: the catalogue's, a file's or an isolated one's; each clip is encoded once and kept.

The codec is the backend ``codec-codes`` (:mod:`codec_superb.applications.embed.codec_encoder`), so that its tokens here
are those that probes get of it, and what is kept goes by its identity: name, weights, settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.clips import reference_of
from codec_superb.applications.embed.codec_encoder import CodecCodes
from codec_superb.applications.embed.frames_store import FramesStore, sound_key
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.base_codec import registry
from codec_superb.data_manifests.dataset import Dataset
from codec_superb.data_manifests.errors import AudioFileError

Tokens = NDArray[np.int64]
"""Shape ``(codebooks, frames)``; entries of a codebook from 0."""


class ClipTokens(NamedTuple):
    """Tokens of one clip."""

    clip: str
    tokens: Tokens
    seconds: float
    """Of the sound; the tokens' last frame may be padded."""


class TokenSource:
    """A codec's tokens of references; it is loaded when a clip is not kept."""

    def __init__(self, codec: str, weights: Path | None = None, device: str = "cpu", threads: int = 1) -> None:
        """Find the codec ``NAME`` or ``path/to/file.py:Class``, loading nothing.

        Raises ApplicationError for a codec of bytes, MissingModel and MissingPackage with what to do.
        """
        backend = CodecCodes(codec, weights)
        model = backend.prepare()
        self.card = registry.card(codec)
        sizes, frame_rate = self.card.codebook_entries, self.card.frame_rate
        if sizes is None or frame_rate is None:  # prepare has looked; the card has its sizes then
            raise ApplicationError(f"{codec}: expected a codec of tokens with sizes of its codebooks on its card")
        self.sizes: tuple[int, ...] = sizes
        """Entries of each codebook."""
        self.frame_rate: float = frame_rate
        """Frames a second, as the card says."""
        self.random: bool = model.random
        """Whether the codec has untrained weights."""
        self.digest: str
        """Identity of the codec: its name, weights and settings, SHA-256."""
        self._store = FramesStore(backend, model, device, threads)
        self.digest = self._store.digest

    def of(self, dataset: Dataset, clip_id: str) -> ClipTokens:
        """Return the tokens of a clip. Raises PredictionFailed with the reason where it has none."""
        try:
            audio, rate = dataset.clip(clip_id).load()
        except AudioFileError as error:
            raise PredictionFailed(str(error)) from error
        found = self._store.of(sound_key(dataset.manifest_hash, clip_id), partial(reference_of, audio, rate))
        return ClipTokens(clip_id, tokens_of(found), audio.shape[1] / rate)

    def clips(
        self, dataset: Dataset, clip_ids: Sequence[str] | None = None
    ) -> Iterator[tuple[str, ClipTokens | PredictionFailed]]:
        """Yield each clip of ``clip_ids`` (None: all) with its tokens, or why it has none."""
        for clip_id in dataset.clip_ids() if clip_ids is None else clip_ids:
            try:
                yield clip_id, self.of(dataset, clip_id)
            except PredictionFailed as error:
                yield clip_id, error

    def close(self) -> None:
        """Release the codec."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tokens_of(codes: NDArray[np.float32]) -> Tokens:
    """Return the tokens ``(codebooks, frames)`` of what ``codec-codes`` answers, ``(frames, codebooks)``."""
    # float32 holds them exactly: no codebook has 2^24 entries
    return np.ascontiguousarray(codes.T).astype(np.int64)
