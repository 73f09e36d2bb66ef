"""Find or download files of a Hugging Face hub repository; a missing file ends with the command that fetches it.

The hub's own variables are honoured: with ``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE`` only its cache is read.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.hub.reach import gated, hub_address, hub_home, is_part, refusal

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_CLIENT = ("huggingface_hub", "httpx", "urllib3")
"""Loggers of the hub's client and of what it asks with."""


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
    local = not download or is_offline()
    try:
        with quiet_client():
            paths = _paths(repository, files, revision, local=local)
    except _Refused as error:
        raise FetchError(_missing(label, repository, files, revision, str(error), local=local)) from error
    # The repository's folder is as many levels up as the file's name has parts; in the hub's cache it is
    # ``snapshots/COMMIT``.
    folder = paths[0].parents[len(Path(files[0]).parts) - 1]
    return HubFiles(folder, folder.name if folder.parent.name == "snapshots" else revision)


class _Refused(Exception):
    """A file is not to be had; the text says why."""


def _paths(repository: str, files: Sequence[str], revision: str | None, *, local: bool) -> list[Path]:
    """Return the files in the hub's cache, fetched unless ``local``. Raises _Refused."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError

    def found(*, here: bool) -> list[Path]:
        return [Path(hf_hub_download(repository, name, revision=revision, local_files_only=here)) for name in files]

    cached: list[Path] = []
    try:
        with contextlib.nullcontext() if local else contextlib.suppress(LocalEntryNotFoundError):
            cached = found(here=True)
        if cached and (local or is_commit(revision)):
            return cached
        # a branch may have moved since; without the hub what was fetched before is used
        if why := refusal(hub_address(repository, files[0], revision), repository):
            if cached:
                return cached
            raise _Refused(why)
        return found(here=False)
    except GatedRepoError as error:
        raise _Refused(gated(repository)) from error
    # ValueError: its HFValidationError, for a name that cannot be a repository.
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        raise _Refused(type(error).__name__) from error


@contextlib.contextmanager
def quiet_client() -> Iterator[None]:
    """Keep the client's lines about repeated requests off the terminal; what fails is told by its error."""
    loggers = [logging.getLogger(name) for name in _CLIENT]
    levels = [logger.level for logger in loggers]
    # the library sets its own level when it is imported
    with contextlib.suppress(ImportError):
        import huggingface_hub.utils.logging  # noqa: F401
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def is_commit(revision: str | None) -> bool:
    """Whether a revision is a whole commit id, which always means the same files."""
    return re.fullmatch("[0-9a-f]{40}", revision or "") is not None


def _missing(
    label: str, repository: str, files: Sequence[str], revision: str | None, reason: str, *, local: bool,
    subfolder: str = "",
) -> str:  # fmt: skip
    at = f" at revision {revision}" if revision else ""
    why = "is not on this machine, and the hub is not asked" if local else f"cannot be fetched: {reason}"
    if local and is_offline():
        why += f" ({' or '.join(OFFLINE)} is set)"
    folder = Path(repository.rpartition("/")[2])
    how = how_to_fetch(repository, files, revision, folder, folder / subfolder)
    return f"{label}: {' and '.join(files)} of {repository}{at} {why}; {how}"


def check_hub_files(
    label: str, repository: str, files: Sequence[str], revision: str | None = None, subfolder: str = ""
) -> None:
    """Raise FetchError as :func:`find_hub_files` does, but fetch nothing and need no package.

    ``subfolder`` is the folder of all files in the repository.
    """
    files = [f"{subfolder}/{name}" if subfolder else name for name in files]
    if cached_files(repository, files, revision):
        return
    local = is_offline()
    why = "" if local else refusal(hub_address(repository, files[0], revision), repository)
    if local or why:
        raise FetchError(_missing(label, repository, files, revision, why, local=local, subfolder=subfolder))


def cached_files(repository: str, files: Sequence[str], revision: str | None = None) -> bool:
    """Whether the hub's cache has all files of a repository at a commit, its first digits, a branch or a tag."""
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or hub_home() / "hub"
    folder = Path(cache).expanduser() / f"models--{repository.replace('/', '--')}"
    reference = folder / "refs" / (revision or "main")
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    snapshots = (folder / "snapshots").glob(f"{commit}*") if commit else ()
    return any(all((snapshot / name).is_file() for name in files) for snapshot in snapshots)


def how_to_fetch(
    repository: str, files: Sequence[str], revision: str | None, folder: Path, given: Path | None = None
) -> str:
    """Return the command that fetches the files on a machine with internet access, and the option for their folder.

    The option names ``given`` instead of ``folder`` where ``folder`` is searched below it, or the files lie in it.
    """
    command = ["hf", "download", repository, *files, "--local-dir", str(folder)]
    if revision and not is_part(revision):
        command += ["--revision", revision]
    named = "that folder" if given in {None, folder} else "the folder above it"
    if given not in {None, folder} and given.is_relative_to(folder):
        named = f"the folder {given.relative_to(folder)} in it"
    return (
        f"where there is internet: `{shlex.join(command)}`, "
        f"then name {named}: --weights {shlex.quote(str(given or folder))}"
    )
