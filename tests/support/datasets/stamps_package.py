"""A synthetic package in the layout of Debian's Tux Paint stamps."""

from __future__ import annotations

from support.datasets.package_files import noise, wav_bytes

ROOT = "usr/share/tuxpaint/stamps/"
NAME = "tuxpaint-stamps-default_1_all.deb"


def stamps_files() -> dict[str, bytes]:
    """Return the members: animals with text and without, a hat, and recordings of French and of another language."""
    files = {
        "animals/birds/owl.txt": b"An owl.\nfr.utf8=Un hibou.\n",
        "animals/birds/owl_desc.ogg": _ogg(0.5),
        "animals/birds/owl.ogg": b"the bird itself",
        "animals/birds/owl_desc_fr.ogg": _ogg(1.3, 1),
        "animals/mammals/dogs/dog.txt": b"A dog.\n",
        "animals/mammals/dogs/dog_desc.ogg": _ogg(0.6, 2),
        "animals/mammals/dogs/dog_desc_fr.ogg": _ogg(1.1, 3),
        "animals/mammals/dogs/puppy.txt": b"A dog.",
        "animals/marsupials/wallaby_desc.ogg": _ogg(0.7, 4),
        "clothes/hat.txt": b"A hat.",
        "clothes/hat_desc.ogg": _ogg(0.5, 5),
        "clothes/hat_desc_fr.ogg": _ogg(1.5, 6),
        "clothes/hat_desc_lt.ogg": _ogg(1.5, 7),
        "clothes/cap_desc_fr.ogg": _ogg(1.25, 8),
    }
    return {f"{ROOT}{name}": content for name, content in files.items()} | {"usr/share/doc/p/copyright": b"GPL-2"}


def _ogg(seconds: float, seed: int = 0) -> bytes:
    return wav_bytes(noise(seconds, seed=seed), format="OGG", subtype="VORBIS")
