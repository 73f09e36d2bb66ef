"""Codecs of a user's own function and torch module, which :mod:`.adapting` makes: what goes in, what comes back."""

from __future__ import annotations

import inspect
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from math import ceil, log2
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError, CodingFailed, called_exit
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.returned import FRAME_S, Wanted, sound_of
from codec_superb.plugins import fault

_BATCHED = 3
"""Axes of codes ``(1, codebooks, frames)``."""


def has_codes(module: Any) -> bool:
    """Whether a module encodes and decodes in two steps."""
    return callable(getattr(module, "encode", None)) and callable(getattr(module, "decode", None))


class _OwnCodec(Codec):
    """What a function and a module share: calls with errors of one sentence, and a round trip in one step."""

    def __init__(self, card: Card, label: str, file: Path | None) -> None:
        super().__init__(card)
        self._label = label
        self._file = file or Path()

    def _called(self, what: str, action: Callable[..., Any], *given: object) -> Any:
        """Call the user's code. Raises CodingFailed with the line where it raises."""
        try:
            return action(*given)
        except (CodecError, MemoryError):
            raise
        except SystemExit as error:
            raise CodingFailed(f"{what} {called_exit(error)}") from error
        except Exception as error:
            raise CodingFailed(f"{what} raised {fault(self._file, error)}") from error

    def _sound(self, made: object, what: str, shape: tuple[int, ...], rate: int) -> Audio:
        """Check what came back for sound of a shape. Raises CodingFailed."""
        frame = 1 / self.card.frame_rate if self.card.frame_rate else FRAME_S
        return sound_of(made, what, Wanted(shape[0], shape[1], rate, frame))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Return the sound that the one step made already."""
        assert isinstance(packets.payload, bytes)
        return np.frombuffer(packets.payload, np.float32).reshape(channels, -1)


class FunctionCodec(_OwnCodec):
    """A function ``(audio, rate) -> audio``: what it sends is not known, nor how long encoding takes by itself."""

    def __init__(self, card: Card, function: Callable[..., Any], label: str) -> None:
        super().__init__(card, label, _file_of(function))
        self._function = function
        self._takes_channels: bool | None = None
        """Known from the first clip that it can take: no later clip's failure changes what the others are given."""

    def _encode(self, audio: Audio) -> Packets:
        return self._encode_at(audio, self.card.sampling_rate)

    def _encode_at(self, audio: Audio, rate: int) -> Packets:
        made = self._answer(audio, rate)
        return Packets(self._sound(made, self._label, audio.shape, rate).tobytes(), one_step=True)

    def _answer(self, audio: Audio, rate: int) -> object:
        """Call the function with ``(samples,)``; one that cannot take that then gets ``(channels, samples)``."""
        if self._takes_channels or audio.shape[0] > 1:
            return self._called(self._label, self._function, audio.copy(), rate)
        try:
            made = self._called(self._label, self._function, audio[0].copy(), rate)
        except CodingFailed:
            if self._takes_channels is False:
                raise
            with suppress(CodingFailed):
                made = self._called(self._label, self._function, audio.copy(), rate)
                self._takes_channels = True
                return made
            raise
        self._takes_channels = False
        return made


