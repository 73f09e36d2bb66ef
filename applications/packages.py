"""Checks that a backend's packages are installed, before anything is fetched and without importing them."""

from __future__ import annotations

import importlib.util

from codec_superb.applications.errors import MissingPackage
from codec_superb.missing_package import not_installed


def require_packages(backend: str, extra: str, *packages: str) -> None:
    """Raise MissingPackage with the install command where a package is not installed."""
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    if absent:
        raise MissingPackage(not_installed(backend, " and ".join(absent), extra=extra))
