"""Runs a coroutine beside whatever loop the test's own thread has: a browser in the same process keeps one running."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


def run(function: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    """Call a coroutine function in a loop of its own, in a thread of its own, and return what it returns."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, function, *arguments).result()
