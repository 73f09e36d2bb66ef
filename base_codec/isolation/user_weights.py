"""The user's own weights of an isolated codec: find their folder (``--weights DIR``) and hash it.

Only the guest knows which files its package reads, so the whole folder identifies the weights: the SHA-256 of the list
that ``sha256sum`` prints of its files, sorted by path. Hidden files and folders, where the hub's client stores
metadata, are left out. A file ``codec_superb_random`` in it, of any content, marks untrained weights; their scores are
never packed.
"""

from __future__ import annotations

from pathlib import Path

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.weights import RANDOM_KEY
from codec_superb.data_manifests.files import listing_sha256, unchanged_file_sha256

SETTING = "weights"
"""Key of the folder in the card's settings that the guest receives."""


def card_with_weights(card: Card, given: str) -> tuple[Card, Path]:
    """Return the card with the weights that ``given`` names, and their folder.

    A subfolder named like the codec, or else like the hub repository without its owner, comes first, so that one
    folder may serve several codecs. Raises MissingWeights where there is no such folder or it is empty.
    """
    above = Path(given).expanduser()
    source = card.weights.source if card.weights else ""
    places = (above / card.name, above / source.rpartition("/")[2])
    # one --weights for several codecs: the folder of its name, that of its repository, or the folder itself
    folder = next((place for place in places if place.is_dir()), above).resolve()
    if not folder.is_dir():
        raise MissingWeights(
            f"{card.name} takes its weights from a folder, and there is none named {given}: fetch the files of "
            f"{source} into one and name that with --weights, or leave --weights out"
        )
    files = _files(folder)
    if not files:
        raise MissingWeights(f"{card.name}: there is no file in {folder}; expected what {source} publishes")
    origin = "random" if (folder / RANDOM_KEY).exists() else f"local:{folder.name}"
    return card.model_copy(update={"weights": Weights(source=origin, sha256=_digest(folder, files))}), folder


def _files(folder: Path) -> list[str]:
    """Return the paths of the files that are hashed, relative to ``folder``."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in found
        if path.name != RANDOM_KEY and not any(part.startswith(".") for part in path.parts)
    )


def _digest(folder: Path, files: list[str]) -> str:
    return listing_sha256({name: unchanged_file_sha256(folder / name) for name in files})
