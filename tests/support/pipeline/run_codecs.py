"""Codecs that tests give as ``run_codecs.py:Class``: an honest one, a slow one, one that breaks every rule."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from support.codecs.cards import make_card

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import MissingDependency
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Encoded, Packets

HERE = str(Path(__file__).resolve())


class Plain(Codec):
    """16-bit PCM at 16 kHz."""

    card: ClassVar[Card] = make_card("plain")  # type: ignore[misc]  # the contract of codecs given as a file

    def _encode(self, audio: Audio) -> Packets:
        """Round to 16 bits."""
        payload = np.clip(np.rint(audio * 32767), -32768, 32767).astype("<i2").tobytes()
        return Packets(payload, 8 * len(payload))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Turn the bytes back."""
        assert isinstance(packets.payload, bytes)
        samples = np.frombuffer(packets.payload, dtype="<i2").astype(np.float32) / np.float32(32767)
        return samples.reshape(channels, -1)


class Slow(Plain):
    """Takes 20 ms a clip, so that there are moments to be killed at."""

    card: ClassVar[Card] = make_card("slow")

    def _encode(self, audio: Audio) -> Packets:
        """Wait, then encode."""
        time.sleep(0.02)
        return super()._encode(audio)


class Sleepy(Plain):
    """Takes half a minute a clip."""

    card: ClassVar[Card] = make_card("sleepy")

    def _encode(self, audio: Audio) -> Packets:
        """Wait long, then encode."""
        time.sleep(30)
        return super()._encode(audio)


class Treacherous(Plain):
    """Does to a clip what the number of its samples, modulo 100, says."""

    card: ClassVar[Card] = make_card("treacherous")

    def encode(self, audio: Audio, rate: int) -> Encoded:
        """Die, hang or raise where asked to."""
        fault = audio.shape[1] % 100
        if fault == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == 2:
            os._exit(9)
        if fault == 3:
            time.sleep(30)
        if fault == 4:
            raise ValueError(f"this clip is not to my taste: {object()}")
        if fault == 5:
            raise MemoryError
        return super().encode(audio, rate)

    def decode(self, encoded: Encoded) -> Audio:
        """Return what a codec must not, where asked to."""
        audio = super().decode(encoded)
        fault = encoded.samples % 100
        if fault == 10:
            audio[0, 5] = np.nan
        if fault == 11:
            return audio[:, :-1]
        if fault == 12:
            return audio.astype(np.float64)
        if fault == 13:
            raise RuntimeError("cannot decode my own bits")
        if fault == 14:
            return np.float32(4) * audio
        return audio


class Together(Plain):
    """Codes clips together and notes the lengths of each batch in the folder ``BATCH_NOTES``.

    The number of a clip's samples, modulo 100, says what happens: 1 kills the worker whenever it comes, 2 raises
    whenever it comes; 21 kills the worker in a batch only, 22 raises in one, 23 hangs in one, 24 gives NaN back in one.
    """

    card: ClassVar[Card] = make_card("together")

    def _encode(self, audio: Audio) -> Packets:
        """Fail where asked to, alone as in a batch."""
        fault = audio.shape[1] % 100
        if fault == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == 2:
            raise ValueError("not this clip")
        return super()._encode(audio)

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        """Note the batch and wait 20 ms, then fail where asked to."""
        lengths = [audio.shape[1] for audio in audios]
        if notes := os.environ.get("BATCH_NOTES"):
            (Path(notes) / uuid.uuid4().hex).write_text(json.dumps(lengths))
        time.sleep(0.02)
        faults = {length % 100 for length in lengths}
        if 21 in faults:
            os.kill(os.getpid(), signal.SIGKILL)
        if 22 in faults:
            raise ValueError("not these clips together")
        if 23 in faults:
            time.sleep(30)
        return [self._encode(audio) for audio in audios]

    def _decode_batch(self, received: Sequence[tuple[Packets, int]]) -> list[Audio]:
        """Decode; one sample is none where asked to."""
        decoded = [self._decode(packets, channels) for packets, channels in received]
        for audio in decoded:
            if audio.shape[1] % 100 == 24:
                audio[0, 7] = np.nan
        return decoded


class Refusing(Plain):
    """Encodes nothing at all."""

    card: ClassVar[Card] = make_card("refusing")

    def _encode(self, audio: Audio) -> Packets:
        """Refuse."""
        raise ValueError(f"no sound of {audio.shape[1]} samples")


class Unavailable(Plain):
    """Cannot be loaded here."""

    card: ClassVar[Card] = make_card("unavailable")

    def load(self, device: str = "cpu") -> Self:
        """Say what is missing."""
        raise MissingDependency(f"unavailable needs a {device} package: pip install it")


class Neural(Plain):
    """Calls itself neural, knows its device, and leaves a mark where ``CLOSED_MARK`` says when it is closed."""

    card: ClassVar[Card] = make_card("neural", kind="neural")

    def load(self, device: str = "cpu") -> Self:
        """Remember the device."""
        self.device = device
        return self

    def close(self) -> None:
        """Leave the mark."""
        if mark := os.environ.get("CLOSED_MARK"):
            Path(mark).write_text(self.device)


class Unhurried(Treacherous):
    """Takes a third of a second a clip, without computing."""

    card: ClassVar[Card] = make_card("unhurried")

    def encode(self, audio: Audio, rate: int) -> Encoded:
        """Wait, then do what the clip asks for."""
        time.sleep(0.3)
        return super().encode(audio, rate)
