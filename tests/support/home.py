"""A home of the program for tests: empty but for the package files and models that this machine has fetched already."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.home import codec_superb_home


def home_with_models(folder: Path) -> Path:
    """Make a home in ``folder`` that shares package files and models with the usual one."""
    usual = codec_superb_home()
    folder.mkdir(parents=True)
    for name in ("packages", "models"):
        (usual / name).mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(usual / name)
    return folder
