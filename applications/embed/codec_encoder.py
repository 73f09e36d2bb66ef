"""Backends ``codec-codes``, ``code-embeddings``, ``codec-frames``, ``codec-vectors``: a codec as an encoder of sound.

``codec-codes:NAME`` gives the codec's own tokens, of every token codec, isolated ones included; with ``codebooks=1``
those of its first codebook, since a frame of sixteen is hardly ever the same twice. ``code-embeddings`` makes vectors
of them by random tables. The other two give its latents
(:meth:`~codec_superb.base_codec.interface.Codec.latents`): as its decoder is given them, or with ``latents=continuous``
as they are before they are quantised; the codecs of transformers and Lyra have them.
"""

from __future__ import annotations

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np

from codec_superb.applications.embed.frames import FrameBackend, Frames
from codec_superb.applications.errors import (
    ApplicationError,
    MissingModel,
    MissingPackage,
    ModelUnusable,
    PredictionFailed,
)
from codec_superb.applications.interface import Model, Samples, Setting
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError, CodingFailed, MissingDependency, MissingWeights
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.options import CodecOptions

_LATENTS = ("quantised", "continuous")
_IDENTITY = {"name", "weights", "settings", "isolation", "codebooks", "codebook_size", "codebook_sizes"}
"""Fields of a card that decide about tokens and latents."""


class CodecEncoder(FrameBackend):
    """A codec behind a name, ``codec-codes:mimi_8cb``; ``--weights DIR`` names its weights as for ``resynth``."""

    kind: ClassVar[str]

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        super().__init__(variant, weights)
        if not self.chosen:
            raise ApplicationError(f"{self.kind}: expected the name of a codec behind it, such as {self.kind}:mimi_8cb")
        with as_application_errors():
            card = registry.card(self.chosen)
        # a codec's own rate: sound is resampled once, as for a resynthesis
        self.rate = card.sampling_rate  # type: ignore[misc]
        # its library uses one core: processes side by side use the others
        self.one_copy_per_worker = card.cpu_only  # type: ignore[misc]

    @abstractmethod
    def rows(self, codec: Codec, audio: Audio) -> Frames:
        """Return what the codec makes of ``(1, samples)`` at its rate, a row a frame."""

    def prepare(self) -> Model:
        """Find the codec's weights; an isolated codec's environment is built where there is none.

        Raises ApplicationError for a codec of bytes, MissingModel and MissingPackage with what to do.
        """
        with as_application_errors():
            card, options = registry.configure(self.chosen, self._options())
            if card.codebooks is None or card.frame_rate is None:
                raise ApplicationError(
                    f"{self.kind}: expected a codec of tokens, {card.name} gives bytes; name another"
                )
            if card.isolation is not None:
                ensure_built(open_lock(card.isolation.lock), lambda text: print(text, file=sys.stderr))
        settings: dict[str, Setting] = {"hop_s": 1 / card.frame_rate, **self.options, **self.sizes(card.codebooks)}
        random = card.weights is not None and card.weights.source == "random"
        path = Path(options.weights) if options.weights else None
        return Model(f"{self.kind}:{card.name}", _digest(card), settings, path, random)

    def entries(self) -> Sequence[int]:
        """Return the entries of each codebook that is taken."""
        return (registry.card(self.chosen).codebook_entries or ())[: int(self.options.get("codebooks", 0)) or None]

    def sizes(self, codebooks: int) -> dict[str, Setting]:  # noqa: ARG002 -- for codes
        """Return settings that follow from the codec's number of codebooks. Raises ApplicationError."""
        return {}

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- a codec sets its own
        """Open the codec."""
        with as_application_errors():
            _, options = registry.configure(self.chosen, self._options())
            self._codec = registry.open_codec(self.chosen, device, options)

    def frames(self, samples: Samples) -> Frames:
        """Encode a clip. Raises ModelUnusable for a codec that cannot answer for any."""
        try:
            self._codec.wake()
            return np.ascontiguousarray(self.rows(self._codec, samples[None]))
        except CodingFailed as error:
            raise PredictionFailed(str(error)) from error
        except CodecError as error:
            raise ModelUnusable(str(error)) from error

    def close(self) -> None:
        """Release the codec."""
        self._codec.close()

    def _options(self) -> CodecOptions:
        return CodecOptions(weights=None if self.weights is None else str(self.weights))


