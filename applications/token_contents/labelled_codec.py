"""Backend ``codec-contents``: the tokens of a reference beside the phones, the pitch and the text of the same frames.

Its answer is a text, JSON of :class:`LabelledTokens`, from which the scorer makes its results. A clip whose phones
cannot be found keeps its tokens and its pitch, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.clips import at_rate
from codec_superb.applications.embed.codec_encoder import CodecCodes
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Samples, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.packages import require_packages
from codec_superb.applications.token_contents.labels import Segment, of_pitch, of_segments
from codec_superb.metrics.pitch import F0_CEILING, F0_FLOOR
from codec_superb.metrics.world import tracker
from codec_superb.metrics.world.contour import FRAME_MS

_SHORTEST_S = 3.0 / F0_FLOOR


@dataclass(frozen=True, slots=True)
class LabelledTokens:
    """What is known of a clip."""

    tokens: NDArray[np.int64]
    """``(codebooks, frames)``."""
    frame_rate: float
    """Frames a second."""
    pitch: tuple[str, ...]
    """Whole tone of each frame, '' where it is unvoiced."""
    phones: tuple[str, ...]
    """Of each frame, '' where there is none."""
    segments: tuple[Segment, ...]
    """Phones in time."""
    reason: str
    """Why there are no phones; '' where there are."""
    aligner: str
    """Identity of what aligned: name and SHA-256."""


class LabelledCodec(CodecCodes):
    """A codec and an aligner."""

    kind = "codec-contents"

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        super().__init__(variant, weights)
        require_packages(self.kind, "probes", "pocketsphinx")
        from codec_superb.applications.token_contents.alignment import PhoneAligner

        self._aligner = PhoneAligner()

    def prepare(self) -> Model:
        """Find the codec and the aligner, whose identity becomes part of the codec's."""
        found, own = super().prepare(), self._aligner.prepare()
        settings = {**found.settings, "aligner": own.name, "aligner_sha256": own.sha256, "pitch": "DIO, StoneMask"}
        return Model(found.name, found.sha256, settings, found.path, found.random)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Open both."""
        super().load(model, device, threads)
        own = self._aligner.prepare()
        self._aligner.load(own, device, threads)
        self._identity = f"{own.name} {own.sha256}"

    def close(self) -> None:
        """Release both."""
        super().close()
        self._aligner.close()

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return the JSON of each sound."""
        return one_by_one(self._text, batch)

    def _text(self, sound: Sound) -> str:
        codes = super()._answer(sound.samples)
        assert not isinstance(codes, str)  # frames of tokens
        tokens = codes.T.astype(np.int64)
        frames, rate = tokens.shape[1], float(self._codec.card.frame_rate or 0.0)
        segments, reason = self._phones(sound)
        hertz = pitch_of(sound.samples, self.rate)
        return to_text(
            LabelledTokens(
                tokens,
                rate,
                tuple(of_pitch(hertz, FRAME_MS / 1000, frames, rate)),
                tuple(of_segments(segments, frames, rate)),
                tuple(segments),
                reason,
                self._identity,
            )
        )

    def _phones(self, sound: Sound) -> tuple[list[Segment], str]:
        language = sound.item.language
        if not sound.item.text or (language or "en").partition("-")[0] != "en":
            return [], "no transcript" if not sound.item.text else f"phones are found in English, this is {language}"
        try:
            return self._aligner.align(at_rate(sound.samples, self.rate, self._aligner.rate), sound.item.text), ""
        except PredictionFailed as error:
            return [], str(error)


def pitch_of(samples: Samples, rate: int) -> NDArray[np.float64]:
    """Return F0 in Hz every 5 ms by WORLD's DIO and StoneMask, 0 where unvoiced; of a sound too short for it, none."""
    if samples.size < _SHORTEST_S * rate or not samples.any():
        return np.zeros(0)
    return tracker.track(samples.astype(np.float64), rate, F0_FLOOR, F0_CEILING)


def to_text(found: LabelledTokens) -> str:
    """Return the JSON of a clip."""
    said = asdict(found) | {"tokens": found.tokens.tolist(), "segments": [list(of) for of in found.segments]}
    return json.dumps(said, allow_nan=False, separators=(",", ":"))


def from_text(text: str) -> LabelledTokens:
    """Return what :func:`to_text` wrote."""
    said = json.loads(text)
    segments = tuple(Segment(str(phone), float(start), float(end)) for phone, start, end in said["segments"])
    labels = {name: tuple(said[name]) for name in ("pitch", "phones")}
    tokens = np.array(said["tokens"], np.int64)
    return LabelledTokens(**said | labels | {"tokens": tokens, "segments": segments})
