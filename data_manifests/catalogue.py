"""Manifests: the benchmark's own by name, those of installed distributions by name, any other by path."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codec_superb.data_manifests.clip_list import describe
from codec_superb.data_manifests.errors import ManifestError, UnknownDataset
from codec_superb.data_manifests.manifest import IndexedSource, Manifest
from codec_superb.plugins import Announced, PluginError, by_name, data_file, is_file_name, report, taken

MANIFESTS = Path(__file__).parent / "manifests"
"""Folder of the manifests, one ``<name>.yaml`` per dataset."""


GROUP = "codec_superb.datasets"


def manifest_names() -> list[str]:
    """Return the names of the benchmark's own manifests, sorted; reads no manifest."""
    return list(_own())


def list_manifests() -> list[Manifest]:
    """Return the benchmark's own manifests, sorted by name."""
    return [load_manifest(name) for name in manifest_names()]


def announced_manifests() -> dict[str, tuple[Manifest, str]]:
    """Return the manifests of installed distributions by name, each with its distribution.

    One that cannot be read is reported once and left out. Raises PluginError for a name that is taken.
    """
    found: dict[str, tuple[Manifest, str]] = {}
    for name, point in by_name(GROUP, _own()).items():
        try:
            found[name] = _announced(point), point.distribution
        except (PluginError, ManifestError) as error:
            report(f"{point.origin}: {error}")
    return found


def is_plugged(spec: str) -> bool:
    """Whether ``spec`` is a manifest by path, or the name of one of an installed distribution."""
    return _file(spec) is not None or (spec not in manifest_names() and spec in by_name(GROUP, _own()))


def load_manifest(name: str) -> Manifest:
    """Return the manifest of this name: the benchmark's, an installed distribution's, or that of ``path/to/name.yaml``.

    Raises UnknownDataset with near matches, ManifestError where the file does not follow the schema, PluginError where
    a plug-in has a name that is taken.
    """
    path = _file(name)
    if path is not None:
        return _plugged(path)
    own, others = _own(), by_name(GROUP, _own())
    if name in own:
        path = Path(own[name])
        return _read(path, path.stat().st_mtime_ns)
    if name in others:
        return _announced(others[name])
    near = difflib.get_close_matches(name, [*own, *others], n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}? " if near else ""
    total = len({*own, *others})
    raise UnknownDataset(
        f"no dataset is called {name!r} and no such file or folder exists: {hint}"
        f"`codec-superb datasets list` names all {total}"
    )


@functools.cache  # looked up several times for each name; reading the folder takes a millisecond
def _own() -> Mapping[str, str]:
    return {path.stem: str(path) for path in sorted(MANIFESTS.glob("*.yaml"), key=lambda path: path.stem)}


def _file(spec: str) -> Path | None:
    """Return the file of a manifest by path, None for anything else."""
    if not spec.endswith((".yaml", ".yml")):
        return None
    path = Path(spec).expanduser().absolute()
    return path if path.is_file() else None


def _announced(point: Announced) -> Manifest:
    path = data_file(point)
    if path.stem != point.name:
        raise PluginError(f"{point.origin}: expected the manifest of {point.name}, got the file {path.name}")
    return _plugged(path)


def _plugged(path: Path) -> Manifest:
    """Return a plug-in's manifest; an indexer in a file is looked for beside it."""
    manifest = _read(path, path.stat().st_mtime_ns)
    if manifest.name in _own() and path.parent != MANIFESTS:
        raise taken(manifest.name, _own()[manifest.name], str(path))
    source = manifest.source
    if isinstance(source, IndexedSource) and is_file_name(source.layout):
        source = source.model_copy(update={"layout": str(path.parent / source.layout)})
        return manifest.model_copy(update={"source": source})
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Return the manifest in a YAML file; raise ManifestError naming the file and the field."""
    manifest = _parse(path)
    if manifest.name != path.stem:
        raise ManifestError(f"{path}: name is {manifest.name!r}, but the file's own name says {path.stem!r}")
    return manifest


@functools.lru_cache(maxsize=1024)  # more than there are: going through a list of more than fit would read all again
def _read(path: Path, _mtime_ns: int) -> Manifest:
    return read_manifest(path)


def _parse(path: Path) -> Manifest:
    try:
        return Manifest.model_validate(_load_yaml(path))
    except ValidationError as error:
        raise ManifestError(f"{path}: {describe(error)}") from error


def _load_yaml(path: Path) -> Any:
    import yaml

    from codec_superb import strict_yaml

    try:
        return strict_yaml.load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path} is no YAML: {error}") from error
