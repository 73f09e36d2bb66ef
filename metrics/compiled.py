"""Compile the inner loops with numba, once per machine: compiled code is kept on disk wherever that is possible.

numba keeps it beside the source, in the user's cache folder when that is read-only, or in ``NUMBA_CACHE_DIR``. Where
none of these can be written (a locked-down container) it refuses to decorate at all; then the loops are compiled in
memory. So they are where numba has renamed what :func:`_bind` sets.

numba takes kept code for fresh while the file of the function is unchanged, whatever the functions it calls in other
files have become. A number must not depend on that, so kept code is also bound to the sources of this whole part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of arrays and numbers: compiled on first use, without the interpreter's lock held."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        try:
            dispatcher = numba.njit(cache=True, nogil=True, **options)(function)
            _bind(dispatcher, source_fingerprint(Path(__file__).parent))
        # RuntimeError is "no locator available": nowhere to keep the compiled code. AttributeError is another numba's
        # dispatcher, or the plain function that njit gives back under NUMBA_DISABLE_JIT.
        except (RuntimeError, AttributeError):
            dispatcher = numba.njit(cache=False, nogil=True, **options)(function)
        return cast("Callable[P, R]", dispatcher)

    return decorate


@cache
def source_fingerprint(folder: Path) -> str:
    """Return a SHA-256 (hex) over the names and contents of all Python files below ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def can_be_cached(function: Any) -> bool:
    """Whether there is a place on disk for the compiled code of ``function``."""
    return getattr(function, "_cache", None) is not None and function._cache.cache_path is not None  # noqa: SLF001


def is_cached(function: Any) -> bool:
    """Whether compiled code of ``function``, made from the present sources, is on disk."""
    if not can_be_cached(function):
        return False
    return bool(function._cache._cache_file._load_index())  # noqa: SLF001 - numba tells only after the first call


def _bind(dispatcher: Any, fingerprint: str) -> None:
    """Make kept code stale when ``fingerprint`` changes. numba has no public way to say so."""
    index = dispatcher._cache._cache_file  # noqa: SLF001 - see above; the tests notice when numba renames it
    index._source_stamp = (index._source_stamp, fingerprint)  # noqa: SLF001 - likewise
    index._load_index = _stale_if_unreadable(index._load_index)  # noqa: SLF001 - likewise


def _stale_if_unreadable(load_index: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """Treat an index that cannot be read as one that holds nothing.

    numba unpickles the types of an index before it compares the stamp, so that a class that another version renamed
    would be an AttributeError, or ModuleNotFoundError, in place of compiling anew (numba 0.68).
    """

    def load() -> dict[Any, Any]:
        try:
            return load_index()
        except Exception:  # noqa: BLE001 - whatever unpickling the types of another version raises
            return {}

    return load
