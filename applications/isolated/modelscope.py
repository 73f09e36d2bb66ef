"""Finds models of ModelScope: in a folder of the user, in the program's own, or by download in their environment.

The tests run the real download command and check its failure; a successful download has not been tested.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from codec_superb.applications.errors import MissingModel
from codec_superb.data_manifests.files import locked
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.hub.hub_files import OFFLINE, is_offline

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
FETCH_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class ModelScopeRepository:
    """A model of ModelScope at one revision."""

    owner_and_name: str
    revision: str
    """Tag or branch."""

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.owner_and_name.rpartition('/')[2]}@{self.revision}"

    def command(self, folder: Path) -> list[str]:
        """Return the arguments that fetch it into ``folder``."""
        return ["download", self.owner_and_name, "--revision", self.revision, "--local-dir", str(folder)]


def repository_of(text: str, default: ModelScopeRepository) -> ModelScopeRepository | None:
    """Read ``OWNER/NAME[@REVISION]``; None for anything else, which is a path. '' is the usual one."""
    if not text:
        return default
    if not _REPOSITORY.fullmatch(text) or text.startswith(".") or Path(text).exists():
        return None
    owner_and_name, _, revision = text.partition("@")
    return ModelScopeRepository(owner_and_name, revision or "master")  # ModelScope's usual branch


def find_folder(label: str, repository: ModelScopeRepository, files: tuple[tuple[str, ...], ...], python: Path) -> Path:
    """Return the folder of a repository, fetched once by the ``modelscope`` of the environment of ``python``.

    Of each tuple of ``files`` one must be there. Raises MissingModel with the command and the place.
    """
    home = codec_superb_home() / "models" / "modelscope"
    folder = home / repository.owner_and_name.replace("/", "--") / repository.revision
    with locked(folder.with_name(f".{folder.name}.lock")):
        if not _lacking(folder, files):
            return folder
        reason = f"{' or '.join(OFFLINE)} is set" if is_offline() else _fetch(repository, folder, python)
    lacking = _lacking(folder, files)
    if lacking:
        raise MissingModel(
            f"{label}: {repository.owner_and_name} at revision {repository.revision} is not on this machine and "
            f"cannot be fetched ({reason or 'it lacks ' + lacking})\n{how_to_fetch(repository)}"
        )
    return folder


def check_folder(
    label: str, folder: Path, files: tuple[tuple[str, ...], ...], repository: ModelScopeRepository
) -> Path:
    """Return the user's own ``folder``. Raises MissingModel naming the missing file."""
    folder = folder.expanduser()
    lacking = _lacking(folder, files)
    if lacking:
        raise MissingModel(f"{label}: no file {lacking} in {folder}\n{how_to_fetch(repository)}")
    return folder.resolve()


def how_to_fetch(repository: ModelScopeRepository) -> str:
    """Return the instructions to install the model."""
    folder = Path(repository.owner_and_name.rpartition("/")[2])
    return (
        f"where there is internet: pip install modelscope && modelscope {shlex.join(repository.command(folder))}\n"
        f"then name that folder: --weights {shlex.quote(str(folder))}"
    )


def _lacking(folder: Path, files: tuple[tuple[str, ...], ...]) -> str:
    """Name the first file that is not there, '' where all are."""
    for alternatives in files:
        if not any((folder / name).is_file() for name in alternatives):
            return " or ".join(alternatives)
    return ""


def _fetch(repository: ModelScopeRepository, folder: Path, python: Path) -> str:
    """Fetch into a folder beside ``folder`` and move it there; return the reason where that failed."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    program = [str(python.with_name("modelscope")), *repository.command(part)]
    try:
        done = subprocess.run(program, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("error:")]
        return lines[-1] if lines else f"modelscope ended with {done.returncode}"
    shutil.rmtree(folder, ignore_errors=True)
    # Renamed when it is whole: a folder of this name is complete.
    part.rename(folder)
    return ""
