"""One thread for matrix products: what workers have, and what does not wait for others on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread."""
    with threadpool_limits(1):
        yield
