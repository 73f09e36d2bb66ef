"""Chat ``cascade``: a recogniser, then the option that the transcript names or whose meaning is closest to it.

The baseline that runs offline: it reads no question and can only choose. Recogniser: Whisper tiny.en (package file);
meaning: MiniLM sentence embeddings (package file). ``cascade:yamnet`` hears clips that are no speech with YAMNet, whose
package file states no licence and is fetched for this variant alone.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.yamnet import YamNet
from codec_superb.applications.asr.faster_whisper import FasterWhisper
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Reply, Sound
from codec_superb.applications.text.minilm import MiniLm
from codec_superb.applications.understanding.chat import Chat

NAME, TAGGER = "cascade", "yamnet"


class Cascade(Chat):
    """Whisper tiny.en and MiniLM, with YAMNet where it was asked for."""

    one_copy_per_worker = True

    def prepare(self) -> Model:
        """Find the models; errors are theirs."""
        if self.variant not in ("", TAGGER):
            raise ApplicationError(
                f"{NAME}: expected no variant or {TAGGER}, got {self.variant}; name it {NAME}:{TAGGER}"
            )
        self._models = tuple(part.prepare() for part in self._parts())
        sha256 = hashlib.sha256(" ".join(model.sha256 for model in self._models).encode()).hexdigest()
        settings = {f"{model.name}_{name}": value for model in self._models for name, value in model.settings.items()}
        return Model(f"{NAME}:{TAGGER}" if self.variant else NAME, sha256, settings)

    def _parts(self) -> list[FasterWhisper | MiniLm | YamNet]:
        self._ears, self._reader = FasterWhisper("tiny.en", self.weights), MiniLm("", self.weights)
        self._tagger = YamNet()
        return [self._ears, self._reader, *([self._tagger] if self.variant else [])]

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- its parts have models of their own
        """Load its parts."""
        self._loaded = self._parts()
        for part in self._loaded:
            of = part.prepare()
            part.load(of, device, threads)
            if isinstance(part, YamNet):
                self._classes = tuple(part.classes(of))

    def reply(self, sound: Sound) -> Reply:
        """Answer with an option; with the transcript where the question is open."""
        if self.variant and sound.options and sound.item.category != "speech":
            return self._tagged(sound)
        text = str(_only(self._ears, sound)).strip()
        if not sound.options:
            return Reply(text)
        named = [option for option in sound.options if re.search(rf"\b{re.escape(option)}\b", text, re.IGNORECASE)]
        if named:
            return Reply(max(named, key=len), {"transcript": text})
        if not text:
            return Reply("", {"transcript": text})
        return Reply(sound.options[int(np.argmax(self._likeness([text], sound.options)[0]))], {"transcript": text})

    def _tagged(self, sound: Sound) -> Reply:
        """Answer with the option that the class of sound nearest to it is the likeliest of.

        A class that has all words of an option is one of its classes; an option without such a class takes the one
        whose meaning is closest.
        """
        probabilities = np.asarray(_only(self._tagger, sound))
        heard = [max(probabilities[self._positions(option)]) for option in sound.options]
        best = self._classes[int(np.argmax(probabilities))]
        return Reply(sound.options[int(np.argmax(heard))], {"class": best})

    def _positions(self, option: str) -> list[int]:
        wanted = _words(option)
        return [at for at, name in enumerate(self._classes) if wanted <= _words(name)] or [self._nearest(option)]

    @functools.lru_cache(maxsize=1024)  # noqa: B019 -- one copy in a worker process, which it ends with
    def _nearest(self, option: str) -> int:
        return int(np.argmax(self._likeness([option], self._classes)[0]))

    def _likeness(self, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
        """Return cosines of meaning, ``(texts, others)``."""
        left, right = (np.stack([self._vector(text) for text in of]) for of in (texts, others))
        return np.asarray(left @ right.T, np.float64)

    @functools.lru_cache(maxsize=4096)  # noqa: B019 -- as above; options are the same for most clips
    def _vector(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._reader.embed([text], "sentence")[0]
        return vector

    def close(self) -> None:
        """Release them."""
        for part in self._loaded:
            part.close()


def _only(part: FasterWhisper | YamNet, sound: Sound) -> Prediction:
    (heard,) = part.predict([sound])
    if isinstance(heard, Exception):
        raise PredictionFailed(str(heard)) from heard
    return heard


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.lower()))
