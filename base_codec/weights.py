"""Find a neural codec's weights on this machine or on the hub, and identify them by hash; imports no torch.

A checkpoint of transformers is a folder with ``config.json`` and ``model.safetensors``, as its ``save_pretrained``
writes it. It is identified by the SHA-256 of both. A ``config.json`` with ``"codec_superb_random": true`` marks
untrained weights; their scores are never packed. Other checkpoints are the files that the card names
(:mod:`codec_superb.base_codec.weight_files`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.errors import MissingDependency, MissingWeights, RefusedSetting
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.base_codec.weight_files import fetched_folder, folder_weights
from codec_superb.base_codec.weight_folders import RANDOM_KEY, places, shared_folder
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import unchanged_file_sha256
from codec_superb.data_manifests.hub.hub_files import check_hub_files, find_hub_files, how_to_fetch, named_repository
from codec_superb.missing_package import not_installed

CONFIG, PARAMETERS = "config.json", "model.safetensors"
FILES = (CONFIG, PARAMETERS)
EXTRA = "neural"


@dataclass(frozen=True, slots=True)
class LocalCheckpoint:
    """A checkpoint on this machine."""

    folder: Path
    source: str
    """Hub repository, or ``local:FOLDER`` with the folder's name; the path is private and not published."""
    revision: str | None = None
    """Commit on the hub, where it is known."""


def takes_options(card: Card) -> bool:
    """Whether ``card`` is of a codec that runs in transformers and has weights."""
    return card.extra == EXTRA and card.weights is not None


def has_checkpoint(card: Card) -> bool:
    """Whether ``card`` is of a codec of the main environment with weights, which are found before it is opened."""
    return card.weights is not None and (takes_options(card) or bool(card.weights.files))


def check_options_apply(options: CodecOptions, cards: Sequence[Card]) -> None:
    """Raise RefusedSetting for options that apply to none of ``cards``."""
    names = ", ".join(card.name for card in cards)
    if options.kbps is not None and not any(card.bit_source != "measured" for card in cards):
        raise RefusedSetting(
            f"kbps declares the bitrate of a codec that does not count its bits; {names}: counted, leave it out"
        )
    model = options._replace(weights=None, kbps=None, delay=None)
    if model != DEFAULT_OPTIONS and not any(map(takes_options, cards)):
        raise RefusedSetting(
            f"dtype and compile are options of the neural codecs of the main environment; {names}: none takes them, "
            "leave them out"
        )
    if options.weights is not None and not any(card.weights is not None for card in cards):
        raise RefusedSetting(f"weights are an option of neural codecs; {names}: none takes them, leave them out")


def configured_card(card: Card, options: CodecOptions = DEFAULT_OPTIONS) -> tuple[Card, LocalCheckpoint]:
    """Return the card with the actual weights, precision and compilation, and the checkpoint.

    Raises MissingWeights naming each missing file, the command that fetches it and where to put it.
    """
    checkpoint = locate_weights(card, options)
    if card.weights is not None and card.weights.files:
        return card.model_copy(update={"weights": folder_weights(card, checkpoint.folder)}), checkpoint
    weights = Weights(
        source="random" if is_random(checkpoint.folder) else checkpoint.source,
        revision=checkpoint.revision,
        sha256=unchanged_file_sha256(checkpoint.folder / PARAMETERS),
        config_sha256=unchanged_file_sha256(checkpoint.folder / CONFIG),
    )
    chosen = {"dtype": options.dtype, "compile": options.compile}
    usual = {"dtype": DEFAULT_OPTIONS.dtype, "compile": DEFAULT_OPTIONS.compile}
    # what is usual is not written: the card of an ordinary run stays as it is in the catalogue
    settings = card.settings | {key: value for key, value in chosen.items() if value != usual[key]}
    return card.model_copy(update={"weights": weights, "settings": settings}), checkpoint


def locate_weights(card: Card, options: CodecOptions = DEFAULT_OPTIONS, *, download: bool = True) -> LocalCheckpoint:
    """Find the checkpoint of ``card``: the folder or repository of ``options``, else below ``$CODEC_SUPERB_WEIGHTS``.

    Without either it is the card's own repository. ``download=False`` searches this machine only, as the offline flags
    of the hub do. Raises MissingWeights.
    """
    if card.weights is None:
        raise MissingWeights(f"{card.name} has no weights to find")
    given = options.weights
    if given is None:
        if (shared := shared_folder(card)) is not None:
            return _from_folder(card, shared)
        if card.weights.files:
            folder = fetched_folder(card, card.weights, download=download)
            return LocalCheckpoint(folder, card.weights.source, card.weights.revision)
        return _from_hub(card, card.weights.source, card.weights.revision, download=download)
    named = None if card.weights.files else named_repository(given)
    if named is None:
        return _from_folder(card, Path(given).expanduser())
    return _from_hub(card, *named, download=download)


