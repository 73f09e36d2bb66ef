"""Whisper on CTranslate2 with the times of words: the transcripts of ``faster-whisper``, aligned by cross-attention.

The attention of the decoder's alignment heads, smoothed over time, gives the cheapest monotonic path of tokens through
the frames of the encoder (20 ms each); a word lasts from where the path enters its first token to where it enters the
next word's (Radford et al. 2022; the heads are in the checkpoint's ``config.json``). Its probability is the mean of its
tokens'. Times are rounded to milliseconds; those of ``tiny.en`` were seen to lie 0.1 s late on read English.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from codec_superb.applications.asr.faster_whisper import Decoded, FasterWhisper
from codec_superb.applications.asr.segmenting import segments
from codec_superb.applications.asr.word_times import Word, written
from codec_superb.applications.interface import Item, Model, Samples, Sound

NAME = "faster-whisper-words"
MEDIAN_FILTER = 7
"""Frames that attention is smoothed over."""
_FRAME_S = 0.02
"""Of the encoder's output."""
_HOP = 160
"""Samples of a frame of the spectrogram, two of which make one of the encoder."""


class FasterWhisperWords(FasterWhisper):
    """A Whisper checkpoint whose answer is a list of words with times, see :mod:`.word_times`."""

    def prepare(self) -> Model:
        """Find the checkpoint as ``faster-whisper`` does; the model is another one, whose answers are its own."""
        found = super().prepare()
        settings = {**found.settings, "word_times": "cross-attention", "median_filter_frames": MEDIAN_FILTER}
        return replace(found, name=f"{NAME}:{found.name.partition(':')[2]}", settings=settings)

    def _transcribe(self, sound: Sound) -> str:
        words: list[Word] = []
        start = 0
        for part in segments(sound.samples, self.rate):
            words += self._words_of(part, sound.item, start / self.rate)
            start += part.size
        return written(words)

    def _words_of(self, part: Samples, item: Item, offset: float) -> list[Word]:
        """Return the words of one part, in seconds from the start of the sound; none where nothing is said."""
        decoded = self._decoded(part, item)
        tokens = [token for token in decoded.tokens if token < decoded.tokenizer.eot]
        if not tokens:
            return []
        frames = -(-part.size // _HOP)
        (aligned,) = self._model.align(
            decoded.encoded, decoded.tokenizer.sot_sequence, [tokens], frames, median_filter_width=MEDIAN_FILTER
        )
        if not aligned.alignments:  # less than two frames of the spectrogram hold no frame of the encoder
            return []
        places, times = np.array(aligned.alignments, np.int64).T
        # where the path enters each token; the last is the end of the text. The only frame of a clip is numbered -1.
        entered = times.clip(min=0)[np.unique(places, return_index=True)[1]] * _FRAME_S
        return _words(decoded, tokens, entered + offset, np.array(aligned.text_token_probs))


def _words(decoded: Decoded, tokens: list[int], entered: Samples, probabilities: Samples) -> list[Word]:
    texts, own = decoded.tokenizer.split_to_word_tokens([*tokens, decoded.tokenizer.eot])
    bounds = np.cumsum([0, *map(len, own)])[: len(own)]
    found = []
    for text, (first, last) in zip(texts, pairwise(bounds.tolist()), strict=False):
        if any(letter.isalnum() for letter in text):
            probability = min(1.0, float(probabilities[first:last].mean()))
            found.append(Word(text.strip(), float(entered[first]), float(entered[last]), probability))
    return found
