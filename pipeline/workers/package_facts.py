"""What must be equal where tasks are given and where they run: this package, Python, and what can change a result."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import codec_superb

PACKAGES = (
    "av", "lc3py", "numba", "numpy", "pesq", "praat-parselmouth", "pyarrow", "pycodec2", "pydantic",
    "safetensors", "scipy", "soundfile", "soxr", "torch", "torchaudio", "transformers",
)  # fmt: skip
"""Distributions whose version can change a result; those that are not installed are omitted."""
PROBE_PACKAGES = (
    "ctranslate2", "faster-whisper", "onnxruntime", "openai-whisper", "pocketsphinx", "speechbrain", "visqol-python",
    "webrtcvad-wheels", "whisper-normalizer",
)  # fmt: skip
"""Distributions that only probes use."""
PLUGINS = "codec_superb."
"""Beginning of the entry points of plug-ins."""


class PackageFacts(NamedTuple):
    """The package as one process has it."""

    version: str
    sha256: str
    """Of all its files: places and contents."""
    python: str
    packages: Mapping[str, str]
    """Versions of what can change a result, plug-ins included, by name."""

    def __str__(self) -> str:
        return f"codec-superb {self.version} (files {self.sha256[:12]}) on Python {self.python}"


@cache
def package_facts() -> PackageFacts:
    """Return the facts of this process; reading 13 MB of files takes 0.1 s."""
    root = Path(codec_superb.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(_files(root)):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(data)}\n".encode())
        digest.update(data)
    return PackageFacts(codec_superb.__version__, digest.hexdigest(), platform.python_version(), _packages())


def differing(here: Mapping[str, str], there: Mapping[str, str]) -> tuple[str, str]:
    """Return the versions that differ, as texts for both sides; '' where all are equal."""
    names = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    mine, its = (
        ", ".join(f"{name} {of[name]}" if name in of else f"no {name}" for name in names) for of in (here, there)
    )
    return mine, its


@cache
def _packages() -> dict[str, str]:
    points = metadata.entry_points()
    groups = [points.select(group=group) for group in points.groups if group.startswith(PLUGINS)]
    plugged = {point.dist.name for group in groups for point in group if point.dist}
    return package_versions() | versions_of((*PROBE_PACKAGES, *plugged))


@cache
def package_versions() -> dict[str, str]:
    """Versions of the installed packages that can change a result, and of the FFmpeg libraries inside PyAV."""
    return versions_of(PACKAGES) | _ffmpeg_versions()


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of the named distributions that are installed."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _ffmpeg_versions() -> dict[str, str]:
    """Versions of FFmpeg's libraries, e.g. ``{"ffmpeg libavcodec": "61.19.100"}``, as PyAV reports them."""
    try:
        import av
    except ImportError:
        return {}
    return {f"ffmpeg {name}": ".".join(map(str, version)) for name, version in sorted(av.library_versions.items())}


def _files(root: Path) -> list[Path]:
    """Return the files of the package, without what Python and editors keep beside them."""
    found = []
    for folder, folders, files in os.walk(root, followlinks=True):  # a checkout binds its folders by links
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        found += [Path(folder, name) for name in files if not name.startswith(".") and not name.endswith((".pyc", "~"))]
    return found
