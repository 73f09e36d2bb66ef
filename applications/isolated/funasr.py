"""Base class of backends on FunASR: the private environment, the files of a model, and their sources."""

from __future__ import annotations

import json
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import yaml

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Setting
from codec_superb.applications.isolated.backend import GUESTS, IsolatedBackend, package_of
from codec_superb.applications.isolated.modelscope import ModelScopeRepository, check_folder, find_folder, repository_of
from codec_superb.applications.model_files import sha256_of
from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.isolation.lock import open_lock

CONFIG, PLACES = "config.yaml", "configuration.json"
RANDOM_KEY = "codec_superb_random"
"""Key of ``config.yaml`` that marks untrained weights, as in the checkpoints of tests."""


class FunASRBackend(IsolatedBackend):
    """A model that the package ``funasr`` opens: a folder with ``config.yaml``, weights and lists of tokens."""

    isolation: ClassVar[Isolation] = Isolation(lock="funasr", guest=str(GUESTS / "funasr_model.py"))
    label: ClassVar[str]
    """Name of the backend."""
    default_repository: ClassVar[ModelScopeRepository]
    kinds: ClassVar[tuple[str, ...]]
    """Classes of FunASR that answer as this backend does."""
    files: ClassVar[tuple[tuple[str, ...], ...]]
    """Files that the folder must have; of each tuple one."""

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """Return the settings that determine a prediction besides the weights."""

    def find(self, python: Path) -> Model:
        """Find the folder: ``--weights``, the path behind the colon, or a repository of ModelScope."""
        repository = None if self.weights is not None else repository_of(self.variant, self.default_repository)
        if repository is None:
            given = self.weights if self.weights is not None else Path(self.variant)
            folder = check_folder(self.label, given, self.files, self.default_repository)
            source = f"local:{folder.name}"
        else:
            folder, source = find_folder(self.label, repository, self.files, python), repository.name
        config = self._config(folder)
        return Model(
            name=f"{self.label}:{source}",
            sha256=sha256_of(_used(folder, self.files)),
            settings=self.settings() | {"package": package_of(open_lock(self.isolation.lock), "funasr")},
            path=folder,
            random=bool(config.get(RANDOM_KEY)),
        )

    def describe(self, model: Model, threads: int) -> dict[str, Any]:
        """Describe folder, expected classes and threads for the guest."""
        return {"weights": str(model.path), "kinds": list(self.kinds), "threads": threads}

    def _config(self, folder: Path) -> dict[str, Any]:
        try:
            config = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise MissingModel(f"{folder / CONFIG} cannot be read as YAML: {error}; fetch it again") from error
        if not isinstance(config, dict) or config.get("model") not in self.kinds:
            found = config.get("model") if isinstance(config, dict) else type(config).__name__
            raise MissingModel(f"{folder / CONFIG}: expected a model {' or '.join(self.kinds)}, got {found}")
        return config


def _used(folder: Path, files: tuple[tuple[str, ...], ...]) -> list[Path]:
    """Return the files that make the model what it is: those required, and those its ``configuration.json`` names."""
    used = {folder / name for alternatives in files for name in alternatives if (folder / name).is_file()}
    if (folder / PLACES).is_file():
        try:
            places = json.loads((folder / PLACES).read_text(encoding="utf-8"))
        except ValueError as error:
            raise MissingModel(f"{folder / PLACES} cannot be read as JSON: {error}; fetch it again") from error
        used |= {folder / name for name in _names(places.get("file_path_metas", {})) if (folder / name).is_file()}
    return sorted(used)


def _names(places: Any) -> list[str]:
    """Return every text in a nested mapping."""
    if isinstance(places, dict):
        return [name for value in places.values() for name in _names(value)]
    return [places] if isinstance(places, str) else []
