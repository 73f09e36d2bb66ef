"""The manifests of this package: list them, and load one by name."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codec_superb.data_manifests.clip_list import describe
from codec_superb.data_manifests.errors import ManifestError, UnknownDataset
from codec_superb.data_manifests.manifest import Manifest

MANIFESTS = Path(__file__).parent / "manifests"
"""Folder of the manifests, one ``<name>.yaml`` per dataset."""


def manifest_names() -> list[str]:
    """Return the names of all manifests, sorted; reads no manifest."""
    return sorted(path.stem for path in MANIFESTS.glob("*.yaml"))


def list_manifests() -> list[Manifest]:
    """Return all manifests, sorted by name."""
    return [load_manifest(name) for name in manifest_names()]


def load_manifest(name: str) -> Manifest:
    """Return the manifest of this name.

    Raises UnknownDataset with near matches, and ManifestError where the file does not follow the schema.
    """
    names = manifest_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        known = ", ".join(names)
        raise UnknownDataset(f"no dataset is called {name!r} and no such folder exists: {hint}known: {known}")
    path = MANIFESTS / f"{name}.yaml"
    return _read(path, path.stat().st_mtime_ns)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest in a YAML file; raise ManifestError naming the file and the field."""
    manifest = _parse(path)
    if manifest.name != path.stem:
        raise ManifestError(f"{path}: name is {manifest.name!r}, but the file's own name says {path.stem!r}")
    return manifest


@functools.lru_cache(maxsize=64)
def _read(path: Path, _mtime_ns: int) -> Manifest:
    return read_manifest(path)


def _parse(path: Path) -> Manifest:
    try:
        return Manifest.model_validate(_load_yaml(path))
    except ValidationError as error:
        raise ManifestError(f"{path}: {describe(error)}") from error


def _load_yaml(path: Path) -> Any:
    import yaml

    # libyaml's C parser reads the list of `mini` ten times as fast; PyYAML may be built without it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path} is no YAML: {error}") from error