def check_weights(card: Card, options: CodecOptions = DEFAULT_OPTIONS) -> None:
    """Raise MissingWeights where the weights of ``card`` are neither here nor to be had; fetch no hub's checkpoint."""
    given, own = options.weights, card.weights
    if own is not None and own.files:  # single files, small enough to be fetched at once
        locate_weights(card, options)
        return
    try:
        locate_weights(card, options, download=False)
    except (MissingWeights, MissingDependency):
        if own is None or (given is not None and named_repository(given) is None):
            raise
    else:
        return
    # after the handler: what failed there is no cause of what fails here
    repository, revision = named_repository(given or "") or (own.source, own.revision)
    try:
        check_hub_files(card.name, repository, FILES, revision)
    except FetchError as error:
        raise MissingWeights(str(error)) from error


def describe_weights(weights: Weights | None) -> str:
    """Describe weights in one line: source, and commit and hashes where these are known."""
    if weights is None:
        return "none"
    parts = [weights.source]
    parts += [f"commit {weights.revision[:12]}"] if weights.revision else []
    parts += [f"SHA-256 {weights.sha256[:12]}…"] if weights.sha256 else []
    parts += [f"config.json {weights.config_sha256[:12]}…"] if weights.config_sha256 else []
    parts += [f"without {weights.skipped}, which the publisher's loader skips too"] if weights.skipped else []
    return ", ".join(parts)


def is_random(folder: Path) -> bool:
    """Whether the checkpoint is marked as untrained."""
    return bool(read_config(folder).get(RANDOM_KEY))


def read_config(folder: Path) -> dict[str, Any]:
    """Return ``config.json``. Raises MissingWeights where it is not a JSON object."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingWeights(f"{folder / CONFIG} cannot be read as JSON: {error}; fetch it again") from error
    if not isinstance(config, dict):
        raise MissingWeights(f"{folder / CONFIG}: expected a JSON object, got {type(config).__name__}")
    return config


def _from_folder(card: Card, folder: Path) -> LocalCheckpoint:
    assert card.weights is not None
    files, below = _files_of(card), places(card, folder)
    for place in below:  # a folder with a subfolder per model may hold the files of another model at its top
        if all((place / name).is_file() for name in files):
            return _checkpoint_in(place.resolve())
    source = card.weights.source
    if card.weights.files:
        lacking = ", ".join(name for name in files if not (below[0] / name).is_file())
        raise MissingWeights(
            f"{card.name}: expected {', '.join(files)} in {below[0]}, got no {lacking}; fetch them from {source}"
        )
    own = below[0] if len(below) > 1 else folder / source.rpartition("/")[2]
    place = folder if any((folder / name).is_file() for name in files) and not own.is_dir() else own
    missing = " and no file ".join(str(place / name) for name in files if not (place / name).is_file())
    raise MissingWeights(
        f"{card.name}: no file {missing}; {how_to_fetch(source, files, card.weights.revision, place, folder)}"
    )


def _checkpoint_in(folder: Path) -> LocalCheckpoint:
    """Name a folder by its own name, and one of the hub's cache (``models--OWNER--NAME/snapshots/COMMIT``) as it is."""
    kind, *repository = folder.parent.parent.name.split("--")
    if folder.parent.name == "snapshots" and kind == "models":
        return LocalCheckpoint(folder, "/".join(repository), folder.name)
    return LocalCheckpoint(folder, f"local:{folder.name}")


def _files_of(card: Card) -> tuple[str, ...]:
    """Return the names of the files that make a checkpoint of ``card``."""
    return tuple(file.name for file in card.weights.files) if card.weights and card.weights.files else FILES


def _from_hub(card: Card, repository: str, revision: str | None, *, download: bool) -> LocalCheckpoint:
    try:
        found = find_hub_files(card.name, repository, FILES, revision, download=download)
    except ModuleNotFoundError as error:
        raise MissingDependency(not_installed(card.name, error.name, extra=EXTRA)) from error
    except FetchError as error:
        raise MissingWeights(str(error)) from error
    return LocalCheckpoint(found.folder, repository, found.revision)
