"""Private environments on this machine: one folder per lock, built once, shared by all processes.

``<home>/environments/<first 16 digits of the lock's SHA-256>/`` is complete when it holds ``complete.json``, which is
written last. A folder without it comes from an interrupted build and is rebuilt.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.isolation.installer import install, python_in
from codec_superb.base_codec.isolation.lock import GitRepository, Lock, lock_names, open_lock
from codec_superb.data_manifests.files import locked, write_atomically
from codec_superb.data_manifests.home import codec_superb_home

MARK = "complete.json"
KEY_LENGTH = 16
State = Literal["built", "interrupted", "not built", "outdated"]


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment, built or not."""

    name: str
    """Its lock's name; the last known one for an outdated environment."""
    folder: Path
    state: State
    """``outdated``: no lock of this version of the package uses it."""
    installer: str | None = None
    """``uv`` or ``pip``."""
    repositories: tuple[GitRepository, ...] = ()
    """Its packages that are in no registry."""

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return python_in(self.folder)

    def size(self) -> int:
        """Bytes on the disk; files that are hard links into uv's cache count in full."""
        total = 0
        for folder, _, files in os.walk(self.folder):
            for file in files:
                with suppress(FileNotFoundError):  # a concurrent build or removal
                    total += os.lstat(os.path.join(folder, file)).st_size  # noqa: PTH118 - half the time
        return total


def environments_home() -> Path:
    """Return the folder of all private environments; it need not exist."""
    return codec_superb_home() / "environments"


def find_environment(lock: Lock) -> Environment:
    """Return the state of the environment of ``lock``, without building anything."""
    folder = environments_home() / lock.digest[:KEY_LENGTH]
    mark = _mark(folder)
    if mark is not None and python_in(folder).exists():  # a symbolic link to a Python that may have been removed
        return Environment(lock.name, folder, "built", mark.get("installer"), lock.repositories)
    state: State = "interrupted" if folder.exists() else "not built"
    return Environment(lock.name, folder, state, repositories=lock.repositories)


def ensure_built(lock: Lock, announce: Callable[[str], None] = lambda _: None) -> Environment:
    """Return the environment of ``lock``, building it where it is missing or was interrupted.

    ``announce`` is called before a build, which takes minutes. A second process waits for the first one's build.
    Raises EnvironmentFailed.
    """
    found = find_environment(lock)
    if found.state == "built":
        return found
    with locked(_lock_file(found.folder)):
        found = find_environment(lock)
        if found.state != "built":
            announce(f"building the environment of {lock.name} ({len(lock.pins)} packages) in {found.folder} …")
            _build(lock, found.folder)
    return find_environment(lock)


def _build(lock: Lock, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        installer = install(lock, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # written last: a folder without it is an interrupted build
    facts = {"lock": lock.name, "sha256": lock.digest, "installer": installer, "packages": lock.pins}
    write_atomically(folder / MARK, json.dumps(facts, indent=1).encode())


def all_environments() -> list[Environment]:
    """Return the environments of all locks, those for CUDA that are on the disk, and those that no lock uses."""
    wanted = [find_environment(open_lock(name)) for name in lock_names()]
    for name in lock_names():
        with suppress(RefusedSetting):  # a lock without torch
            for_cuda = find_environment(open_lock(name, "cuda"))
            wanted += [for_cuda] if for_cuda.state != "not built" else []
    known = {environment.folder for environment in wanted}
    home = environments_home()
    others = sorted(path for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
    return wanted + [_outdated(path) for path in others if path not in known]


def remove(environment: Environment) -> bool:
    """Delete an environment; return whether there was one. Waits for a running build."""
    if not environment.folder.exists():
        return False
    with locked(_lock_file(environment.folder)):
        (environment.folder / MARK).unlink(missing_ok=True)  # first: a half-deleted environment is not complete
        shutil.rmtree(environment.folder)
    return True


def _outdated(folder: Path) -> Environment:
    mark = _mark(folder) or {}
    return Environment(mark.get("lock", folder.name), folder, "outdated", mark.get("installer"))


def _mark(folder: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((folder / MARK).read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return facts


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")
