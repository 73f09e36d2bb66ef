"""What the service is told about a folder of runs; who reads the folder is not the service, which runs no stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from codec_superb.server.datasets.service import DatasetFacts

State = Literal["finished", "unfinished", "broken"]


@dataclass(frozen=True, slots=True)
class LocalRun:
    """One run folder as it is at the moment."""

    place: str
    """Path below the folder that is shown."""
    state: State
    detail: str
    """How far it has come, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class LocalCodec:
    """The runs of one codec under one condition, which become one submission."""

    name: str
    """Unique in the folder."""
    runs: tuple[LocalRun, ...]
    stamp: str
    """Changes whenever a finished run of it does; '' while none is finished."""


class RunsFolder(Protocol):
    """A folder of runs; nothing in it is ever changed."""

    @property
    def place(self) -> str:
        """Path, for people."""

    def look(self) -> Sequence[LocalCodec]:
        """Find all runs, cheaply: only files that have changed since the last call are read."""

    def pack(self, codec: LocalCodec, out: Path) -> str:
        """Write the submission of its finished runs to ``out``; return '' or what it lacks.

        Raises an error whose text says why it cannot be shown.
        """

    def unknown_datasets(self, codec: LocalCodec, known: dict[str, str]) -> Sequence[DatasetFacts]:
        """Describe the datasets of its finished runs that are not in ``known`` (name to manifest hash)."""
