"""Phones of a sound whose transcript is known: a forced alignment by PocketSphinx and its US English models, offline.

Phones are the 39 of CMUdict; silence and noise are no phones. A word that the dictionary lacks fails the clip: a phone
that is not said where it is thought to be is worse than none. Boundaries lie on frames of 10 ms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pocketsphinx

from codec_superb.applications.asr.pocketsphinx_asr import DICTIONARY, MODEL, PocketSphinx, hear, pcm_of
from codec_superb.applications.asr.whisper_decoding import check_english
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Samples, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.token_contents.labels import Segment, words_of

NAME = "pocketsphinx-phones"
FRAME_S = 0.01
_WIDE = {"beam": 0.0, "pbeam": 0.0, "wbeam": 0.0}
"""No path is given up: for sounds whose transcript the usual beams lose, at four times the time."""


class PhoneAligner(PocketSphinx):
    """The recogniser's models, told what is said; answers are JSON, ``[[phone, start, end], …]`` in seconds."""

    def prepare(self) -> Model:
        """Find the models, as the recogniser does."""
        found = super().prepare()
        settings = {
            name: value for name, value in found.settings.items() if not name.startswith(("decoding", "segment"))
        }
        name = found.name.replace("pocketsphinx", NAME, 1)
        return Model(name, found.sha256, settings | {"phones": "CMUdict", "words": "1"}, found.path)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it runs on one thread of a CPU
        """Load acoustic model and dictionary."""
        assert model.path is not None
        self._name, self._folder = model.name, model.path
        self._decoder = self._made()

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Align each sound by itself."""
        return one_by_one(self._text, batch)

    def _text(self, sound: Sound) -> str:
        check_english(sound.item, self._name)
        segments = self.align(sound.samples, sound.item.text or "")
        return json.dumps([[of.phone, round(of.start, 3), round(of.end, 3)] for of in segments])

    def align(self, samples: Samples, text: str) -> list[Segment]:
        """Return the phones of 16 kHz mono ``samples`` in which ``text`` is said. Raises PredictionFailed."""
        words = words_of(text)
        if not words:
            raise PredictionFailed("expected a transcript with words, got none")
        if unknown := [word for word in words if self._decoder.lookup_word(word) is None]:
            raise PredictionFailed(f"the dictionary has no {', '.join(unknown[:3])}")
        pcm = pcm_of(samples)
        try:
            return _phones(self._decoder, " ".join(words), pcm)
        except RuntimeError:  # the last frame has no path to the end of the text
            self._decoder = self._made()  # the one that failed stays in the middle of an utterance
        with suppress(RuntimeError):
            return _phones(self._made(**_WIDE), " ".join(words), pcm)
        raise PredictionFailed("the transcript fits nowhere into the sound; is it what is said?")

    def _made(self, **beams: float) -> Any:
        return pocketsphinx.Decoder(
            hmm=str(self._folder / MODEL), dict=str(self._folder / DICTIONARY), lm=None, samprate=self.rate,
            loglevel="FATAL", **beams,
        )  # fmt: skip


def _phones(decoder: Any, text: str, pcm: bytes) -> list[Segment]:
    """Align words, then phones. Raises RuntimeError where no path fits."""
    decoder.set_align_text(text)
    hear(decoder, pcm)
    # of the second pass nobody may ask: pocketsphinx 5.1.1 ends the process there
    if decoder.hyp() is None:
        raise RuntimeError("no path")
    decoder.set_alignment()
    hear(decoder, pcm)
    return [
        Segment(of.name, of.start * FRAME_S, (of.start + of.duration) * FRAME_S)
        for word in decoder.get_alignment()
        for of in word
        if of.name != "SIL" and not of.name.startswith("+")
    ]
