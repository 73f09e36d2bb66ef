"""Interprets names of checkpoints and properties that checkpoints state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Backend, Model
from codec_superb.applications.transformers_checkpoint import CONFIG, read_json
from codec_superb.base_codec.weight_folders import RANDOM_KEY


def is_path_or_repository(variant: str) -> bool:
    """Whether ``variant`` names a folder, a file or a repository of the hub (``OWNER/NAME``), not a size."""
    return "/" in variant or variant.startswith((".", "~")) or Path(variant).is_dir()


def is_marked_random(folder: Path) -> bool:
    """Whether the checkpoint is marked as having untrained weights."""
    return bool(read_json(folder / CONFIG).get(RANDOM_KEY))


def check_rate(model: Model, extractor: Any) -> None:
    """Raise ApplicationError for a model of another sampling rate than that of recognisers here."""
    if extractor.sampling_rate != Backend.rate:
        raise ApplicationError(
            f"{model.name}: expected a model of {Backend.rate} Hz, got one of {extractor.sampling_rate} Hz"
        )
