"""Packages that are in no registry: check out one commit of a git repository onto an environment's import path.

The SHA-1 of a commit covers its whole content, so the commit in a lock guards a repository as hashes guard wheels; the
checkout's commit is compared with the lock's (decision 12). The user's git configuration applies (proxy, certificates,
mirrors by ``insteadOf``), but hooks, submodules, LFS and password prompts are switched off.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import GitRepository, Lock
from codec_superb.base_codec.isolation.steps import run_step

FOLDER = "repositories"
"""Folder of the checkouts in an environment."""
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GIT_LFS_SKIP_SMUDGE": "1"}
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false")


def fetch_repositories(lock: Lock, environment: Path) -> None:
    """Put each repository of ``lock`` into ``<environment>/repositories/<name>`` and on its import path.

    Raises EnvironmentFailed: no git, no such commit, another commit than the lock's, no such folder.
    """
    if not lock.repositories:
        return
    git = shutil.which("git")
    if git is None:
        names = ", ".join(repository.name for repository in lock.repositories)
        raise EnvironmentFailed(
            f"the environment of {lock.name} needs git, which is not on the PATH: {names} is in no registry and comes "
            "from its repository; install git (Debian: apt install git; conda: conda install git)"
        )
    for repository in lock.repositories:
        checkout = environment / FOLDER / repository.name
        _check_out(git, repository, checkout, lock)
        _put_on_path(repository, checkout, lock, environment)


def _check_out(git: str, repository: GitRepository, checkout: Path, lock: Lock) -> None:
    """Check out the files of the commit into ``checkout``, without the ``.git`` folder."""

    def call(*arguments: str) -> str:
        return run_step([git, "-C", str(checkout), *_OPTIONS, *arguments], lock, _QUIET)

    checkout.mkdir(parents=True)
    # without a template, which may hold hooks
    call("init", "--quiet", "--template=")
    fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
    try:
        call(*fetch, "--depth", "1", repository.url, repository.commit)
    except EnvironmentFailed:  # a server may refuse single commits (uploadpack.allowReachableSHA1InWant is off)
        call(*fetch, repository.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    try:
        call("checkout", "--quiet", "--detach", repository.commit)
    except EnvironmentFailed as error:
        raise EnvironmentFailed(
            f"{repository.url} has no commit {repository.commit}, which the lock {lock.name} asks for: {error}"
        ) from error
    found = call("rev-parse", "HEAD")
    if found != repository.commit:
        raise EnvironmentFailed(
            f"expected commit {repository.commit} of {repository.url} for {lock.name}, got {found}: correct the lock"
        )
    shutil.rmtree(checkout / ".git")


def _put_on_path(repository: GitRepository, checkout: Path, lock: Lock, environment: Path) -> None:
    """Add the repository's folder to the import path of ``environment`` by a ``.pth`` file, after site-packages."""
    folder = checkout / repository.folder
    if not folder.is_dir():
        raise EnvironmentFailed(
            f"expected a folder {repository.folder} in {repository.url} at {repository.commit}, got none: "
            f"correct the lock {lock.name}"
        )
    site_packages = environment / "lib" / f"python{lock.python}" / "site-packages"
    # site.py puts each line of a .pth file on the import path, also under -I
    (site_packages / f"repository-{repository.name}.pth").write_text(f"{folder.resolve()}\n")
