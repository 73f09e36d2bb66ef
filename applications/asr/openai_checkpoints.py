"""Find a checkpoint of openai-whisper: a local file, one that openai-whisper fetched before, or OpenAI's own.

The address of a published checkpoint holds its SHA-256; a file that does not have it is never used.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import NamedTuple

import requests
import whisper

from codec_superb.applications.asr.checkpoints import is_path_or_repository
from codec_superb.applications.errors import MissingModel, UnknownApplication
from codec_superb.applications.model_files import sha256_of
from codec_superb.data_manifests.files import locked
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.hub.hub_files import is_offline

DEFAULT = "large-v3"
_BLOCK = 1 << 20
_TIMEOUT_S = 60


class FoundCheckpoint(NamedTuple):
    """A checkpoint that is on this machine."""

    file: Path
    source: str
    """Size, or ``local:NAME`` without the path."""


def addresses() -> dict[str, str]:
    """Return where OpenAI publishes each size, as openai-whisper knows it."""
    found: dict[str, str] = whisper._MODELS  # noqa: SLF001 -- no public function says it
    return found


def find_checkpoint(variant: str, weights: Path | None) -> FoundCheckpoint:
    """Return the checkpoint of a size or a path; ``weights`` is a file, or a folder that holds ``SIZE.pt``.

    Raises UnknownApplication with the sizes, MissingModel with what to fetch and where to put it.
    """
    size = variant or DEFAULT
    if weights is not None:
        return _local(weights / f"{size}.pt" if weights.is_dir() else weights)
    if is_path_or_repository(size) or size.endswith(".pt"):
        return _local(Path(size).expanduser())
    if size not in addresses():
        raise UnknownApplication(size, addresses(), "size of openai-whisper, and no such file,")
    return FoundCheckpoint(_published(addresses()[size]), size)


def _local(file: Path) -> FoundCheckpoint:
    if not file.is_file():
        published = addresses().get(file.stem)
        how = f"\n{_how(published, file)}" if published else "; name a checkpoint of openai-whisper (.pt)"
        raise MissingModel(f"openai-whisper: no file {file}{how}")
    return FoundCheckpoint(file.resolve(), f"local:{file.stem}")


def _published(address: str) -> Path:
    # The addresses in openai-whisper hold the SHA-256 of the file they lead to.
    digest, name = address.split("/")[-2:]
    folders = (codec_superb_home() / "models" / "openai-whisper", _cache_of_whisper())
    for file in (folder / name for folder in folders):
        if file.is_file() and sha256_of([file]) == digest:
            return file
    target = folders[0] / name
    if is_offline():
        raise MissingModel(
            f"openai-whisper: {name} is not on this machine, and no network is asked for it\n{_how(address, target)}"
        )
    with locked(target.parent / f".{name}.lock"):
        if not target.is_file() or sha256_of([target]) != digest:
            _fetch(address, digest, target)
    return target


def _fetch(address: str, digest: str, target: Path) -> None:
    part = target.with_suffix(".part")
    try:
        with requests.get(address, stream=True, timeout=_TIMEOUT_S) as answer, part.open("wb") as file:
            answer.raise_for_status()
            for block in answer.iter_content(_BLOCK):
                file.write(block)
    except requests.RequestException as error:
        raise MissingModel(
            f"openai-whisper: {target.name} could not be had: {type(error).__name__}\n{_how(address, target)}"
        ) from error
    found = sha256_of([part])
    if found != digest:
        part.unlink()
        raise MissingModel(
            f"openai-whisper: expected {target.name} with SHA-256 {digest}, got {found}\n{_how(address, target)}"
        )
    part.replace(target)


def _how(address: str, target: Path) -> str:
    command = shlex.join(["curl", "-L", "-o", target.name, address])
    return f"where there is internet: {command}\nthen put it there: {target}"


def _cache_of_whisper() -> Path:
    """Return where openai-whisper itself keeps checkpoints."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whisper"
