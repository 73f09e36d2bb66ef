"""How a folder of sentence-transformers turns tokens into a vector: its pooling, length, prompts and number of tokens.

Read from ``modules.json``, the pooling's ``config.json``, ``sentence_bert_config.json`` and
``config_sentence_transformers.json``, as plain data. A local checkpoint without ``modules.json`` is pooled by the mean,
as sentence-transformers does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import TextRole
from codec_superb.applications.transformers_checkpoint import CONFIG, read_json

MODULES, LENGTH, PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
Pooling = Literal["mean", "cls", "max", "last"]
_POOLINGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_PROMPT_NAMES: dict[TextRole, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage")}
"""Names of prompts by what a text is; sentences are compared without one."""


@dataclass(frozen=True, slots=True)
class SentenceSettings:
    """What stands between a text and its vector, besides the network."""

    pooling: Pooling
    unit_length: bool
    max_tokens: int
    prompts: Mapping[TextRole, str]
    """What is put before a text."""


def read_sentence_settings(folder: Path, *, positions: int) -> SentenceSettings:
    """Read a folder whose network takes ``positions`` tokens. Raises MissingModel for what is not computed here."""
    modules = _modules(folder)
    pooling: Pooling = "mean"
    if "Pooling" in modules:
        pooling = _pooling(folder.name, read_json(folder / modules["Pooling"] / CONFIG))
    length = _optional(folder / LENGTH).get("max_seq_length")
    prompts = _optional(folder / PROMPTS).get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(text, str) for text in prompts.values()):
        raise MissingModel(f"{folder.name}/{PROMPTS}: expected prompts by name, got {prompts!r}"[:200])
    chosen = {
        role: next((prompts[name] for name in names if prompts.get(name)), "") for role, names in _PROMPT_NAMES.items()
    }
    if length is not None and (not isinstance(length, int) or not 0 < length <= positions):
        length = positions
    return SentenceSettings(pooling, "Normalize" in modules, length or positions, chosen)


def _modules(folder: Path) -> dict[str, str]:
    """Return the folder of each module by its kind."""
    file = folder / MODULES
    if not file.is_file():
        return {}
    try:
        listed: list[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        kinds = [(str(row["type"]).rpartition(".")[2], str(row["path"])) for row in listed]
    except (ValueError, TypeError, KeyError) as error:
        raise MissingModel(f"{folder.name}/{MODULES} cannot be read: {error}; fetch it again") from error
    names = [kind for kind, _ in kinds]
    if names not in (["Transformer"], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise MissingModel(
            f"{folder.name}: expected the modules Transformer, Pooling and perhaps Normalize, got {', '.join(names)}; "
            "choose another model"
        )
    found = dict(kinds)
    if any(".." in Path(path).parts or Path(path).is_absolute() for path in found.values()):
        raise MissingModel(f"{folder.name}/{MODULES}: expected folders below it, got {', '.join(found.values())}")
    return found


def pooling_file(folder: Path) -> str | None:
    """Return the path of the pooling's configuration in a folder that has ``modules.json``, None where it has none."""
    modules = _modules(folder)
    return f"{modules['Pooling']}/{CONFIG}" if "Pooling" in modules else None


def _pooling(name: str, config: Mapping[str, Any]) -> Pooling:
    modes = sorted(key for key, value in config.items() if key.startswith("pooling_mode_") and value is True)
    if len(modes) != 1 or modes[0] not in _POOLINGS or config.get("include_prompt", True) is not True:
        raise MissingModel(
            f"{name}: expected one of the poolings {', '.join(_POOLINGS)}, prompts included, got "
            f"{', '.join(modes) or 'none'}; choose another model"
        )
    return _POOLINGS[modes[0]]


def _optional(file: Path) -> dict[str, Any]:
    return read_json(file) if file.is_file() else {}
