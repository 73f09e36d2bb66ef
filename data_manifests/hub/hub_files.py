"""Find or download files of a Hugging Face hub repository; a missing file ends with the command that fetches it.

The hub's own variables are honoured: with ``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE`` only its cache is read.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True, slots=True)
class HubFiles:
    """Files of one repository, on this machine."""

    folder: Path
    revision: str | None
    """Commit, where it is known."""


def is_offline() -> bool:
    """Whether one of the hub's own variables forbids the network."""
    # What huggingface_hub reads as true.
    return any(os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"} for name in OFFLINE)


def named_repository(given: str) -> tuple[str, str | None] | None:
    """Return repository and revision of ``OWNER/REPOSITORY[@REVISION]``; None where ``given`` is a folder or a path."""
    owner, _, rest = given.partition("/")
    if Path(given).expanduser().exists() or not (owner and rest) or "/" in rest or given.startswith((".", "~")):
        return None
    repository, _, revision = given.partition("@")
    return repository, revision or None


def find_hub_files(
    label: str, repository: str, files: Sequence[str], revision: str | None = None, *, download: bool = True
) -> HubFiles:
    """Return the local folder of ``files`` of ``repository``, downloading missing ones unless ``download`` is false.

    Raises FetchError naming ``label``, the files, the command that fetches them and where to put them; and
    ModuleNotFoundError without the package ``huggingface_hub``.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    local = not download or is_offline()
    try:
        paths = [Path(hf_hub_download(repository, name, revision=revision, local_files_only=local)) for name in files]
    # ValueError: its HFValidationError, for a name that cannot be a repository.
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        raise FetchError(_missing(label, repository, files, revision, error, local=local)) from error
    # The repository's folder is as many levels up as the file's name has parts; in the hub's cache it is
    # ``snapshots/COMMIT``.
    folder = paths[0].parents[len(Path(files[0]).parts) - 1]
    return HubFiles(folder, folder.name if folder.parent.name == "snapshots" else revision)


def _missing(
    label: str, repository: str, files: Sequence[str], revision: str | None, error: Exception, *, local: bool
) -> str:
    at = f" at revision {revision}" if revision else ""
    why = "is not on this machine, and the hub is not asked" if local else f"cannot be fetched: {type(error).__name__}"
    if local and is_offline():
        why += f" ({' or '.join(OFFLINE)} is set)"
    folder = Path(repository.rpartition("/")[2])
    how = how_to_fetch(repository, files, revision, folder)
    return f"{label}: {' and '.join(files)} of {repository}{at} {why}\n{how}"


def how_to_fetch(
    repository: str, files: Sequence[str], revision: str | None, folder: Path, given: Path | None = None
) -> str:
    """Return the command that fetches the files on a machine with internet access, and the option for their folder.

    The option names ``given`` instead of ``folder`` where ``folder`` is searched below it.
    """
    command = ["hf", "download", repository, *files, "--local-dir", str(folder)]
    if revision:
        command += ["--revision", revision]
    named = "that folder" if given in {None, folder} else "the folder above it"
    return (
        f"where there is internet: {shlex.join(command)}\n"
        f"then name {named}: --weights {shlex.quote(str(given or folder))}"
    )
