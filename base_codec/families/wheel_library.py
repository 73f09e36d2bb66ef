"""Find the native library that a wheel carries, to call what the package itself has no call for."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def wheel_library(package: str, name: str) -> Path | None:
    """Return the shared library ``name`` (``codec2``) inside the wheel of ``package``, None where there is none."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    # Where auditwheel (Linux) and delocate (macOS) put the shared libraries of a wheel.
    for place in (folder.parent / f"{package}.libs", folder / ".dylibs", folder):
        for file in sorted(place.glob(f"*{name}*")):
            if ".so" in file.name.removeprefix(f"{package}.") and not file.name.startswith(f"{package}."):
                return file
            if file.suffix in {".dylib", ".dll"}:
                return file
    return None
