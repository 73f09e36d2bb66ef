"""Backend ``codec-disturbed``: the tokens of a reference, and how many stay the same when the sound is disturbed.

``codec-disturbed:NAME`` opens the codec, as ``codec-codes`` does; without a name a probe takes each run's own. Its
answer is a text: JSON of the tokens and of counts by name, from which :mod:`codec_superb.applications.tokens.stability`
makes its results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.embed.codec_encoder import CodecEncoder, as_application_errors
from codec_superb.applications.embed.frames import Frames
from codec_superb.applications.errors import ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Prediction, Samples, Setting, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.tokens.disturbances import disturbed
from codec_superb.applications.tokens.matches import ALL, Counts, matches
from codec_superb.applications.tokens.table import CODINGS, VERSION
from codec_superb.base_codec.errors import CodecError, CodingFailed
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.table import Category, metrics_for


class Stability(NamedTuple):
    """What is known of a clip."""

    tokens: NDArray[np.int64]
    """Of the sound itself, ``(codebooks, frames)``."""
    counts: Counts
    bits: int | None = None
    """Of the first coding; None where they are not counted, and in an answer."""


class DisturbedCodec(CodecEncoder):
    """Codes each sound again and again; answers are texts."""

    kind = "codec-disturbed"
    # a clip takes half its length and more: one at a time, so that little is lost where a run is killed
    batch_seconds = 1.0

    def sizes(self, codebooks: int) -> dict[str, Setting]:  # noqa: ARG002 -- all are taken
        """Return the version of what is done: kept answers of another one are not taken."""
        return {"disturbances": VERSION}

    def rows(self, codec: Codec, audio: NDArray[np.float32]) -> Frames:
        """Return the tokens of a clip, a row a frame."""
        return _tokens(codec, codec.encode(audio, self.rate)).T.astype(np.float32)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return the JSON of each sound; a sound whose first coding fails has none."""
        return one_by_one(self._text, batch)

    def _text(self, sound: Sound) -> str:
        if not np.isfinite(sound.samples).all():
            raise PredictionFailed("the clip holds samples that are not finite")
        with as_application_errors():
            try:
                self._codec.wake()
                found = stability(self._codec, sound.item.clip, sound.samples, self.rate, sound.item.category)
            except CodingFailed as error:
                raise PredictionFailed(str(error)) from error
            except CodecError as error:
                raise ModelUnusable(str(error)) from error
        return to_text(found)


def stability(
    codec: Codec, clip: str, samples: Samples, rate: int, category: Category, codings: Sequence[int] = CODINGS
) -> Stability:
    """Return the tokens of mono ``samples`` at ``rate`` Hz, and counts of those that stay under each disturbance.

    Counts are ``match:<disturbance>:<codebook>`` (from 1, or ``all``) and ``edits:<disturbance>``; the drift of metrics
    is ``drift:<metric>:<codings>``. Raises CodecError where the sound itself cannot be coded.
    """
    encoded = codec.encode(samples[None], rate)
    tokens = _tokens(codec, encoded)
    if not tokens.shape[1]:
        raise CodingFailed(f"the clip has {samples.size} samples at {rate} Hz: too short for one frame")
    frame = rate / codec.card.frame_rate if codec.card.frame_rate else samples.size * 1.0 / tokens.shape[1]
    counts: Counts = {}
    for key, other, later in disturbed(clip, samples, rate, frame):
        counts |= matches(key, tokens, _tokens(codec, codec.encode(other[None], rate)), later)
    if not codec.card.encode_only:
        counts |= _codings(codec, encoded, samples, metrics_for(category), codings)
    return Stability(tokens.astype(np.int64), counts, encoded.bits)


def _codings(
    codec: Codec, encoded: Encoded, samples: Samples, drift: Sequence[str], codings: Sequence[int]
) -> Counts:  # fmt: skip
    """Code the decoded sound, over and over."""
    rate, counts = encoded.sampling_rate, Counts()
    first = before = _tokens(codec, encoded)
    reference = prepare(samples, rate)
    for coding in range(1, codings[-1] + 1):
        if coding > 1:
            tokens = _tokens(codec, encoded)
            if coding in codings:
                counts |= matches(f"recode_{coding}", first, tokens)
                # over all codebooks: a name more for each would be a third of all
                step = f"match:step_{coding}:{ALL}"
                counts[step] = matches(f"step_{coding}", before, tokens)[step]
            before = tokens
        sound = codec.decode(encoded)[0]
        if coding in (1, *codings):
            found = score_pair(reference, sound, rate, drift)
            counts |= {f"drift:{key}:{coding}": (1.0, of.value) for key, of in found.items() if of.value is not None}
        if coding < codings[-1]:
            encoded = codec.encode(sound[None], rate)
    return counts


def _tokens(codec: Codec, encoded: Encoded) -> NDArray[np.integer[Any]]:
    if isinstance(encoded.payload, bytes):
        raise ModelUnusable(f"{codec.card.name} gave bytes and no tokens; name a codec of tokens")
    return encoded.payload


def to_text(found: Stability) -> str:
    """Return the JSON of a clip."""
    said = {"tokens": found.tokens.tolist(), "counts": {name: list(pair) for name, pair in found.counts.items()}}
    return json.dumps(said, allow_nan=False, separators=(",", ":"))


def from_text(text: str) -> Stability:
    """Return what :func:`to_text` wrote."""
    said = json.loads(text)
    counts = {name: (float(total), float(value)) for name, (total, value) in said["counts"].items()}
    return Stability(np.array(said["tokens"], np.int64), counts)
