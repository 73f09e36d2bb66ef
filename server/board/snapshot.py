"""All public results of one revision of the database, in memory and immutable.

Sorting and filtering work on arrays of one number a codec, made when first asked for; a row of the board is only made
for a codec that is shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.server.board.entries import BoardEntry, CodecFigures, by_codec, most_undefined
from codec_superb.server.board.mixed import united
from codec_superb.server.board.published import published_entries, published_entry
from codec_superb.server.board.repository import changed_since, counted_submissions, load_entries, revision_number
from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.rows import CardFacts, ProbeModel
from codec_superb.web.site.board.choices import SourceFilter
from codec_superb.web.site.whose import ShownSource

Numbers = NDArray[np.float64]
_PARTS = {"low": 1, "high": 2}
"""Positions of the ends of an interval in a metric's figures."""
_States = tuple[tuple[str, str], ...]
"""Datasets, each with its state."""
T = TypeVar("T")
_MOST_RANKED = 400
"""Choices of filters and metric whose ranks, or rows of the front, are kept: up to 30 kB each with 2,000 codecs, and
1 kB a row that was shown."""


class ResultFrame:
    """The codecs of one source that have figures in a category, over all datasets or on one, with arrays of them."""

    def __init__(
        self, category: Category, dataset: str, entries: Iterable[BoardEntry], before: ResultFrame | None = None
    ) -> None:
        """Collect the figures; what is unchanged since ``before``, the same frame of an older snapshot, is reused."""
        self.category = category
        self.dataset = dataset
        self.entries = [entry for entry in entries if (category, dataset) in entry.figures]
        """In the order of their names."""
        self.figures: list[CodecFigures] = [entry.figures[category, dataset] for entry in self.entries]
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
        return self._kept(f"combinations {key}", lambda: self._combinations_for(key))

    def _combinations_for(self, key: str) -> Combinations:
        if key in APPLICATIONS:
            return _combinations([self._answered(key, i) for i in range(len(self))])
        behind = [entry.definitions_behind(key, self.category) for entry in self.entries]
        states = [tuple(zip(one.datasets, one.states, strict=True)) for one in self.figures]
        return _combinations(list(zip(states, behind, strict=True)))

    def _answered(self, key: str, index: int) -> tuple[_States, ProbeModel | None]:
        """On which dataset an application was run, and which model answered, asked in which way."""
        entry, figures = self.entries[index], self.figures[index]
        row = entry.application(key, self.category, self.dataset)
        if row is None:
            return (), None
        if row.codec != entry.codec:  # taken over from a table: it rests on the table's datasets
            figures = published_entry(row.codec).figures[self.category, self.dataset]
        states = dict(zip(figures.datasets, figures.states, strict=True))
        names = (row.numbers.dataset,) if row.numbers.dataset else figures.datasets
        return tuple((name, states.get(name, "")) for name in names), row.model

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
    """Each in words, by which ties are broken: those of a score or a metric as a chart's front has them (``On``)."""


def _combinations(states_and_definitions: Sequence[tuple[_States, Hashable]]) -> Combinations:
    known: dict[tuple[_States, Hashable], int] = {}
    numbers = [
        known.setdefault((tuple(sorted(states)), behind), len(known)) for states, behind in states_and_definitions
    ]
    return Combinations(
        np.array(numbers, np.int64),
        tuple(tuple(name for name, _ in pairs) for pairs, _ in known),
        tuple(tuple(state for _, state in pairs) for pairs, _ in known),
        tuple(
            str((tuple(name for name, _ in pairs), (*(state for _, state in pairs), *behind)))
            if isinstance(behind, tuple) else str([name for name, _ in pairs])
            for pairs, behind in known
        ),
    )  # fmt: skip


def _number(value: float | None) -> float:
    return math.nan if value is None else value