class CodecCodes(CodecEncoder):
    """Tokens ``(frames, codebooks)`` as float32, which holds them exactly: no codebook has 2^24 entries.

    The option ``codebooks`` is how many of the codec's are taken, from the first; 0 takes all.
    """

    kind = "codec-codes"
    defaults: ClassVar[Mapping[str, Setting]] = {"codebooks": 0}

    def sizes(self, codebooks: int) -> dict[str, Setting]:
        """Return the number of codebooks that are taken."""
        wanted = int(self.options["codebooks"])
        if not 0 <= wanted <= codebooks:
            raise ApplicationError(f"option codebooks: expected 1 to {codebooks}, or 0 for all, got {wanted}")
        return {"codebooks": wanted or codebooks}

    def rows(self, codec: Codec, audio: Audio) -> Frames:
        """Return the tokens of a clip."""
        payload = codec.encode(audio, self.rate).payload
        if isinstance(payload, bytes):
            raise ModelUnusable(f"{codec.card.name} gave bytes and no tokens; name a codec of tokens")
        return payload[: int(self.options["codebooks"]) or None].T.astype(np.float32)


class CodeEmbeddings(CodecCodes):
    """Tokens as frames ``(frames, dimension)``: one random vector for each entry of each codebook, summed.

    For codecs without latents. The tables are nobody's: the option ``tables`` is the seed of their normal draws, of
    variance 1 over the number of codebooks, and is part of the identity.
    """

    kind = "code-embeddings"
    defaults: ClassVar[Mapping[str, Setting]] = {"codebooks": 0, "dimension": 128, "tables": 0}

    def rows(self, codec: Codec, audio: Audio) -> Frames:
        """Return the summed vectors of a clip's tokens."""
        codes = super().rows(codec, audio).astype(np.int64)
        dimension, seed = int(self.options["dimension"]), int(self.options["tables"])
        found = np.zeros((len(codes), dimension))
        for book, column in enumerate(codes.T):
            for entry in np.unique(column):
                # a table is never made whole: codebooks of 2^16 entries would be 32 MB each
                found[column == entry] += np.random.default_rng([seed, book, int(entry)]).standard_normal(dimension)
        summed: Frames = (found / np.sqrt(codes.shape[1])).astype(np.float32)
        return summed


class CodecFrames(CodecEncoder):
    """Latents ``(frames, dimensions)``."""

    kind = "codec-frames"
    defaults: ClassVar[Mapping[str, Setting]] = {"latents": _LATENTS[0]}

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        super().__init__(variant, weights)
        if self.options["latents"] not in _LATENTS:
            raise ApplicationError(f"option latents: expected {' or '.join(_LATENTS)}, got {self.options['latents']!r}")

    def rows(self, codec: Codec, audio: Audio) -> Frames:
        """Return the latents of a clip."""
        found: Frames = getattr(codec.latents(audio, self.rate), str(self.options["latents"]))
        return found


class CodecVectors(CodecFrames):
    """One vector ``(dimensions,)`` a clip: its latents, averaged unless the option ``pooling`` says otherwise."""

    kind = "codec-vectors"
    defaults: ClassVar[Mapping[str, Setting]] = {"pooling": "mean", **CodecFrames.defaults}


def _digest(card: Card) -> str:
    """Return the SHA-256 over what decides about a codec's tokens: its weights by hash, and how it is set."""
    return hashlib.sha256(card.model_dump_json(include=_IDENTITY).encode()).hexdigest()


@contextmanager
def as_application_errors() -> Iterator[None]:
    """Turn a codec's errors into those of applications, with the same sentence."""
    try:
        yield
    except (MissingDependency, EnvironmentFailed) as error:
        raise MissingPackage(str(error)) from error
    except MissingWeights as error:
        raise MissingModel(str(error)) from error
    except CodecError as error:
        raise ApplicationError(str(error)) from error
