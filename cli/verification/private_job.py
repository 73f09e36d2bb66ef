"""The job ``private``: a codec on a private dataset, of which rounded scores alone remain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codec_superb.cli.verification.worker import Context
    from codec_superb.server.database.models import VerificationJob

FOLDER = "private"
"""In the storage folder: what a run writes, removed with everything in it, after a kill when a worker starts."""


def run_private(context: Context, job: VerificationJob) -> None:
    """Run the job's codec and end the job: ``measured``, or ``cannot run`` with a reason for moderators.

    Raises NoRoomForRun where the disk is full, and errors of a database that is away: the job is tried again.

    Neither this function nor what it stores or raises names a clip: errors come as kinds, failed clips as counts.
    """
    from codec_superb.pipeline.private_sets.measure import NoRoomForRun, PrivateRunFailed, kind_of
    from codec_superb.server.database.faults import DATABASE_ERRORS
    from codec_superb.server.errors import ServerError
    from codec_superb.server.verification.jobs import finish

    try:
        _run(context, job)
    except (NoRoomForRun, *DATABASE_ERRORS):  # of the machine, not of the codec: another attempt
        raise
    except (PrivateRunFailed, ServerError) as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - a text of which nobody knows what it names
        reason = kind_of(error)
    else:
        return
    with context.database.transaction(write=True) as session:
        finish(session, job, context.worker, "cannot run", reason)


def _run(context: Context, job: VerificationJob) -> None:
    from codec_superb.cli.verification.worker import CLIP_SECONDS
    from codec_superb.pipeline.private_sets.measure import failures_in_words, private_rows
    from codec_superb.server.private_sets.queue import task_of
    from codec_superb.server.private_sets.results import reduced, store
    from codec_superb.server.verification.jobs import finish

    with context.database.transaction() as session:
        task = task_of(session, job)
    rows = private_rows(
        task.card, task.dataset.path, salt=task.dataset.salt, committed=task.dataset.commitment,
        scratch=context.settings.storage / FOLDER, categories=task.categories, clip_seconds=CLIP_SECONDS,
        device=context.device, workers=context.workers,
    )  # fmt: skip
    with context.database.transaction(write=True) as session:
        found = reduced(session, task.submission, task.dataset, rows)
        # of a worker that was given up nothing is stored
        if finish(session, job, context.worker, "measured", f"{failures_in_words(rows)}. {found.words}"):
            store(session, found)
