"""Locks: the packages of a private environment, each of one version and with the hashes of its files.

A lock is a requirements file as ``pip install --require-hashes`` takes it. Comments at its head say what it was made
for::

    # python: 3.11
    # platform: linux x86_64
    # extra-index: https://download.pytorch.org/whl/cpu      asked when the user's own index lacks a file
    # without-libraries: torchaudio                          compiled parts that cannot load here and nobody calls
"""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from codec_superb.base_codec.errors import CatalogueError

LOCKS = Path(__file__).with_name("locks")
_HEAD = re.compile(r"^# ([a-z-]+): *(.*?) *$")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?: @ |==)(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file."""

    name: str
    path: Path
    digest: str
    """SHA-256 (hex) of its content: the key of the environment."""
    python: str
    """Version of Python, ``3.11``."""
    platform: str
    """Operating system and processor."""
    pins: dict[str, str]
    """Versions by package, names in lower case; an address where the package is in no registry."""
    extra_index: str | None = None
    without_libraries: tuple[str, ...] = ()

    @property
    def fits_here(self) -> bool:
        """Whether it was made for this kind of machine."""
        return self.platform == here()


def here() -> str:
    """Return the operating system and processor of this machine as locks name them."""
    return f"{platform.system().lower()} {platform.machine().lower()}"


def open_lock(name: str) -> Lock:
    """Read the lock ``name`` of this package, or the file of that path. Raises CatalogueError when it is none."""
    path = Path(name) if "/" in name else LOCKS / f"{name}.txt"
    if not path.is_file():
        raise CatalogueError(f"no lock {name}: expected one of {', '.join(lock_names())}, or a path")
    content = path.read_bytes()
    text = content.decode()
    head = {match[1]: match[2] for line in text.splitlines() if (match := _HEAD.match(line))}
    for field in ("python", "platform"):
        if field not in head:
            raise CatalogueError(f"{path}: expected a comment `# {field}: …` at its head")
    return Lock(
        name=path.stem,
        path=path,
        digest=hashlib.sha256(content).hexdigest(),
        python=head["python"],
        platform=head["platform"],
        pins={match[1].lower().replace("_", "-"): match[2] for match in _PIN.finditer(text)},
        extra_index=head.get("extra-index"),
        without_libraries=tuple(head.get("without-libraries", "").split()),
    )


def lock_names() -> list[str]:
    """Return the names of the locks of this package."""
    return sorted(path.stem for path in LOCKS.glob("*.txt"))
