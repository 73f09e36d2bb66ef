"""Create a virtual environment and install a lock into it: with uv where available, otherwise with venv and pip."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path

from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import Lock
from codec_superb.base_codec.isolation.repositories import fetch_repositories
from codec_superb.base_codec.isolation.steps import run_step
from codec_superb.data_manifests.packages.pip_settings import PipSettings, read_pip_settings

INSTALLER_VARIABLE = "CODEC_SUPERB_INSTALLER"
"""Environment variable that chooses the installer, ``uv`` or ``pip``; without it uv is used where it is found."""
REQUIREMENTS = "lock.txt"
"""File in an environment's folder with the lock that it was made of."""
_UNLOADED = """
import importlib.util, pathlib, subprocess, sys
for name in sys.argv[1:]:
    folder = pathlib.Path(importlib.util.find_spec(name).origin).parent
    if subprocess.run([sys.executable, "-c", "import " + name], capture_output=True).returncode:
        for library in [*folder.glob("lib/*.so"), *folder.glob("*.so")]:
            library.unlink()
    subprocess.run([sys.executable, "-c", "import " + name], check=True)
"""


def install(lock: Lock, folder: Path) -> str:
    """Create the environment of ``lock`` in ``folder``; return the installer's name.

    Raises EnvironmentFailed with the end of the installer's output and what to do.
    """
    uv = _uv()
    if uv is not None:
        run_step([uv, "venv", "--quiet", "--python", lock.python, str(folder)], lock, uv_variables(read_pip_settings()))
    else:
        run_step([_python_of(lock), "-m", "venv", "--without-pip", str(folder)], lock, {})
    (folder / REQUIREMENTS).write_bytes(lock.text.encode())
    fetch_repositories(lock, folder)  # first: a missing git or commit is found before gigabytes are installed
    _install_packages(lock, folder, uv)
    if lock.without_libraries:
        # torchaudio's CUDA wheel imports without its compiled parts, which need the CUDA runtime and are not called.
        run_step([str(python_in(folder)), "-I", "-c", _UNLOADED, *lock.without_libraries], lock, {})
    return "pip" if uv is None else "uv"


def python_in(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "bin" / "python"


def _install_packages(lock: Lock, folder: Path, uv: str | None) -> None:
    """Install from the user's own index; where that fails, from it and the lock's extra index. Hashes guard both.

    Raises EnvironmentFailed with both reasons, since the first may be something else than a missing file: a full disk.
    """
    python = str(python_in(folder))
    # no-deps: the lock is complete, and a package's own requirements may contradict it
    tail = ["--require-hashes", "--no-deps", "-r", str(folder / REQUIREMENTS)]
    if uv is None:
        # this environment's pip installs into the other: a pip of its own would take as long as a small lock
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python]
        command = [*pip, "install", *tail]
        variables: Mapping[str, str] = {}
    else:
        settings = read_pip_settings()
        command = [uv, "pip", "install", "--quiet", "--python", python, *uv_options(settings), *tail]
        variables = uv_variables(settings)
    try:
        run_step(command, lock, variables)
    except EnvironmentFailed as first:
        if lock.extra_index is None:
            raise
        # A package that the first call copied in part, on a full disk, would count as installed.
        anew = "--force-reinstall" if uv is None else "--reinstall"  # pip's and uv's name for the same
        try:
            run_step([*command, anew, "--extra-index-url", lock.extra_index], lock, variables)
        except EnvironmentFailed as second:
            raise EnvironmentFailed(f"{first}\n\nThen, with {lock.extra_index} besides: {second}") from first


def uv_options(settings: PipSettings) -> list[str]:
    """Return uv's options for the indexes and folders of pip's configuration, which uv does not read."""
    # pip takes the best version over all indexes, uv by default only the first index that has the package; with
    # hashes required, pip's rule cannot install another file than the lock's.
    options = ["--index-strategy", "unsafe-best-match"]
    if not settings.indexes:
        options.append("--no-index")
    for position, index in enumerate(settings.indexes):
        if index is not None:
            options += ["--extra-index-url" if position else "--index-url", index]
    for folder in settings.find_links:
        options += ["--find-links", str(folder)]
    for host in settings.trusted_hosts:
        options += ["--allow-insecure-host", host]
    return options


def uv_variables(settings: PipSettings) -> dict[str, str]:
    """Return pip's certificates, proxy and time-out as uv's environment variables."""
    # uv does not read pip's configuration: it is passed on
    variables = {"UV_HTTP_TIMEOUT": f"{settings.timeout:g}"}
    if settings.cert:
        variables["SSL_CERT_FILE"] = settings.cert
    if settings.client_cert:
        variables["SSL_CLIENT_CERT"] = settings.client_cert
    if settings.proxy:
        variables |= {"HTTPS_PROXY": settings.proxy, "HTTP_PROXY": settings.proxy}
    return variables


def _uv() -> str | None:
    """Return the program uv, None where pip is to be used."""
    wish = os.environ.get(INSTALLER_VARIABLE, "")
    if wish not in {"", "uv", "pip"}:
        raise EnvironmentFailed(f"expected {INSTALLER_VARIABLE} to be uv or pip, got {wish!r}")
    found = None if wish == "pip" else shutil.which("uv")
    if wish == "uv" and found is None:
        raise EnvironmentFailed(f"{INSTALLER_VARIABLE} asks for uv, which is not on the PATH: pip install uv")
    # On the path alone: whoever asks setuptools' own finder for pip cannot import setuptools in this process any more.
    if found is None and PathFinder.find_spec("pip") is None:
        raise EnvironmentFailed(f"expected pip in {sys.prefix}, or uv on the PATH: python -m ensurepip")
    return found


def _python_of(lock: Lock) -> str:
    """Return an interpreter of the lock's version: this one, or one on the PATH."""
    if lock.python == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{lock.python}")
    if found is None:
        raise EnvironmentFailed(
            f"the packages of {lock.name} are locked for Python {lock.python}, which is not installed: "
            f"install python{lock.python}, or install uv, which fetches it (pip install uv)"
        )
    return found
