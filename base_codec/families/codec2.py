"""Codec 2, David Rowe's open speech coder for digital radio, through the libcodec2 inside pycodec2's wheel.

The payload is one packet of whole bytes for every frame; ``bits`` counts the bits of the mode (28 for each 40 ms at
700 bit/s), not the padding of the last byte.

libcodec2 draws the phases of unvoiced sound from a random generator that is global to the library and cannot be
seeded: through pycodec2 the same payload decodes to another waveform each time. So that a score does not depend on
the clips coded before, this wrapper calls the library directly and loads a fresh private copy for every clip, which
resets the generator (0.1 ms).
"""

from __future__ import annotations

import _ctypes
import atexit
import ctypes
import functools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, MissingDependency, RefusedSetting
from codec_superb.base_codec.families.pcm import from_pcm, to_int16
from codec_superb.base_codec.families.wheel_library import wheel_library
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets

MODES = {3200: 0, 2400: 1, 1600: 2, 1400: 3, 1300: 4, 1200: 5, 700: 8}
"""Bit/s to libcodec2's mode numbers (codec2.h); 700 is mode 700C."""
FIRST_DRAW = 16838
"""First output of libcodec2's linear congruential generator: (1103515245 + 12345) // 65536 % 32768."""
_one_at_a_time = threading.Lock()


class Codec2(Codec):
    """Codec 2 in one of its modes; ``settings`` holds ``mode``, its bits per second."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        mode = card.settings.get("mode")
        if mode not in MODES or card.sampling_rate != 8000 or card.channels != (1,):  # noqa: PLR2004 - 8 kHz
            raise RefusedSetting(
                f"{card.name}: Codec 2 has the modes {sorted(MODES)} at 8000 Hz, mono; "
                f"got {mode} at {card.sampling_rate} Hz, channels {card.channels}"
            )
        self._mode = MODES[mode]
        _library_file()

    def _encode(self, audio: Audio) -> Packets:
        with _fresh_library() as library, _coder(library, self._mode) as coder:
            frame, size, bits = _sizes(library, coder)
            # the library takes 16-bit integers, and whole frames only
            samples = np.pad(to_int16(audio[0]), (0, -audio.shape[1] % frame))
            payload = bytearray()
            packet = ctypes.create_string_buffer(size)
            for start in range(0, samples.size, frame):
                block = samples[start : start + frame].copy()
                library.codec2_encode(coder, packet, block.ctypes.data_as(ctypes.c_void_p))
                payload += packet.raw
        frames = samples.size // frame
        return Packets(bytes(payload), frames * bits, (size,) * frames)

    def _decode(self, packets: Packets, channels: int) -> Audio:  # noqa: ARG002 - mono only
        payload = packets.payload
        with _fresh_library() as library, _coder(library, self._mode) as coder:
            frame, size, _ = _sizes(library, coder)
            if not isinstance(payload, bytes) or not payload or len(payload) % size:
                raise CodingFailed(f"{self.card.name}: expected whole frames of {size} bytes, got {len(payload)}")
            samples = np.empty((len(payload) // size, frame), dtype=np.int16)
            for index, block in enumerate(samples):
                packet = payload[index * size : (index + 1) * size]
                library.codec2_decode(coder, block.ctypes.data_as(ctypes.c_void_p), packet)
        return from_pcm(samples.reshape(1, -1))


@functools.cache
def _library_file() -> str:
    """Return a private copy of libcodec2: the loader treats another file as another library than pycodec2's."""
    source = _find_library()
    if hasattr(os, "memfd_create"):
        # The kernel frees an anonymous file in memory (memfd_create, Linux) with the process, even a killed one.
        descriptor = os.memfd_create("libcodec2")
        with open(descriptor, "wb", closefd=False) as copy:
            copy.write(source.read_bytes())
        return f"/proc/self/fd/{descriptor}"
    folder = tempfile.mkdtemp(prefix="codec-superb-codec2-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(shutil.copy(source, folder))


def _find_library() -> Path:
    found = wheel_library("pycodec2", "codec2")
    if found is None:
        raise MissingDependency(
            "Codec 2 needs the libcodec2 inside pycodec2's wheel, which was not found: "
            "pip install --force-reinstall --only-binary pycodec2 'pycodec2>=4.1.1,<5'"
        )
    return found


@contextmanager
def _fresh_library() -> Iterator[ctypes.CDLL]:
    """Load libcodec2 with its generator at the start, and unload it."""
    # a library is one set of variables, however many threads call it
    with _one_at_a_time:
        library = ctypes.CDLL(_library_file())
        try:
            # ctypes takes a result for a C int otherwise, which cuts a pointer to 32 bits
            library.codec2_create.restype = ctypes.c_void_p
            # the library's random numbers have one state for the whole process: loaded again, they begin anew
            if library.codec2_rand() != FIRST_DRAW:
                raise CodingFailed("libcodec2 could not be reloaded: its noise would depend on earlier clips")
            yield library
        finally:
            _ctypes.dlclose(library._handle)  # noqa: SLF001 - ctypes has no public way to unload


@contextmanager
def _coder(library: ctypes.CDLL, mode: int) -> Iterator[ctypes.c_void_p]:
    """Create the state of an encoder or decoder, and free it."""
    coder = ctypes.c_void_p(library.codec2_create(mode))
    if not coder:
        raise CodingFailed(f"libcodec2 could not create a coder for its mode {mode}: out of memory")
    try:
        yield coder
    finally:
        library.codec2_destroy(coder)


def _sizes(library: ctypes.CDLL, coder: ctypes.c_void_p) -> tuple[int, int, int]:
    """Return the samples, bytes and bits of one frame."""
    return (
        library.codec2_samples_per_frame(coder),
        library.codec2_bytes_per_frame(coder),
        library.codec2_bits_per_frame(coder),
    )
