"""Compile the inner loops with numba, once per machine: compiled code is kept on disk wherever that is possible.

numba keeps it beside the source, in the user's cache folder when that is read-only, or in ``NUMBA_CACHE_DIR``. Where
none of these can be written (a locked-down container) it refuses to decorate at all; then the loops are compiled in
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of arrays and numbers: compiled on first use, without the interpreter's lock held."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        try:
            return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, **options)(function))
        except RuntimeError:  # "no locator available": nowhere to keep the compiled code
            return cast("Callable[P, R]", numba.njit(cache=False, nogil=True, **options)(function))

    return decorate
