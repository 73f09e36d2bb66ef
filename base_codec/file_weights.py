"""The weights of a codec that is given as a file: a class of :class:`~.interface.CheckpointCodec` names their files.

They lie in the user's folder (``--weights``), in the hub's repository of the card, or beside the codec's file. Their
hash stands on the card, so that other weights make another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import MissingDependency, MissingWeights
from codec_superb.base_codec.weight_folders import RANDOM_KEY
from codec_superb.base_codec.weights import EXTRA, LocalCheckpoint
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import listing_sha256, unchanged_file_sha256
from codec_superb.data_manifests.hub.hub_files import find_hub_files, named_repository
from codec_superb.missing_package import not_installed

BESIDE = "local:"


def declared(card: Card, file: Path) -> Card:
    """Return the card of a class in ``file``; where it names no source of weights, that is the file's folder."""
    return card if card.weights else card.model_copy(update={"weights": Weights(source=BESIDE + file.parent.name)})


def card_with_files(card: Card, names: Sequence[str], file: Path, given: str | None) -> tuple[Card, Path]:
    """Return the card with the hash of the files ``names``, and their folder. Raises MissingWeights that names them."""
    found = _located(card, names, file, given)
    lacking = [name for name in names if not (found.folder / name).is_file()]
    if lacking:
        raise MissingWeights(
            f"{card.name}: expected {', '.join(names)} (its weights_files) in {found.folder}, got no "
            f"{', '.join(lacking)}; put what is missing there, or name another folder with --weights"
        )
    hashes = {name: unchanged_file_sha256(found.folder / name) for name in names}
    sha256 = next(iter(hashes.values())) if len(hashes) == 1 else listing_sha256(hashes)
    source = "random" if (found.folder / RANDOM_KEY).exists() else found.source
    return card.model_copy(
        update={"weights": Weights(source=source, revision=found.revision, sha256=sha256)}
    ), found.folder


def _located(card: Card, names: Sequence[str], file: Path, given: str | None) -> LocalCheckpoint:
    own = card.weights or Weights(source=BESIDE)
    if given is None and own.source.startswith(BESIDE):
        return LocalCheckpoint(file.parent, BESIDE + file.parent.name)
    repository, revision = (own.source, own.revision) if given is None else named_repository(given) or ("", None)
    if given is not None and not repository:
        above = Path(given).expanduser().resolve()
        folder = above / card.name if (above / card.name).is_dir() else above
        return LocalCheckpoint(folder, BESIDE + folder.name)
    try:
        found = find_hub_files(card.name, repository, names, revision)
    except ModuleNotFoundError as error:
        raise MissingDependency(not_installed(card.name, error.name, extra=EXTRA)) from error
    except FetchError as error:
        raise MissingWeights(str(error)) from error
    return LocalCheckpoint(found.folder, repository, found.revision)