class ModuleCodec(_OwnCodec):
    """A torch module with ``encode`` and ``decode``, else with ``forward``."""

    def __init__(self, card: Card, module: Any, label: str) -> None:
        # static: what TorchScript has in its place fails where it is asked of a class
        super().__init__(card, label, _file_of(inspect.getattr_static(type(module), "forward")))
        self._module = module
        self._device: Any = "cpu"

    def load(self, device: str = "cpu") -> Self:
        """Move the module to the device, unless it lies on one of that kind, and into evaluation mode."""
        tensors = [*self._module.parameters(), *self._module.buffers()]
        # "cuda" alone is the first one, and a process of several may train on another
        self._device = next((tensor.device for tensor in tensors if tensor.device.type == device), device)
        self._module.to(self._device).eval()
        return self

    def _encode(self, audio: Audio) -> Packets:
        with _inference():
            sound = self._tensor(audio)
            if not has_codes(self._module):
                made = self._called(f"{self._label}: forward, given {_described(sound)},", self._module, sound)
                return self._in_one_step(made, "forward", audio)
            codes = self._called(f"{self._label}: encode, given {_described(sound)},", self._module.encode, sound)
            if (tokens := _tokens(codes)) is not None:
                return self._packets(tokens, codes.ndim, audio.shape[1])
            if self.card.bit_source == "measured":
                raise CodingFailed(
                    f"{self._label}: expected integer codes (1, codebooks, frames) from encode, since it states its "
                    f"codebooks, got {_described(codes)}: return the codes alone, or write a function (audio, rate)"
                )
            made = self._called(f"{self._label}: decode, given what encode returned,", self._module.decode, codes)
            return self._in_one_step(made, "decode", audio)

    def _in_one_step(self, made: object, method: str, audio: Audio) -> Packets:
        sound = self._sound(_first(made), f"{self._label}: {method}", audio.shape, self.card.sampling_rate)
        return Packets(sound.tobytes(), one_step=True)

    def _packets(self, tokens: NDArray[np.integer[Any]], axes: int, samples: int) -> Packets:
        """Count the bits of tokens. Raises CodingFailed where they are not those of the stated codebooks."""
        # what a container's header would say: the axes of the codes, and the length of the sound
        return Packets(tokens, self._bits_of(tokens), side=struct.pack("<BQ", axes, samples))

    def _bits_of(self, tokens: NDArray[np.integer[Any]]) -> int | None:
        if self.card.bit_source != "measured":
            return None
        books = tokens.shape[0]
        if books != (self.card.codebooks or books):
            raise CodingFailed(
                f"{self._label}: expected codes (1, {self.card.codebooks}, frames) from encode, as many codebooks as "
                f"stated, got {books}: correct `codebooks`, or return (1, codebooks, frames)"
            )
        sizes = self.card.codebook_sizes or (self.card.codebook_size or 1,) * books
        for number, (size, of_book) in enumerate(zip(sizes, tokens, strict=True), start=1):
            if of_book.size and not 0 <= of_book.min() <= of_book.max() < size:
                raise CodingFailed(
                    f"{self._label}: expected codes from 0 to {size - 1} of codebook {number}, got {of_book.min()} to "
                    f"{of_book.max()}: correct `codebook_size`"
                )
        # as Card.bits_of: rounded up once a clip, with a margin for log2 in float64
        bits: float = tokens.shape[1] * sum(map(log2, sizes))
        return ceil(bits - 1e-9)

    def _decode(self, packets: Packets, channels: int) -> Audio:
        if isinstance(packets.payload, bytes):
            return super()._decode(packets, channels)
        import torch

        axes, samples = struct.unpack("<BQ", packets.side)
        with _inference():
            codes = torch.from_numpy(np.ascontiguousarray(packets.payload)).to(self._device)
            codes = codes[None] if axes == _BATCHED else codes
            made = self._called(f"{self._label}: decode, given {_described(codes)},", self._module.decode, codes)
        return self._sound(_first(made), f"{self._label}: decode", (channels, samples), self.card.sampling_rate)

    def _tensor(self, audio: Audio) -> Any:
        """Return the sound as the module takes it, in the precision of its parameters."""
        import torch

        floats = (each.dtype for each in self._module.parameters() if each.is_floating_point())
        return torch.from_numpy(audio)[None].to(self._device, next(floats, torch.float32))


def _inference() -> AbstractContextManager[Any]:
    torch = sys.modules.get("torch")
    # not inference_mode: what a module in training keeps for later (tables of positions) could not be trained with
    return nullcontext() if torch is None else torch.no_grad()


def _tokens(codes: Any) -> NDArray[np.integer[Any]] | None:
    """Return integer codes of one clip as ``(codebooks, frames)``; None for anything else."""
    if not hasattr(codes, "detach") or codes.ndim not in (2, 3) or codes.shape[0] != 1 or not codes.numel():
        return None
    array: NDArray[Any] = np.asarray(codes.detach().cpu()) if not codes.is_floating_point() else np.empty(0)
    if array.dtype.kind not in "iu":
        return None
    return array.reshape(-1, array.shape[-1])


def _first(made: Any) -> Any:
    """Return the sound of a module's answer: what it names so, or its first entry; a tensor is the sound."""
    for name in ("audio_values", "audio"):
        found = made.get(name) if isinstance(made, dict) else getattr(made, name, None)
        if found is not None and not hasattr(made, "detach"):
            return found
    return made[0] if isinstance(made, tuple | list) and made else made


def _described(value: Any) -> str:
    if hasattr(value, "detach"):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else type(value).__name__


def _file_of(function: Any) -> Path | None:
    """Return the file where a function is written; None where that is not known."""
    called = inspect.unwrap(function) if inspect.isroutine(function) else type(function).__call__
    code = getattr(called, "__code__", None)
    return Path(code.co_filename) if code is not None else None
