"""Run by a private interpreter: codes a clip with a guest on a stand-in for a graphics card.

``on_stand_in.py ISOLATION GUEST CARD.json GIVEN.npz OUT.npz``; the card's settings name the folder of weights. Given
are audio, and the tokens and side information to decode; what comes out are the guest's tokens of the audio, and the
sound of those given. It fails where the guest or its package mixes devices.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import stand_in


def encoded(guest, audio):  # noqa: ANN001, ANN201
    """Return tokens, without side information, as the worker would ask for them."""
    result = guest.encode_batch([audio])[0] if hasattr(guest, "encode_batch") else guest.encode(audio)
    return result[0] if isinstance(result, tuple) else result


def decoded(guest, tokens, *side):  # noqa: ANN001, ANN002, ANN201
    """Return the sound of tokens as the worker would ask for it."""
    if hasattr(guest, "decode_batch"):
        return guest.decode_batch([tokens], 1, *([each] for each in side))[0]
    return guest.decode(tokens, 1, *side)


def main(isolation, guest, card, given, out):  # noqa: ANN001, ANN201
    """Do what the command line says."""
    spec = importlib.util.spec_from_file_location("worker", Path(isolation) / "worker.py")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    device = stand_in.register()
    sys.modules["guest_tools"] = worker.load_file(Path(isolation) / "guest_tools.py")
    description, clip = json.loads(Path(card).read_text()), np.load(given)
    side = [clip["side"].tobytes()] if clip["side"].size else []
    with stand_in.Card():
        opened = worker.load_file(Path(guest)).Guest(description, device)
        tokens = encoded(opened, clip["audio"])
        sound = decoded(opened, clip["tokens"], *side)
    np.savez(out, tokens=tokens, sound=sound)


if __name__ == "__main__":
    main(*sys.argv[1:])
