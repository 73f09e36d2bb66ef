"""The loop of ``codec-superb verify-worker``: claim a job, do it beside a sign of life, end it, ask for the next."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from codec_superb.cli.console import note
from codec_superb.web.text import count

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from codec_superb.pipeline.workers.devices import Device
    from codec_superb.server.database.models import VerificationJob
    from codec_superb.server.database.session import Database
    from codec_superb.server.settings import Settings

POLL_SECONDS = 10.0
"""Pause between two looks at an empty queue."""
_PAUSE_S = 2.0
"""Pause between two attempts while the database is away."""
CLIP_SECONDS = 1200.0
"""Time of a clip in any stage; a codec that hangs costs a clip, not the worker."""
NO_ROOM = timedelta(minutes=10)
"""Pause of a job for which the disk has no room."""
RUNS = "verification"
"""In the storage folder: runs of jobs that are not through, which the next attempt goes on with."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a job is done with."""

    database: Database
    settings: Settings
    device: Device = "auto"
    workers: int | None = None
    """Processes of a run."""
    worker: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    """Who does it: machine and process."""


_Result = TypeVar("_Result")
Handler = Callable[[Context, "VerificationJob"], None]
"""Does a job and ends it (``jobs.finish``), in the transaction that stores what came out; what it raises is a failed
attempt."""


def work(context: Context, handlers: Mapping[str, Handler], *, once: bool, poll: float = POLL_SECONDS) -> int:
    """Do jobs of the kinds that have a handler, one after the other; return how many.

    ``once`` ends with an empty queue, and where the database is away; without it only an interrupt does, which puts the
    job back.
    """
    from codec_superb.server.verification.candidates import enqueue_unverified
    from codec_superb.server.verification.jobs import claim

    def take(session: Session) -> VerificationJob | None:
        if context.settings.verify_accepted and "verify" in handlers:
            enqueue_unverified(session)
        return claim(session, context.worker, kinds=tuple(handlers))

    done, idle = 0, threading.Event()
    while True:
        job = _within(context, take, patient=not once)
        remove_ended(context)
        if job is not None:
            _do(context, job, handlers[job.kind], patient=not once)
            done += 1
        elif once:
            _tell_left_over(context)
            return done
        else:
            idle.wait(poll)


def _tell_left_over(context: Context) -> None:
    """Say what a worker that ends leaves: a job of one that was killed looks like one that is at work."""
    from codec_superb.server.verification.jobs import SILENCE, left_over

    with context.database.transaction() as session:
        running, waiting = left_over(session)
    if running:
        note(
            f"{count(running, 'job')} of other workers not ended; a worker that was killed is given up after "
            f"{SILENCE // timedelta(minutes=1)} minutes without a word: ask again then"
        )
    if waiting:
        note(f"{count(waiting, 'job')} waiting for the next attempt, minutes after one that failed: ask again then")


def _within(context: Context, do: Callable[[Session], _Result], *, patient: bool) -> _Result:
    """Do something in a writing transaction, again and again while the database is away where ``patient``."""
    from codec_superb.server.database.faults import DATABASE_ERRORS, words_of

    told = False
    while True:
        try:
            with context.database.transaction(write=True) as session:
                return do(session)
        except DATABASE_ERRORS as error:
            if not patient:
                raise
            if not told:
                note(f"{words_of(error)}; this worker goes on when it does")
            told = True
        time.sleep(_PAUSE_S)


def remove_ended(context: Context) -> None:
    """Remove the runs of jobs that have ended, given up ones too; a job that waits or runs goes on with its own."""
    from codec_superb.server.database.faults import DATABASE_ERRORS
    from codec_superb.server.verification.jobs import not_ended

    runs = (context.settings.storage / RUNS).glob("*")
    places = {int(place.name): place for place in runs if place.name.isdecimal()}
    if places:
        try:
            with context.database.transaction() as session:
                needed = not_ended(session, places)
        except DATABASE_ERRORS:  # away: the next look removes them
            return
        for number in places.keys() - needed:
            shutil.rmtree(places[number], ignore_errors=True)


def _do(context: Context, job: VerificationJob, handler: Handler, *, patient: bool) -> None:
    from codec_superb.pipeline.errors import InUse, NoRoom
    from codec_superb.pipeline.private_sets.measure import NoRoomForRun
    from codec_superb.server.database.faults import DATABASE_ERRORS, words_of
    from codec_superb.server.verification.jobs import PAUSES, fail, give_back

    note(f"job {job.id}: {job.kind} {job.submission_id}, attempt {job.attempts}")
    try:
        with _alive(context, job):
            handler(context, job)
    except KeyboardInterrupt:
        with context.database.transaction(write=True) as session:
            give_back(session, job, context.worker)
        raise
    except InUse as error:  # a worker that was given up is at it still: no fault of the job
        _within(context, lambda session: give_back(session, job, context.worker, pause=PAUSES[0]), patient=patient)
        note(f"job {job.id}: {error}")
    except (NoRoom, NoRoomForRun) as error:  # a full disk would end every job of the queue for good
        told = f"{error}; it waits for {NO_ROOM // timedelta(minutes=1)} minutes"
        later = partial(give_back, job=job, worker=context.worker, pause=NO_ROOM, message=told)
        _within(context, later, patient=patient)
        note(f"job {job.id}: {told}")
    except Exception as error:  # noqa: BLE001 - a job that went wrong must not end the worker: it is tried again
        # the text of a database names its address, which is not for moderators
        reason = words_of(error) if isinstance(error, DATABASE_ERRORS) else f"{type(error).__name__}: {error}"
        _within(context, lambda session: fail(session, job, context.worker, reason), patient=patient)
        note(f"job {job.id}: {reason}")
    else:
        ended = _within(context, lambda session: session.get(type(job), job.id), patient=patient)
        if ended is not None:
            note(f"job {job.id}: {ended.outcome or ended.state}")


@contextmanager
def _alive(context: Context, job: VerificationJob) -> Iterator[None]:
    """Say every now and then that this worker lives, while the block runs."""
    from sqlalchemy.exc import SQLAlchemyError

    from codec_superb.server.verification.jobs import SILENCE, beat

    over, pause = threading.Event(), SILENCE / timedelta(seconds=6)

    def say() -> None:
        while not over.wait(pause):
            try:
                with context.database.transaction(write=True) as session:
                    if not beat(session, job, context.worker):
                        return  # given up: what comes out will not be stored
            except SQLAlchemyError:  # a database that is away for a moment; silence is counted in minutes
                continue

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
