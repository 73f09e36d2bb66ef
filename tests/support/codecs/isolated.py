"""A private environment that needs no index, and a codec for it: numpy alone, made by hand in a tenth of a second."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from support.codecs.cards import make_card

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import MARK, find_environment
from codec_superb.base_codec.isolation.lock import open_lock

FOLDER = Path(__file__).parents[2] / "base_codec" / "isolation"
LOCK, GUEST = FOLDER / "tiny.txt", FOLDER / "guest_pcm.py"
TORCH_LOCK = FOLDER / "tiny_torch.txt"


def make_tiny_environment(lock: Path | str = LOCK, device: str = "cpu") -> Path:
    """Make the environment of a lock in the home folder of now: an interpreter that sees numpy and no more."""
    folder = find_environment(open_lock(str(lock), device)).folder
    venv.create(folder, with_pip=False, symlinks=True)
    link_numpy(folder)
    (folder / MARK).write_text(json.dumps({"lock": "tiny", "installer": "test"}))
    return folder


def link_numpy(folder: Path) -> None:
    """Let the interpreter of an environment see this one's numpy, all that a worker needs."""
    place = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    here = Path(np.__file__).parent
    for package in (here, here.with_name("numpy.libs")):
        if package.is_dir():
            (place / package.name).symlink_to(package)


def tiny_card(name: str = "tiny", **changes: Any) -> Card:
    """Return the card of 16-bit PCM by ``guest_pcm.py``; ``isolation`` among the changes adds to it."""
    isolation = {"lock": str(LOCK), "guest": str(GUEST), "timeout_s": 30.0, **changes.pop("isolation", {})}
    tokens = {"codebooks": 1, "codebook_size": 65536, "isolation": isolation}
    return make_card(name, **tokens, **changes)


def clip(fault: int = 0, samples: int = 1600) -> Any:
    """Return noise whose length asks the guest for a fault."""
    return (0.1 * np.random.default_rng(0).standard_normal((1, samples + fault))).astype(np.float32)


def make_clips(folder: Path, faults: list[int]) -> Path:
    """Write clips whose lengths ask for faults."""
    folder.mkdir()
    for number, fault in enumerate(faults):
        noise = 0.1 * np.random.default_rng(number).standard_normal(4000 + fault)
        soundfile.write(folder / f"clip{number}.wav", noise, 16000, subtype="PCM_16")
    return folder


def pid_of(codec: IsolatedCodec) -> int:
    """Return the worker's process id."""
    assert codec.worker is not None
    return codec.worker.pid


class Tiny(IsolatedCodec):
    """The codec of ``tiny_card``, as ``support/codecs/isolated.py:Tiny``."""

    card = tiny_card()


class Impatient(IsolatedCodec):
    """The same, that waits five seconds for a clip."""

    card = tiny_card("impatient", isolation={"timeout_s": 5.0})


class Slow(IsolatedCodec):
    """The same, whose model takes a second to load."""

    card = tiny_card("slow", settings={"load_s": 1.0})


class Trained(IsolatedCodec):
    """The same with weights, a file ``gain.txt`` that its decoder multiplies with."""

    card = tiny_card("trained", kind="neural", weights={"source": "somebody/gain", "revision": "1" * 40})


class Published(IsolatedCodec):
    """The same, that takes its file from the hub's newest revision."""

    card = tiny_card("published", kind="neural", weights={"source": "somebody/gain"}, settings={"published": True})


class OnCuda(IsolatedCodec):
    """The same that takes several clips, in an environment that is said to hold torch, on a graphics card."""

    card = tiny_card(
        "on_cuda", kind="neural", weights={"source": "random"}, isolation={"lock": str(TORCH_LOCK)},
        settings={"batches": ["encode", "decode"], "device": "cuda"},
    )  # fmt: skip


class Batched(IsolatedCodec):
    """The codec of ``tiny_card`` whose guest takes several clips in a call."""

    card = tiny_card("batched", settings={"batches": ["encode", "decode"]})
