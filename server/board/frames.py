"""Arrays of one number a codec, by which a board is sorted and filtered; made when first asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import METRICS, Category
from codec_superb.server.board.entries import BoardEntry, CodecFigures, most_undefined
from codec_superb.server.board.kinds import Kind, in_words, kind_of, usual_kind
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import CardFacts

Numbers = NDArray[np.float64]
_PARTS = {"low": 1, "high": 2}
"""Positions of the ends of an interval in a metric's figures."""
T = TypeVar("T")


class ResultFrame:
    """The codecs of one source that have figures in a category, over all datasets or on one, with arrays of them."""

    def __init__(
        self, category: Category, dataset: str, entries: Iterable[BoardEntry], before: ResultFrame | None = None,
        candidates: Sequence[BoardEntry] = (),
    ) -> None:  # fmt: skip
        """Collect the figures; what is unchanged since ``before``, the same frame of an older snapshot, is reused.

        ``candidates`` are all results of the codecs, where some have several.
        """
        self.category = category
        self.dataset = dataset
        self.entries = [entry for entry in entries if (category, dataset) in entry.figures]
        """In the order of their names."""
        self.figures: list[CodecFigures] = [entry.figures[category, dataset] for entry in self.entries]
        self.candidates = [entry for entry in candidates if (category, dataset) in entry.figures] or self.entries
        self._columns: dict[str, Any] = {}
        if before is not None:
            self._take_over(before)

    def __len__(self) -> int:
        """Return the number of codecs."""
        return len(self.entries)

    def numbers(self, key: str) -> Numbers:
        """One number a codec, NaN where it has none: a field of :class:`CodecFigures`, a metric, an application."""
        return self._kept(f"number {key}", lambda: self._numbers_at(key, range(len(self))))

    def ends(self, key: str) -> tuple[Numbers, Numbers]:
        """Lower and upper ends of the intervals of ``score``, a metric or an application; NaN where there is none."""
        low = self._kept(f"low {key}", lambda: self._ends_at(key, 1, range(len(self))))
        return low, self._kept(f"high {key}", lambda: self._ends_at(key, 2, range(len(self))))

    def texts(self, of: str) -> list[str]:
        """One text a codec: an attribute of :class:`BoardEntry`."""
        return self._kept(f"text {of}", lambda: [getattr(entry, of) for entry in self.entries])

    def flags(self, of: str) -> NDArray[np.bool_]:
        """Where an attribute of :class:`BoardEntry` is True; unknown is not."""
        return self._kept(f"flag {of}", lambda: np.array([getattr(e, of) is True for e in self.entries], np.bool_))

    def rates(self) -> tuple[int, ...]:
        """Return the sampling rates in Hz that occur, ascending."""
        return self._kept(
            "rates", lambda: tuple(sorted({e.sampling_rate for e in self.entries if e.sampling_rate is not None}))
        )

    def combinations(self, key: str) -> Combinations:
        """Which datasets, in which state, each codec was run on, and by which definitions ``key`` was computed.

        For an application: on which dataset, and which model answered in which way.
        """
        return self._kept(f"combinations {key}", lambda: _combinations(self._kind(key, e) for e in self.entries))

    def _kind(self, key: str, entry: BoardEntry) -> Kind:
        return kind_of(entry, self.category, self.dataset, key)

    def usual_kind(self, key: str) -> Kind | None:
        """Return what ranks by ``key`` rest on where some codecs have further results; None where none has."""
        if len(self.candidates) == len(self.entries):
            return None
        return self._kept(f"usual {key}", lambda: self._usual_kind(key))

    def _usual_kind(self, key: str) -> Kind | None:
        valued = (entry for entry in self.candidates if entry.has_value(key, self.category, self.dataset))
        return usual_kind(((self._kind(key, entry), entry) for entry in valued), self.category, self.dataset, key)

    def senders(self) -> NDArray[np.int64]:
        """Return a number for who sent each codec's values, in the order of the accounts' age."""
        return self._kept("senders", self._senders)

    def _senders(self) -> NDArray[np.int64]:
        names = [entry.sender for entry in self.entries]
        return np.unique(names, return_inverse=True)[1].astype(np.int64)

    def rates_behind(self, of: str, key: str) -> Numbers:
        """``kbps`` or ``tokens_per_second`` of what ``key`` was measured on: of an application the clips it heard."""
        if key not in APPLICATIONS:
            return self.numbers(of)
        return self._kept(f"behind {key} {of}", lambda: self._heard_at(of, key))

    def _heard_at(self, of: str, key: str) -> Numbers:
        rates = self.numbers(of).copy()
        for place, entry in enumerate(self.entries):
            row = entry.application(key, self.category, self.dataset)
            if row is not None and row.codec == entry.codec and (of == "kbps" or row.tokens_per_second is not None):
                rates[place] = getattr(row, of)
        return rates

    def model(self, key: str, index: int) -> str:
        """Name the model behind an application's figure; '' where there is none."""
        row = self.entries[index].application(key, self.category, self.dataset)
        return "" if row is None else row.model.name

    def quantities(self) -> tuple[str, ...]:
        """Keys of the score, the metrics and the applications of which some codec has a value."""
        return self._kept("quantities", self._present)

    def _present(self) -> tuple[str, ...]:
        wanted = (SCORE_KEY, *METRICS, *APPLICATIONS)
        there: set[str] = {key for figures in self.figures for key, v in figures.metrics.items() if v[0] is not None}
        there |= {key for entry in self.entries for key in entry.applications_on(self.category, self.dataset)}
        if any(figures.score[0] is not None for figures in self.figures):
            there.add(SCORE_KEY)
        return tuple(key for key in wanted if key in there)

    def _value(self, key: str, index: int) -> float | None:
        value: float | None
        if key in METRICS or key == SCORE_KEY or key in APPLICATIONS:
            value = self._estimate(key, index)[0]
            return value
        entry, figures = self.entries[index], self.figures[index]
        if key == "undefined":
            return most_undefined(figures)
        if key == "received":
            return None if entry.received is None else date.fromisoformat(entry.received).toordinal()
        if key in CardFacts._fields:
            value = getattr(entry.card, key)
        else:
            value = getattr(figures if key in CodecFigures._fields else entry, key)
        return value

    def _estimate(self, key: str, index: int) -> tuple[Any, ...]:
        if key in APPLICATIONS:
            row = self.entries[index].application(key, self.category, self.dataset)
            if row is None:
                return (None, None, None)
            found = row.numbers.resynthesis
            return (found.value, found.low, found.high)
        figures = self.figures[index]
        return figures.score if key == SCORE_KEY else figures.metrics.get(key, (None, None, None))

    def _numbers_at(self, key: str, positions: Iterable[int]) -> Numbers:
        return np.array([_number(self._value(key, i)) for i in positions], np.float64)

    def _ends_at(self, key: str, part: int, positions: Iterable[int]) -> Numbers:
        return np.array([_number(self._estimate(key, i)[part]) for i in positions], np.float64)

    def _take_over(self, before: ResultFrame) -> None:
        """Move the arrays of the older frame to the new positions, and read only the missing values."""
        # entries of unchanged submissions are the same objects in both snapshots
        places = {id(entry): i for i, entry in enumerate(before.entries)}
        source = np.array([places.get(id(entry), -1) for entry in self.entries], np.intp)
        fresh = np.flatnonzero(source < 0).tolist()
        # list(): another thread may still add columns to the older frame
        for name, column in list(before._columns.items()):
            kind, _, key = name.partition(" ")
            if kind not in {"number", "low", "high"} or len(before) == 0:
                continue
            moved = column[source]
            if fresh:
                read = self._numbers_at(key, fresh) if kind == "number" else self._ends_at(key, _PARTS[kind], fresh)
                moved[fresh] = read
            self._columns[name] = moved

    def warm(self, before: ResultFrame) -> None:
        """Make what the older frame had been asked for, so that no request after a revision waits for it."""
        made: dict[str, Callable[[str], Any]] = {
            "number": self.numbers, "low": self.ends, "text": self.texts, "flag": self.flags,
            "combinations": self.combinations,
        }  # fmt: skip
        for name in list(before._columns):
            kind, _, key = name.partition(" ")
            if kind in made:
                made[kind](key)
        self.warm_usual()

    def warm_usual(self) -> None:
        """Make what every first page asks for: the values that are there, with their intervals and definitions."""
        self.rates()
        for key in self.quantities():
            if key == SCORE_KEY or key in METRICS:
                self.ends(key)
                self.numbers(key)
                self.combinations(key)

    def _kept(self, name: str, make: Callable[[], T]) -> T:
        """Make a value once; two threads that do so at the same time make equal values."""
        found: T | None = self._columns.get(name)
        if found is None:
            found = self._columns[name] = make()
        return found


@dataclass(frozen=True, slots=True)
class Combinations:
    """Combinations of datasets, their states and the definitions of a quantity, numbered."""

    numbers: NDArray[np.int64]
    """That of each codec."""
    datasets: tuple[tuple[str, ...], ...]
    """Names of each combination."""
    states: tuple[tuple[str, ...], ...]
    """State of each of them."""
    texts: tuple[str, ...]
    """Each in words, by which ties are broken."""
    kinds: tuple[Kind, ...]


def _combinations(kinds: Iterable[Kind]) -> Combinations:
    known: dict[Kind, int] = {}
    numbers = [known.setdefault(kind, len(known)) for kind in kinds]
    return Combinations(
        np.array(numbers, np.int64),
        tuple(tuple(name for name, _ in pairs) for pairs, _ in known),
        tuple(tuple(state for _, state in pairs) for pairs, _ in known),
        tuple(map(in_words, known)),
        tuple(known),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
