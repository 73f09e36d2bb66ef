"""The job ``private`` of ``codec-superb verify-worker``: a codec on a private dataset, of which scores alone remain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codec_superb.pipeline.workers.devices import Device
    from codec_superb.pipeline.workers.executor import Executor
    from codec_superb.server.database.models import VerificationJob
    from codec_superb.server.database.session import Database

SCRATCH = "private"
"""Folder in the storage folder for what a run writes; removed with everything in it."""


def run_private(
    database: Database,
    job: VerificationJob,
    worker: str,
    *,
    storage: Path,
    device: Device = "auto",
    timeout: float | None = None,
    executor: Executor | None = None,
) -> None:
    """Do a claimed job and end it: with the outcome ``measured``, or ``cannot run`` with a reason for moderators.

    Neither this function nor what it stores names a clip: errors come as kinds, failed clips as counts. Where another
    worker has taken the job meanwhile nothing is stored.
    """
    from codec_superb.pipeline.private_sets.measure import PrivateRunFailed, failures_in_words, private_rows
    from codec_superb.server.errors import ServerError
    from codec_superb.server.private_sets.queue import task_of
    from codec_superb.server.private_sets.results import reduced, store
    from codec_superb.server.verification.jobs import finish

    try:
        with database.transaction() as session:
            task = task_of(session, job)
        rows = private_rows(
            task.card, task.dataset.path, salt=task.dataset.salt, committed=task.dataset.commitment,
            scratch=storage / SCRATCH, categories=task.categories, device=device, timeout=timeout, executor=executor,
        )  # fmt: skip
    except (PrivateRunFailed, ServerError) as error:
        with database.transaction(write=True) as session:
            finish(session, job, worker, "cannot run", str(error))
        return
    failures = failures_in_words(rows)
    with database.transaction(write=True) as session:
        found = reduced(session, task.submission, task.dataset, rows)
        if finish(session, job, worker, "measured", f"{failures}. {found.words}"):
            store(session, found)
