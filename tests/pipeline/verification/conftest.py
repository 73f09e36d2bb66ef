"""What tests of verification share: a worker, and where a module's run is run again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.verification.again import Rerun
from codec_superb.pipeline.workers.executor import Executor


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """One worker for all."""
    with Executor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def again(run: RunFolder) -> Rerun:
    """Where a module's ``run`` is run again: each clip once for all tests, as the stages keep what is there."""
    folder = run.path.parents[2]
    return Rerun(folder / "again", datasets=[str(folder / "voices")], device="cpu")
