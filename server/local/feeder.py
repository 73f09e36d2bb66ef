"""Watches a folder of runs and keeps the board as it is: new runs are stored, changed ones again, removed ones end."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request
from sqlalchemy import select

from codec_superb.server.database.models import Dataset
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import add
from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.local_file import identity_of_account, reason_of, take_file
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.local.runs import LocalCodec, RunsFolder
from codec_superb.server.moderation.service import decide
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.people.access import Identity
from codec_superb.server.settings import Settings

_LOG = get_logger(__name__)
ACCOUNT = "runs on this machine"
WAITING = "is being packed and checked"
LOOK_SECONDS = 2.0
"""Seconds between two looks into the folder; a look reads the times of a few files per run."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A codec of the folder as the page of local runs lists it."""

    codec: LocalCodec
    receipt: Receipt | None
    """None where no finished run of it is on the board."""
    note: str = ""
    """Why it is not on the board, or what it lacks there."""


class Feeder:
    """Keeps one service as one folder is."""

    def __init__(self, settings: Settings, database: Database, checker: Checker, folder: RunsFolder) -> None:
        self.place = folder.place
        self._settings, self._database, self._checker, self._folder = settings, database, checker, folder
        self._shown: dict[str, Shown] = {}
        self._caller: Identity | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="local runs", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, after the codec that is being stored."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def shown(self) -> list[Shown]:
        """All codecs of the last look, by name."""
        shown = self._shown  # replaced as a whole by the thread that watches
        return [shown[name] for name in sorted(shown)]

    def refresh(self) -> None:
        """Look once and store what has changed."""
        found = {codec.name: codec for codec in self._folder.look()}
        for name in self._shown.keys() - found.keys():
            self._withdraw(self._shown[name].receipt, "its runs were removed")
            self._shown = {key: value for key, value in self._shown.items() if key != name}
        new = {name: Shown(codec, None, WAITING if codec.stamp else "") for name, codec in found.items()}
        self._shown = {**new, **self._shown}
        for name, codec in found.items():
            before = self._shown[name]
            if before.codec.stamp == codec.stamp and before.note != WAITING:
                after = Shown(codec, before.receipt, before.note)
            else:
                after = self._taken(codec, before)
            self._shown = {**self._shown, name: after}
            if self._stopped.is_set():
                return

    def _watch(self) -> None:
        while not self._stopped.is_set():
            try:
                self.refresh()
            except Exception as error:  # noqa: BLE001 -- the board stays as it was; the next look may succeed
                _LOG.warning("local.look_failed", error=f"{type(error).__name__}: {error}")
            self._stopped.wait(LOOK_SECONDS)

    def _taken(self, codec: LocalCodec, before: Shown) -> Shown:
        """Put a codec onto the board as it is now; what was there of it before is taken back."""
        previous = before.receipt
        try:
            receipt, note = self._store(codec) if codec.stamp else (None, "")
        except Unavailable:  # the checker is busy or starts anew: the next look tries again
            return Shown(codec, previous, WAITING)
        except Exception as error:  # noqa: BLE001 -- a run that cannot be shown is listed with the reason
            receipt, note = None, reason_of(error)
            _LOG.warning("local.not_shown", runs=codec.name, error=f"{type(error).__name__}: {error}")
        if previous is not None and (receipt is None or receipt.id != previous.id):
            self._withdraw(previous, "the run has changed")
        return Shown(codec, receipt, note)

    def _store(self, codec: LocalCodec) -> tuple[Receipt, str]:
        if self._caller is None:
            self._caller = identity_of_account(self._database, ACCOUNT)
        with tempfile.TemporaryDirectory(dir=self._settings.storage) as folder:
            file = Path(folder) / "runs.zip"
            note = self._folder.pack(codec, file)
            self._add_datasets(codec)
            receipt, _ = take_file(self._database, self._settings, self._checker, file, self._caller, public=False)
        if receipt.status == "withdrawn":  # the folder is again as it was once
            with self._database.transaction(write=True) as session:
                decide(session, receipt.id, "accept", "the run is there again", actor=ACCOUNT, named=False)
            receipt = receipt.model_copy(update={"status": "self-reported"})
        return receipt, note

    def _add_datasets(self, codec: LocalCodec) -> None:
        with self._database.transaction() as session:
            query = select(Dataset.name, Dataset.manifest_hash).where(Dataset.current)
            known = {row.name: row.manifest_hash for row in session.execute(query)}
        if unknown := self._folder.unknown_datasets(codec, known):
            with self._database.transaction(write=True) as session:
                for facts in unknown:
                    add(session, facts, actor=ACCOUNT)

    def _withdraw(self, receipt: Receipt | None, reason: str) -> None:
        """Take a submission back, unless other runs of the folder are the same one, as copies are."""
        if receipt is None:
            return
        if sum(shown.receipt is not None and shown.receipt.id == receipt.id for shown in self._shown.values()) == 1:
            with self._database.transaction(write=True) as session:
                decide(session, receipt.id, "withdraw", reason, actor=ACCOUNT)


def feeder_of(request: Request) -> Feeder:
    """Return the feeder of the running service."""
    feeder: Feeder = request.app.state.feeder
    return feeder
