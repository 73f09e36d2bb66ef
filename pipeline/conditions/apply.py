"""Apply a condition to one clip: to its sound before the encoder, and to its payload before the decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.interface import Codec, Encoded
from codec_superb.data_manifests import Clip, Dataset
from codec_superb.metrics.noise.mixing import mixed
from codec_superb.metrics.noise.random_numbers import gaussian, stream
from codec_superb.pipeline.conditions import payload, sound
from codec_superb.pipeline.conditions.babble import babble
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import PipelineError


class Heard(NamedTuple):
    """What the codec is given."""

    samples: NDArray[np.float32]
    """Mono ``(samples,)``."""
    gain: float = 1.0
    """Gain of a condition of level, which the listener undoes."""


def heard(condition: Condition | None, dataset: Dataset, clip: Clip, samples: NDArray[np.float32], rate: int) -> Heard:
    """Return what the codec is given of a clip's mono ``samples`` at ``rate`` Hz.

    Raises Inapplicable where the condition has no meaning for the clip, and what reading other voices raises.
    """
    if condition is None or condition.kind.place != "sound":
        return Heard(samples)
    clean, strength, key = samples.astype(np.float64), condition.strength, condition.kind.key
    bits = stream(key, clip.id)
    if key == "level":
        gain = sound.level_gain(clean, strength)
        return Heard((gain * clean).astype(np.float32), gain if condition.reference == "clean" else 1.0)
    if key == "noise:white":
        made = mixed(clean, gaussian(bits, clean.size), strength)
    elif key == "noise:babble":
        made = mixed(clean, babble(dataset, clip, clean.size, rate), strength)
    elif key == "reverb":
        made = sound.reverberated(clean, sound.room(bits, strength, rate))
    else:
        made = sound.telephone(clean, rate)
    return Heard(made.astype(np.float32))


def decode_received(codec: Codec, encoded: Encoded, condition: Condition | None, clip: Clip) -> NDArray[np.float32]:
    """Decode what arrives of a clip's payload: ``(channels, samples)``.

    Raises what the codec's decoder raises, PipelineError for a codec without packets to lose.
    """
    if condition is None or condition.kind.place != "payload":
        return codec.decode(encoded)
    bits, share = stream(condition.kind.key, clip.id), condition.strength / 100
    if condition.kind.key == "loss":
        times = packet_times(codec, encoded, condition)
        return codec.decode_lossy(encoded, payload.lost_at(bits, share, times))
    if isinstance(encoded.payload, bytes):
        damaged = payload.inverted(bits, encoded.payload, share)
        return codec.decode(replace(encoded, payload=damaged))
    sizes = codec.card.codebook_entries or ()
    return codec.decode(replace(encoded, payload=payload.inverted_tokens(bits, encoded.payload, sizes, share)))


def packet_times(codec: Codec, encoded: Encoded, condition: Condition) -> NDArray[np.float64]:
    """Return when each packet begins, in seconds. Raises PipelineError for a codec without packets to lose."""
    try:
        return codec.packet_times(encoded)
    except RefusedSetting as error:  # the same for every clip
        raise PipelineError(f"{error}; run it without the condition {condition.name}") from error


def codings(condition: Condition | None) -> int:
    """Return how many times a clip is coded."""
    return int(condition.strength) if condition is not None and condition.kind.key == "repeat" else 1
