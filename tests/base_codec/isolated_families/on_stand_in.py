"""Run by a private interpreter: codes a clip with a guest on the CPU and on a stand-in for a graphics card.

``on_stand_in.py ISOLATION GUEST CARD.json AUDIO.npy OUT.npz``; the card's settings name the folder of weights. What
comes out are tokens and sound of both. It fails where the guest or its package mixes devices.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import stand_in


def coded(guest, audio):  # noqa: ANN001, ANN201
    """Return tokens, and sound where the guest decodes, as the worker would ask for them."""
    tokens = guest.encode_batch([audio])[0] if hasattr(guest, "encode_batch") else guest.encode(audio)
    tokens, *side = tokens if isinstance(tokens, tuple) else (tokens,)
    if hasattr(guest, "decode_batch"):
        return tokens, guest.decode_batch([tokens], 1, *([[each] for each in side]))[0]
    return tokens, guest.decode(tokens, 1, *side) if hasattr(guest, "decode") else np.zeros((1, 0))


def main(isolation, guest, card, audio, out):  # noqa: ANN001, ANN201
    """Do what the command line says."""
    spec = importlib.util.spec_from_file_location("worker", Path(isolation) / "worker.py")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    card_device = stand_in.register()
    sys.modules["guest_tools"] = worker.load_file(Path(isolation) / "guest_tools.py")
    kind = worker.load_file(Path(guest)).Guest
    description, sound = json.loads(Path(card).read_text()), np.load(audio)
    found = {}
    for device, place in (("cpu", nullcontext()), (card_device, stand_in.Card())):
        with place:
            found[f"{device}_tokens"], found[f"{device}_sound"] = coded(kind(description, device), sound)
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
