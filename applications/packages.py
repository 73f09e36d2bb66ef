"""Say which package a backend lacks, before anything is fetched and without importing it."""

from __future__ import annotations

import importlib.util

from codec_superb.applications.errors import MissingPackage


def require_packages(backend: str, extra: str, *packages: str) -> None:
    """Raise MissingPackage with the install command where a package is not installed."""
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    if absent:
        raise MissingPackage(
            f"{backend} needs {' and '.join(absent)}, which "
            f"{'is' if len(absent) == 1 else 'are'} not installed: pip install 'codec-superb[{extra}]'"
        )
