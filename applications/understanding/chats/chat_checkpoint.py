"""Finds the files of a chat's checkpoint, whose weights are in one file or in parts that an index names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from codec_superb.applications.errors import ApplicationError, MissingModel
from codec_superb.applications.model_files import find_model
from codec_superb.applications.packages import require_packages
from codec_superb.applications.transformers_checkpoint import CONFIG, PREPROCESSOR, read_json
from codec_superb.applications.understanding.chats.families import ADAPTER, FAMILIES, Family
from codec_superb.base_codec.weight_folders import RANDOM_KEY
from codec_superb.data_manifests.files import listing_sha256, unchanged_file_sha256
from codec_superb.data_manifests.hub.hub_files import named_repository

NAME = "transformers-chat"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_OPTIONAL = (
    PREPROCESSOR, "processor_config.json", "generation_config.json", "chat_template.jinja", "chat_template.json",
    "special_tokens_map.json", "added_tokens.json", "video_preprocessor_config.json",
)  # fmt: skip
"""Files that decide an answer where a publisher has them."""


class ChatCheckpoint(NamedTuple):
    """A checkpoint on this machine."""

    folder: Path
    source: str
    """Hub repository, or ``local:FOLDER`` without the path."""
    sha256: str
    """Over names and hashes of its files."""
    family: Family
    random: bool
    """Whether it is marked as having untrained weights."""


def find_chat(given: str, label: str = NAME, families: Mapping[str, Family] = FAMILIES) -> ChatCheckpoint:
    """Find a checkpoint of one of the families: in a folder, in the hub's cache or on the hub; errors name ``label``.

    ``given`` is a folder or ``OWNER/NAME[@REVISION]``. Raises MissingModel with what to download, MissingPackage with
    the install command, ApplicationError for a model of no family.
    """
    named = named_repository(given)
    repository = named[0] if named else Path(given).name
    found = find_model(label, repository, (CONFIG,), given=given)
    if named and found.revision:  # one commit for all files
        given = f"{repository}@{found.revision}"
    config = read_json(found.folder / CONFIG)
    family = _family(config, label, families)
    require_packages(f"{label}:{family.name}", "chats", *family.packages, *(["peft"] if _low_rank(config) else []))
    names = [CONFIG, *family.files, *_weights(label, repository, given)]
    names += [f"{family.sound_adapter}/{name}" for name in ADAPTER if family.sound_adapter]
    names += ADAPTER if _low_rank(config) else ()
    found = find_model(label, repository, tuple(names), given=given)
    names += [name for name in _OPTIONAL if name not in names and _has(label, repository, name, given)]
    sha256 = listing_sha256({name: unchanged_file_sha256(found.folder / name) for name in sorted(names)})
    return ChatCheckpoint(found.folder, found.source, sha256, family, bool(config.get(RANDOM_KEY)))


def _family(config: dict[str, Any], label: str, families: Mapping[str, Family]) -> Family:
    kind = str(config.get("model_type"))
    if kind not in families:
        raise ApplicationError(
            f"{label}: expected a checkpoint of {', '.join(families)}, got one of {kind}; "
            "name one of these, or serve it and use a chat of the kind endpoint"
        )
    return families[kind]


def _low_rank(config: dict[str, Any]) -> bool:
    # Granite Speech answers badly without its adapter, and transformers only warns
    return bool(config.get("has_lora_adapter"))


def _weights(label: str, repository: str, given: str) -> list[str]:
    """Return the names of the weights' files. Raises MissingModel, naming the single file."""
    if _has(label, repository, WHOLE, given):
        return [WHOLE]
    if not _has(label, repository, INDEX, given):
        find_model(label, repository, (WHOLE,), given=given)  # its error says what to fetch
    index = read_json(find_model(label, repository, (INDEX,), given=given).folder / INDEX)
    parts = index.get("weight_map")
    if not isinstance(parts, dict) or not parts or not all(isinstance(name, str) for name in parts.values()):
        raise MissingModel(f"{INDEX}: expected weight_map, tensors with their files; fetch it again")
    if strange := [name for name in parts.values() if Path(name).name != name]:
        raise MissingModel(f"{INDEX}: expected files beside it, got {strange[0]}; fetch it again")
    return [INDEX, *sorted(set(parts.values()))]


def _has(label: str, repository: str, name: str, given: str) -> bool:
    try:
        find_model(label, repository, (name,), given=given)
    except MissingModel:
        return False
    return True