ENOUGH = 3
"""Codecs that were run again from which a page shows these alone: fewer are no comparison, and hid all the others."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The public state of one revision."""

    revision: int
    runs: tuple[BoardEntry, ...]
    """Newest public submission of each codec, by name."""
    before: dict[tuple[Category, str, SourceFilter], ResultFrame] = field(default_factory=dict)
    """Frames of the previous snapshot; each is dropped once the new frame has been made from it."""
    preferred: ShownSource = "runs"
    """What the maintainer wants to be shown where nobody chose a source."""
    confirmed: tuple[BoardEntry, ...] = ()
    """Of codecs whose newest one nobody ran again, the one that was (``Counted.confirmed``), for the verified ones."""
    ranked: SingleFlightCache = field(default_factory=lambda: SingleFlightCache(_MOST_RANKED))
    """Ranks and fronts of ``server/leaderboard`` for this revision."""
    _frames: dict[tuple[Category, str, SourceFilter], ResultFrame] = field(default_factory=dict)
    _datasets: dict[tuple[SourceFilter, Category | None], tuple[str, ...]] = field(default_factory=dict)
    _defaults: dict[tuple[Category, str], SourceFilter] = field(default_factory=dict)
    _narrowed: list[Snapshot] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def default_source(self, category: Category, metric: str = SCORE_KEY) -> SourceFilter:
        """Return the source whose results of a category are shown where nobody chose one, ranked by ``metric``."""
        key = category, metric if metric in APPLICATIONS else SCORE_KEY
        found = self._defaults.get(key)
        if found is None:
            usual = self.usual_source(lambda entry: entry.ranked_on(category, key[1]))
            found = self._defaults[key] = usual if self.runs else "table3"
        return found

    def usual_source(self, alike: Callable[[BoardEntry], Hashable]) -> ShownSource:
        """Return ``verified`` where the maintainer wants that and enough codecs were run again that stand together.

        ``alike`` names what is compared of a codec; None where nothing is.
        """
        counts = Counter(kind for entry in self.entries("verified") if (kind := alike(entry)) is not None)
        enough = self.preferred == "verified" and max(counts.values(), default=0) >= ENOUGH
        return "verified" if enough else "runs"

    def of(self, source: ShownSource) -> Snapshot:
        """Return the same with the submissions of a source alone."""
        if source == "runs":
            return self
        with self._lock:
            if not self._narrowed:
                self._narrowed.append(Snapshot(self.revision, tuple(self.entries(source)), preferred=self.preferred))
        return self._narrowed[0]

    def entries(self, source: SourceFilter) -> Sequence[BoardEntry]:
        """Return the codecs of a source."""
        if source == "all":
            return (*self.runs, *(entry for table in TABLES for entry in published_entries()[table]))
        if source == "runs":
            return self.runs
        if source == "verified":
            found = [entry for entry in self.runs if entry.source == source]
            return by_codec([entry.verified_part or entry for entry in (*found, *self.confirmed)])
        if source == "self-reported":
            return [entry for entry in self.runs if entry.source == source]
        return published_entries()[source]

    def frame(self, category: Category, dataset: str, source: SourceFilter) -> ResultFrame:
        """Return the arrays of a category, dataset ('' for all) and source."""
        key = (category, dataset, source)
        with self._lock:
            found = self._frames.get(key)
            if found is None:
                before = self.before.pop(key, None)
                entries = self.entries(source)
                if source == "all":
                    entries = united(entries, category, dataset)
                found = self._frames[key] = ResultFrame(category, dataset, entries, before)
        return found

    def frames(self) -> dict[tuple[Category, str, SourceFilter], ResultFrame]:
        """Return the frames made so far, and those of the previous snapshot that have not been replaced."""
        with self._lock:
            return {**self.before, **self._frames}

    def datasets(self, source: SourceFilter, category: Category | None = None) -> tuple[str, ...]:
        """Names of the datasets on which a codec of the source has figures, sorted."""
        found = self._datasets.get((source, category))
        if found is None:
            wanted = CATEGORIES if category is None else (category,)
            names = {name for entry in self.entries(source) for of, name in entry.figures if name and of in wanted}
            found = self._datasets[source, category] = tuple(sorted(names))
        return found


def load_snapshot(session: Session, before: Snapshot | None, preferred: ShownSource = "runs") -> Snapshot:
    """Read the current state; of submissions that ``before`` holds only those are read again that changed since.

    The revision is read first: should others write meanwhile, the state is newer than its number, and the next check
    of the number reads it again.
    """
    revision = revision_number(session)
    counted = counted_submissions(session)
    statuses = {entry.submission: entry.status for entry in counted.values()}
    statuses |= {entry.confirmed: "verified" for entry in counted.values() if entry.confirmed}
    kept = _kept_entries(before, statuses, changed_since(session, before.revision) if before else ())
    loaded = load_entries(session, [submission for submission in statuses if submission not in kept])
    entries = by_codec([*kept.values(), *loaded])
    runs = tuple(entry for entry in entries if entry.submission == counted[entry.codec].submission)
    confirmed = tuple(entry for entry in entries if entry.submission == counted[entry.codec].confirmed)
    found = Snapshot(revision, runs, before.frames() if before else {}, preferred, confirmed)
    if before is None:
        for category in CATEGORIES:
            found.frame(category, "", found.default_source(category)).warm_usual()
    for (category, dataset, source), frame in (before.frames() if before else {}).items():
        # a frame over all datasets costs up to half a second with 2,000 codecs; those of single datasets, of which
        # there may be hundreds, are made when somebody asks
        if not dataset:
            found.frame(category, dataset, source).warm(frame)
    return found


def _kept_entries(
    before: Snapshot | None, statuses: Mapping[str, str], changed: Collection[str]
) -> dict[str, BoardEntry]:
    """Entries by submission that still count with the status they had, and of which nothing was written down since."""
    return {
        entry.submission: entry
        for entry in ((*before.runs, *before.confirmed) if before else ())
        if entry.submission is not None
        and statuses.get(entry.submission) == entry.source
        and entry.submission not in changed
    }
