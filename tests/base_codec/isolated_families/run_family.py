"""Run by a private interpreter: makes checkpoints of random weights, and calls the packages without a worker.

``make FAMILY FOLDER`` writes a small model as its publisher does; ``tokens FAMILY FOLDER AUDIO.npy OUT.npz`` codes.
Each family is a module of ``families/``:

* ``CODEC``: a codec of the catalogue, which the tests open on that model;
* ``FILE``: the file that an error must name when it is missing;
* ``LOOKS_AT_ONSET = True``, where random causal filters ring for so long that a burst changes most what comes later:
  the test of the place then asks where the change begins;
* ``SETTINGS = {...}``, where some of the card's settings would make its tests too slow: others in their place;
* ``make(folder)``: write a small model with random weights as its publisher lays it out, so that tokens depend on the
  sound;
* ``run(folder, audio)``: what the package itself makes of float32 ``(1, samples)`` at its own rate: the tokens, and the
  sound ``(1, samples)``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))


def main(action, family, folder, *files):  # noqa: ANN001, ANN002, ANN201
    """Do what the command line says."""
    torch.manual_seed(1)
    module = importlib.import_module(f"families.{family}")
    if action == "make":
        module.make(Path(folder))
        (Path(folder) / "codec_superb_random").touch()  # what a user's own random weights are told by
        return
    with torch.inference_mode():
        tokens, sound = module.run(Path(folder), torch.from_numpy(np.load(files[0])))
    np.savez(files[1], tokens=np.asarray(tokens), sound=np.asarray(sound))


if __name__ == "__main__":
    main(*sys.argv[1:])
