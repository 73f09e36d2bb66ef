"""A guest for tests: 16-bit PCM as tokens, which does to a clip what the number of its samples, modulo 100, says."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

import numpy as np


def killed():  # noqa: ANN201
    """Say something, then die as a process does that the system kills for its memory."""
    print("Traceback: about to be killed", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def unhappy():  # noqa: ANN201
    """Raise as a codec does that does not like a clip."""
    raise ValueError("this clip is not to my taste")


def greedy():  # noqa: ANN201
    """Ask for 4 GiB where 2 are allowed."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
    np.ones(1 << 29)


def noisy():  # noqa: ANN201
    """Print on every level."""
    print("noise on standard output\n" * 2000, flush=True)
    os.write(1, b"CSIR and noise from below Python")


def survived():  # noqa: ANN201
    """Leave a child that holds the pipes open, then die."""
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def elsewhere():  # noqa: ANN201
    """Tell where this machine keeps its things."""
    raise FileNotFoundError("no file /home/somebody/models/model.bin")


DEADLY = {
    1: killed,
    2: lambda: os._exit(9),
    3: lambda: time.sleep(60),
    4: unhappy,
    5: greedy,
    6: noisy,
    10: lambda: os.kill(os.getpid(), signal.SIGSTOP),
    11: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    81: lambda: time.sleep(0.5),
    82: lambda: os.kill(os.getpid(), signal.SIGRTMIN + 6),
    83: survived,
    84: elsewhere,
    85: lambda: os.write(2, 100_000 * b"many words "),
}
WRONG = {7: np.zeros((1, 0), dtype=np.int32), 8: np.full((1, 4), 70000), 9: {"no": "array"}, 86: None, 87: "text"}

UNDECODABLE = 88
LOST = 89
SCALED, SCALED_BY_NOTHING = 13, 14
"""Lengths whose tokens have bytes beside them: the loudest sample, and none by mistake."""


def tokens_of(audio):  # noqa: ANN001, ANN201
    """Return 16-bit PCM, moved to start at 0."""
    return (np.rint(audio * 32767).clip(-32768, 32767) + 32768).astype(np.int32)


class Guest:
    """Behaves, but where a clip's length asks for a fault."""

    def __init__(self, card, device):  # noqa: ANN001, ANN204 - as short as a guest may be
        self.card = card
        if card["settings"].get("fault") == "load":
            raise FileNotFoundError("no file model.bin in /nowhere")
        if card["settings"].get("fault") == "import":
            import no_such_package  # noqa: F401
        if card["settings"].get("device", device) != device:
            raise RuntimeError(f"expected the device {card['settings']['device']}, got {device}")
        time.sleep(card["settings"].get("load_s", 0))
        self.gain = 1.0
        if "weights" in card["settings"]:
            with open(card["settings"]["weights"] + "/gain.txt", encoding="ascii") as file:  # noqa: PTH123 - no Path here
                self.gain = float(file.read())

        if card["settings"].get("published"):
            import guest_tools

            folder = guest_tools.weights_folder(card, ("gain.txt",))
            self.gain = float((folder / "gain.txt").read_text(encoding="ascii"))

        for kind in card["settings"].get("batches", ()):
            setattr(self, f"{kind}_batch", getattr(self, f"several_{kind}d"))

    def several_encoded(self, audios):  # noqa: ANN001, ANN201
        """Return the tokens of each clip, and say how many came together; of a clip of fault 89 there are none."""
        print(f"{len(audios)} clips together", file=sys.stderr, flush=True)
        return [self.encode(audio) for audio in audios if audio.shape[1] % 100 != LOST]

    def several_decoded(self, payloads, channels, sides=None):  # noqa: ANN001, ANN201
        """Return the sound of each clip, and say how many came together."""
        print(f"{len(payloads)} payloads together", file=sys.stderr, flush=True)
        sides = sides or [b""] * len(payloads)
        return [self.decode(its, channels, side or None) for its, side in zip(payloads, sides, strict=True)]

    def encode(self, audio):  # noqa: ANN001, ANN201
        """Return 16-bit tokens, or fail in the way that is asked for."""
        fault = audio.shape[1] % 100
        if fault in DEADLY:
            DEADLY[fault]()
        if fault in WRONG:
            return WRONG[fault]
        if fault == 12:
            return audio.astype("<f4").tobytes()
        if fault == SCALED:
            return tokens_of(audio / np.abs(audio).max()), np.abs(audio).max().astype("<f4").tobytes()
        if fault == SCALED_BY_NOTHING:
            return tokens_of(audio), b""
        return tokens_of(audio)

    def decode(self, payload, channels, side=None):  # noqa: ANN001, ANN201
        """Turn tokens, those with a scale beside them, or the bytes of fault 12, back into audio."""
        if isinstance(payload, np.ndarray) and payload.shape[1] % 100 == UNDECODABLE:
            os._exit(9)
        if isinstance(payload, bytes):
            return np.frombuffer(payload, "<f4").reshape(channels, -1)
        scale = np.float32(1) if side is None else np.frombuffer(side, "<f4")[0]
        return np.float32(self.gain) * scale * (payload.astype(np.float32) - 32768) / 32767
