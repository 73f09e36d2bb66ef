"""Weights that a web server has as single files: find them on this machine or fetch each by name, size and SHA-256."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.weight_folders import RANDOM_KEY, VARIABLE
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.files import listing_sha256, unchanged_file_sha256
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.hub.hub_files import OFFLINE, is_offline


def fetched_folder(card: Card, weights: Weights, *, download: bool = True) -> Path:
    """Return the folder below ``CODEC_SUPERB_HOME`` with the files of ``weights``, fetching those that it lacks.

    Raises MissingWeights naming the files, their address and that folder.
    """
    folder = codec_superb_home() / "models" / f"{card.family}-{(weights.sha256 or '')[:12]}"
    missing = [file.name for file in weights.files if not _is_there(folder / file.name, file.sha256)]
    if not missing:
        return folder
    if not download or is_offline():
        why = "are not on this machine" + (f" ({' or '.join(OFFLINE)} is set)" if is_offline() else "")
        raise _missing(card, weights, missing, folder, why)
    from codec_superb.data_manifests.packages.fetch import Fetcher
    from codec_superb.data_manifests.packages.index_client import WebFile
    from codec_superb.data_manifests.packages.pip_settings import read_pip_settings

    try:
        # no second try of a connection: a machine behind a firewall is told after one time-out
        fetcher = Fetcher(folder, replace(read_pip_settings(), retries=0))
        for file in weights.files:
            fetcher.fetch(WebFile(weights.source, file.name, file.sha256, file.size), lambda _received: None)
    except (DatasetError, OSError) as error:
        why = str(error).replace(f"{weights.source}/", "")  # the message names the address already
        raise _missing(card, weights, missing, folder, f"cannot be fetched ({why})") from error
    return folder


def folder_weights(card: Card, folder: Path) -> Weights:
    """Return what identifies the card's files in ``folder``, where all are: its own weights where their hashes are."""
    published = card.weights
    assert published is not None
    found = {file.name: unchanged_file_sha256(folder / file.name) for file in published.files}
    if all(found[file.name] == file.sha256 for file in published.files):
        return published
    source = "random" if (folder / RANDOM_KEY).exists() else f"local:{folder.name}"
    return Weights(source=source, sha256=listing_sha256(found))


def _is_there(path: Path, sha256: str) -> bool:
    return path.is_file() and unchanged_file_sha256(path) == sha256


def _missing(card: Card, weights: Weights, names: list[str], folder: Path, why: str) -> MissingWeights:
    return MissingWeights(
        f"{card.name}: {', '.join(names)} of {weights.source} {why}; put them into {folder}, or name a folder that has "
        f"them with --weights DIR or {VARIABLE}"
    )
