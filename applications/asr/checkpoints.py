"""What the name of a checkpoint means, and what a checkpoint says about itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import MissingModel
from codec_superb.base_codec.weights import RANDOM_KEY


def is_place(variant: str) -> bool:
    """Whether ``variant`` names a folder, a file or a repository of the hub (``OWNER/NAME``), not a size."""
    return "/" in variant or variant.startswith((".", "~")) or Path(variant).is_dir()


def read_config(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` of a checkpoint. Raises MissingModel where it is not a JSON object."""
    file = folder / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingModel(f"{file}: expected the JSON object of a checkpoint: {error}; fetch it again") from error
    if not isinstance(config, dict):
        raise MissingModel(f"{file}: expected a JSON object, got {type(config).__name__}; fetch it again")
    return config


def says_random(folder: Path) -> bool:
    """Whether the checkpoint says that nobody trained it."""
    return bool(read_config(folder).get(RANDOM_KEY))
