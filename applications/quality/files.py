"""Model files that a user brings: all of them in one folder, or an error that says where they are had."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.base_codec.weights import RANDOM_KEY


def folder_with(label: str, folder: Path, files: Sequence[str], source: str) -> Path:
    """Return ``folder`` when it holds ``files``. Raises MissingModel, which ends with ``source``."""
    folder = folder.expanduser()
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise MissingModel(f"{label}: no file {' and no file '.join(missing)} in {folder}: {source}")
    return folder


def refuse_variant(label: str, variant: str) -> None:
    """Raise ApplicationError when something stands behind the colon of a backend that has one model."""
    if variant:
        raise ApplicationError(f"{label} has no variants, got {variant!r}; name it {label}")


def is_random(folder: Path) -> bool:
    """Whether ``config.json`` beside the model's files marks it as one that nobody trained."""
    config = folder / "config.json"
    return config.is_file() and json.loads(config.read_text(encoding="utf-8")).get(RANDOM_KEY) is True
