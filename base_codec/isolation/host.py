"""The host side of a private environment: keeps one worker running, restarts a dead one, stops after three in a row.

Isolated codecs (:mod:`.codec`) and the model backends of probes use it; it depends on neither.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.errors import CatalogueError, CodecUnusable
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.errors import EnvironmentFailed, GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.lock import open_lock, own_file
from codec_superb.base_codec.isolation.process import WORKER, Opened, Timeouts, WorkerProcess

FAILURES_IN_A_ROW = 3
"""Dead workers in a row after which the run stops: the cause is then not a single clip."""
GUESTS = Path(__file__).with_name("guests")
Answer = TypeVar("Answer")


class GuestHost:
    """One guest in one environment; errors call it ``name``."""

    def __init__(self, name: str, isolation: Isolation, description: Mapping[str, Any], kind: str = "codec") -> None:
        """Take the guest's card or settings as ``description``; ``kind`` (codec or model) is used in messages.

        Raises CatalogueError when there is no such guest.
        """
        self.name = name
        self._isolation = isolation
        self._description = dict(description)
        self._kind = kind
        self._guest = guest_file(isolation)
        self._device = "cpu"
        self._worker: WorkerProcess | None = None
        self._owner = 0
        self._turn = threading.RLock()
        self._failures: list[str] = []
        self._deadly: set[str] = set()
        self._opened: Opened | None = None

    @property
    def weights(self) -> dict[str, str]:
        """``sha256`` and ``revision`` of the opened weights, as the worker reported them."""
        return self._opened.weights if self._opened else {}

    @property
    def batches(self) -> frozenset[str]:
        """Which of ``encode`` and ``decode`` take several clips at once, as the worker reported."""
        return self._opened.batches if self._opened else frozenset()

    @property
    def worker(self) -> WorkerProcess | None:
        """The running worker, None where there is none."""
        return self._worker

    def start(self, device: str = "cpu") -> None:
        """Build the environment where it is missing, start a worker in it and open the guest's model.

        Raises EnvironmentFailed, and CodecUnusable when the model cannot be opened.
        """
        with self._turn:
            self._device = device
            self._running()

    def restart(self) -> None:
        """Start a worker if the last one died, so that the next request's time does not include the start.

        Raises CodecUnusable instead of starting a fourth worker after three died in a row.
        """
        try:
            self.start(self._device)
        except EnvironmentFailed as error:
            raise CodecUnusable(f"{self.name}: {error}") from error

    def ask(self, question: Callable[[WorkerProcess], Answer], kind: str, clips: int = 1) -> Answer:
        """Send the request ``question`` to the worker, starting one where there is none; threads are serialised.

        ``kind`` names the request: a successful ``encode`` does not reset the count of a ``decode`` that always dies.
        A request of several ``clips`` over which a worker dies is not counted, since each is then tried by itself.
        Raises GuestFailed, WorkerDied (the next request starts another worker), and CodecUnusable as :meth:`restart`
        does.
        """
        with self._turn:
            self.restart()
            try:
                answer = question(self._running())
            except GuestFailed:
                self._lived(kind)
                raise
            except WorkerDied as error:
                if clips == 1:
                    self._failures.append(str(error))
                    # an encoder that works between two deaths of the decoder must not reset the count
                    self._deadly.add(kind)
                self.close()
                raise
            except BaseException:
                self.close()  # a late answer would be taken for the answer to the next request
                raise
            self._lived(kind)
            return answer

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None and self._owner == os.getpid():
            worker.terminate()

    def _lived(self, kind: str) -> None:
        """Reset the count of dead workers once every kind of request that killed one has succeeded since."""
        self._deadly.discard(kind)
        if not self._deadly:
            self._failures.clear()

    def _running(self) -> WorkerProcess:
        if self._owner != os.getpid():
            self._worker = None  # after a fork two processes would read from one pipe
        if self._worker is None:
            if len(self._failures) >= FAILURES_IN_A_ROW:
                raise CodecUnusable(
                    f"{self.name}: its worker died {len(self._failures)} times in a row, the run stops here; finished "
                    f"clips are kept. The last time: {self._failures[-1]}"
                )
            self._worker, self._owner = self._start(), os.getpid()
        return self._worker

    def _start(self) -> WorkerProcess:
        python = ensure_built(open_lock(self._isolation.lock, self._device)).python
        # -I (isolated mode): no PYTHON* variables, no user site-packages, no script folder on the import path.
        program = [str(python), "-I", "-X", "utf8", str(WORKER)]
        worker: WorkerProcess | None = None
        try:
            worker = WorkerProcess(program, Timeouts(call=self._isolation.timeout_s), self._kind)
            self._keep(worker.load(self._guest, self._description, self._device))
        except BaseException as error:
            if worker is not None:
                worker.terminate()
            if isinstance(error, GuestFailed | WorkerDied):
                raise CodecUnusable(f"{self.name} cannot be opened: {error}") from error
            raise
        return worker

    def _keep(self, opened: Opened) -> None:
        """Refuse a restarted worker with other weights than the one before: all rows of a run are of one model."""
        if self._opened and self._opened.weights != opened.weights:
            raise CodecUnusable(
                f"{self.name}: its weights changed while it ran, from {self._opened.weights} to {opened.weights}"
            )
        self._opened = opened


def guest_file(isolation: Isolation) -> Path:
    """Return the module that runs inside. Raises CatalogueError when there is none."""
    name = isolation.guest
    path = own_file(name, ".py") or GUESTS / f"{name}.py"
    if not path.is_file():
        known = sorted(file.stem for file in GUESTS.glob("[a-z]*.py"))
        raise CatalogueError(f"no guest {name}: expected one of {', '.join(known)}, or a path")
    return path
