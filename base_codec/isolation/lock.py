"""Lock files: the packages of a private environment with exact versions and hashes.

A lock is a requirements file for ``pip install --require-hashes``. Comments at its head name its Python and platform,
and any number of packages that are in no registry::

    # python: 3.11
    # platform: linux x86_64
    # extra-index: https://download.pytorch.org/whl/cpu      used when the user's own index lacks a file
    # without-libraries: torchaudio                          compiled parts that cannot be loaded and are not called
    # repository: <name> https://github.com/<owner>/<repository> <40 hexadecimal digits of the commit> [folder]

The locks hold PyTorch for the CPU. For a graphics card, ``<name>-cuda`` is the same lock with the packages of
``locks/cuda/torch-<version>.txt`` in place of that PyTorch; its head says which CUDA the driver must support::

    # cuda: 13.0
"""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from codec_superb.base_codec.errors import CatalogueError, RefusedSetting

LOCKS = Path(__file__).with_name("locks")
FOR_CUDA = "-cuda"
"""Ending of a lock's name that means its packages for CUDA."""
_HEAD = re.compile(r"^# ([a-z-]+): *(.*?) *$")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)={2,3}([^\s=]\S*)", re.MULTILINE)
_CPU_TORCH = re.compile(r"^torch==(?P<version>[^\s+]+)\+cpu(?: \\\n.*)*\n", re.MULTILINE)
_REPOSITORY = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*) (?P<url>(?:https|file)://\S+) (?P<commit>[0-9a-f]{40})(?: (?P<folder>\S+))?"
)


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A package that is in no registry: one commit of a git repository."""

    name: str
    url: str
    commit: str
    """SHA-1 of the commit, 40 hexadecimal digits; it covers the content of every file."""
    folder: str = "."
    """Folder of the checkout that goes on the import path."""


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file."""

    name: str
    path: Path
    text: str
    """Its content; that of a lock for CUDA has other packages than the file."""
    digest: str
    """SHA-256 (hex) of its content: the key of the environment."""
    python: str
    """Version of Python, ``3.11``."""
    platform: str
    """Operating system and processor."""
    pins: dict[str, str]
    """Versions by package, names in lower case; a commit where the package is in no registry."""
    repositories: tuple[GitRepository, ...] = ()
    extra_index: str | None = None
    without_libraries: tuple[str, ...] = ()
    cuda: tuple[int, int] | None = None
    """The version of CUDA that the driver must support; None for a lock of the CPU."""

    @property
    def fits_here(self) -> bool:
        """Whether it was made for this operating system and processor."""
        return self.platform == current_platform()


def current_platform() -> str:
    """Return the operating system and processor of this machine as locks name them."""
    return f"{platform.system().lower()} {platform.machine().lower()}"


def own_file(name: str, ending: str) -> Path | None:
    """Return ``name`` as a path, or None where it names a lock or guest of this package."""
    # a plain name is one of the package's; a path has a slash or the ending
    return Path(name).expanduser() if "/" in name or name.endswith(ending) else None


def open_lock(name: str, device: str = "cpu") -> Lock:
    """Read the lock ``name`` of this package, or the file at that path, with the packages for ``device``.

    A name that ends in ``-cuda`` is that of the lock for CUDA. Raises CatalogueError for anything else, RefusedSetting
    for a lock without packages for CUDA.
    """
    on_cuda = device == "cuda" or name.endswith(FOR_CUDA)
    name = name.removesuffix(FOR_CUDA)
    path = own_file(name, ".txt") or LOCKS / f"{name}.txt"
    if not path.is_file():
        raise CatalogueError(f"no lock {name}: expected one of {', '.join(lock_names())}, or a path")
    text = path.read_bytes().decode()
    if on_cuda:
        text = _for_cuda(path, text)
    comments = [(match[1], match[2]) for line in text.splitlines() if (match := _HEAD.match(line))]
    head = dict(comments)
    for field in ("python", "platform"):
        if field not in head:
            raise CatalogueError(f"{path}: expected a comment `# {field}: …` at its head")
    repositories = tuple(_repository(path, value) for field, value in comments if field == "repository")
    return Lock(
        name=path.stem + (FOR_CUDA if on_cuda else ""),
        path=path,
        text=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        python=head["python"],
        platform=head["platform"],
        pins=_pins(path, [*_PIN.findall(text), *((each.name, each.commit) for each in repositories)]),
        repositories=repositories,
        extra_index=head.get("extra-index"),
        without_libraries=tuple(head.get("without-libraries", "").split()),
        cuda=_version(path, head["cuda"]) if on_cuda else None,
    )


def _for_cuda(path: Path, text: str) -> str:
    """Return a lock's text with PyTorch's packages for CUDA in place of that for the CPU. Raises RefusedSetting."""
    pinned = _CPU_TORCH.search(text)
    packages = LOCKS / "cuda" / f"torch-{pinned['version']}.txt" if pinned else None
    if pinned is None or packages is None or not packages.is_file():
        known = ", ".join(sorted(path.stem.replace("-", " ") for path in packages_for_cuda()))
        raise RefusedSetting(
            f"{path.stem}: its locked packages run on the cpu, and there are none for CUDA, which needs a pin of "
            f"torch==VERSION+cpu (known: {known}); take --device cpu"
        )
    return text[: pinned.start()] + text[pinned.end() :] + packages.read_bytes().decode()


def packages_for_cuda() -> list[Path]:
    """Return the files with PyTorch's packages for CUDA, one for each version of it."""
    return sorted((LOCKS / "cuda").glob("torch-*.txt"))


def _version(path: Path, text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise CatalogueError(f"{path}: expected a version such as `# cuda: 13.0`, got {text!r}")
    return int(major), int(minor)


def _repository(path: Path, value: str) -> GitRepository:
    """Parse the value of a comment ``# repository:``; the folder must stay inside the checkout."""
    match = _REPOSITORY.fullmatch(value)
    folder = PurePosixPath((match and match["folder"]) or ".")
    if match is None or folder.is_absolute() or ".." in folder.parts:
        raise CatalogueError(
            f"{path}: expected `# repository: <name> https://<host>/<repository> <40 hexadecimal digits of a commit> "
            f"[folder in it]`, got {value!r}"
        )
    return GitRepository(match["name"], match["url"], match["commit"], str(folder))


def _pins(path: Path, found: list[tuple[str, str]]) -> dict[str, str]:
    """Return versions by package. Raises CatalogueError for a package that is named twice."""
    pins: dict[str, str] = {}
    for name, version in found:
        key = name.lower().replace("_", "-")  # names are compared as in PEP 503, where - and _ are equal
        if key in pins:
            raise CatalogueError(f"{path}: expected one version of {key}, got {pins[key]} and {version}")
        pins[key] = version
    return pins


def lock_names() -> list[str]:
    """Return the names of the locks of this package."""
    return sorted(path.stem for path in LOCKS.glob("*.txt"))
