"""The near end of a private environment: keeps one worker alive, replaces a dead one, gives up after three in a row.

Codecs (:mod:`.codec`) and the model backends of probes run on it; it knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.errors import CatalogueError, CodecUnusable
from codec_superb.base_codec.isolation.environment import ensure
from codec_superb.base_codec.isolation.errors import GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.isolation.process import WORKER, Patience, WorkerProcess

FAILURES_IN_A_ROW = 3
"""Dead workers after which no other is started: then it is not the clip."""
GUESTS = Path(__file__).with_name("guests")
Answer = TypeVar("Answer")


class GuestHost:
    """One guest in one environment; ``name`` is how errors call it."""

    def __init__(self, name: str, isolation: Isolation, description: Mapping[str, Any], kind: str = "codec") -> None:
        """Take what the guest is told about itself as ``description``; ``kind`` is a codec or a model, for people.

        Raises CatalogueError when there is no such guest.
        """
        self.name = name
        self._isolation = isolation
        self._description = dict(description)
        self._kind = kind
        self._guest = guest_file(isolation)
        self._device = "cpu"
        self._worker: WorkerProcess | None = None
        self._failures = 0

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker that runs now."""
        return self._worker

    def start(self, device: str = "cpu") -> None:
        """Build the environment where there is none, start a worker in it and open the guest's model.

        Raises EnvironmentFailed, and CodecUnusable when the model cannot be opened.
        """
        self._device = device
        self._running()

    def ask(self, question: Callable[[WorkerProcess], Answer]) -> Answer:
        """Put ``question`` to the worker, starting one where there is none.

        Raises GuestFailed, WorkerDied (the next question starts another worker), and CodecUnusable instead of starting
        a fourth worker after three died in a row.
        """
        worker = self._running()
        try:
            answer = question(worker)
        except WorkerDied:
            self._failures += 1
            self.close()
            raise
        self._failures = 0
        return answer

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.bury()

    def _running(self) -> WorkerProcess:
        if self._worker is None:
            if self._failures >= FAILURES_IN_A_ROW:
                raise CodecUnusable(
                    f"{self.name}: its worker died {self._failures} times in a row, the run stops here; the rows "
                    "of the clips say why. What is finished is kept"
                )
            self._worker = self._start()
        return self._worker

    def _start(self) -> WorkerProcess:
        python = ensure(open_lock(self._isolation.lock)).python
        program = [str(python), "-I", "-X", "utf8", str(WORKER)]
        worker = WorkerProcess(program, Patience(call=self._isolation.timeout_s), self._kind)
        try:
            worker.load(self._guest, self._description, self._device)
        except (GuestFailed, WorkerDied) as error:
            worker.bury()
            raise CodecUnusable(f"{self.name} cannot be opened: {error}") from error
        except BaseException:
            worker.bury()
            raise
        return worker


def guest_file(isolation: Isolation) -> Path:
    """Return the module that runs inside. Raises CatalogueError when there is none."""
    name = isolation.guest
    path = Path(name) if "/" in name else GUESTS / f"{name}.py"
    if not path.is_file():
        known = sorted(file.stem for file in GUESTS.glob("[a-z]*.py"))
        raise CatalogueError(f"no guest {name}: expected one of {', '.join(known)}, or a path")
    return path
