"""All public results of one revision of the database, in memory and immutable.

Sorting and filtering work on arrays of one number a codec, made when first asked for; a row of the board is only made
for a codec that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import get_args

from sqlalchemy.orm import Session

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.server.board.entries import BoardEntry, by_codec
from codec_superb.server.board.frames import ResultFrame
from codec_superb.server.board.kinds import is_fit, kind_of, usual_kind
from codec_superb.server.board.mixed import united
from codec_superb.server.board.published import published_entries
from codec_superb.server.board.repository import changed_since, counted_submissions, load_entries, revision_number
from codec_superb.server.http.single_flight import SingleFlightCache
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.senders import ENOUGH
from codec_superb.web.site.board.choices import SourceFilter
from codec_superb.web.site.whose import ShownSource

_FrameKey = tuple[Category, str, SourceFilter, str]
_MOST_RANKED = 400
"""Choices of filters and metric whose ranks, or rows of the front, are kept: up to 30 kB each with 2,000 codecs, and
1 kB a row that was shown."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The public state of one revision."""

    revision: int
    runs: tuple[BoardEntry, ...]
    """Newest public submission of each codec, by name."""
    before: dict[_FrameKey, ResultFrame] = field(default_factory=dict)
    """Frames of the previous snapshot; each is dropped once the new frame has been made from it."""
    preferred: ShownSource = "runs"
    """What the maintainer wants to be shown where nobody chose a source."""
    confirmed: tuple[BoardEntry, ...] = ()
    """Of codecs whose newest one nobody ran again, the one that was, for the verified ones."""
    behind: tuple[BoardEntry, ...] = ()
    """Further verified ones under names that nobody owns, of each the best first: shown where the others lack a dataset
    or figures, and counted, so that nobody undoes what was run again by a run on other datasets. Then of each the
    self-reported ones of further accounts, among all submissions alone: what was run on one dataset hides none of
    another."""
    ranked: SingleFlightCache = field(default_factory=lambda: SingleFlightCache(_MOST_RANKED))
    """Ranks and fronts of ``server/leaderboard`` for this revision."""
    _frames: dict[_FrameKey, ResultFrame] = field(default_factory=dict)
    _datasets: dict[tuple[SourceFilter, Category | None], tuple[str, ...]] = field(default_factory=dict)
    _defaults: dict[tuple[Category, str], SourceFilter] = field(default_factory=dict)
    _narrowed: list[Snapshot] = field(default_factory=list)
    _lock: RLock = field(default_factory=RLock)

    def default_source(self, category: Category, metric: str = SCORE_KEY) -> SourceFilter:
        """Return the source whose results of a category are shown where nobody chose one, ranked by ``metric``."""
        key = category, metric if metric in APPLICATIONS else SCORE_KEY
        found = self._defaults.get(key)
        if found is None:
            usual = self.usual_source(lambda entry: entry.is_ranked_on(category, key[1]))
            found = self._defaults[key] = usual if self.runs else "table3"
        return found

    def usual_source(self, has: Callable[[BoardEntry], bool]) -> ShownSource:
        """Return ``verified`` where the maintainer wants that and enough codecs were run again that ``has`` is true of.

        On whatever datasets and by whatever models: who could bring these apart would bring the others' word back.
        """
        if self.preferred != "verified":
            return "runs"
        return "verified" if len(self.of("verified").each(has)) >= ENOUGH else "runs"

    def each(self, has: Callable[[BoardEntry], bool]) -> Sequence[BoardEntry]:
        """Return of each codec the submission that stands where ``has`` is true of it, else one behind it; by name."""
        return by_codec([*{entry.codec: entry for entry in reversed(self.having(has))}.values()])

    def having(self, has: Callable[[BoardEntry], bool]) -> list[BoardEntry]:
        """Return the submissions that stand, and those behind them, of which ``has`` is true, in that order."""
        return [entry for entry in (*self.runs, *self.behind) if has(entry)]

    def of(self, source: ShownSource) -> Snapshot:
        """Return the same with the submissions of a source alone."""
        if source == "runs":
            return self
        with self._lock:
            if not self._narrowed:
                own = tuple(self.entries(source))
                behind = tuple(entry.verified_part or entry for entry in self.behind if entry.source == source)
                self._narrowed.append(Snapshot(self.revision, own, preferred=self.preferred, behind=behind))
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
            return self.each(lambda entry: entry.source == source)
        return published_entries()[source]

    def on(self, category: Category, dataset: str, key: str) -> Sequence[BoardEntry]:
        """Return of each codec the submission that stands on a dataset; '' for all datasets together.

        One behind it goes before it that rests on what ranks by ``key`` rest on, where it does not, and one that has a
        value where it has none: a true run on a further dataset, which stands in front of others, would take their rank
        with it.
        """
        standing = self.each(lambda entry: (category, dataset) in entry.figures)
        if not self.behind:
            return standing
        valued = self.having(lambda entry: entry.has_value(key, category, dataset))
        told = [(kind_of(entry, category, dataset, key), entry) for entry in valued]
        usual = usual_kind(told, category, dataset, key)
        whole = [entry for kind, entry in told if kind == usual and is_fit(entry, category, dataset)]
        first = {entry.codec: entry for entry in (*reversed(valued), *reversed(whole))}
        return [first.get(entry.codec, entry) for entry in standing]

    def frame(self, category: Category, dataset: str, source: SourceFilter, metric: str = SCORE_KEY) -> ResultFrame:
        """Return the arrays of a category, dataset ('' for all) and source, of the entries that ``metric`` is of."""
        key = (category, dataset, source, metric if self.behind else SCORE_KEY)
        with self._lock:
            found = self._frames.get(key)
            if found is None:
                found = self._frames[key] = self._new_frame(*key)
        return found

    def _new_frame(self, category: Category, dataset: str, source: SourceFilter, metric: str) -> ResultFrame:
        before = self.before.pop((category, dataset, source, metric), None)
        candidates: Sequence[BoardEntry] = ()
        if source == "runs" or source == "verified":  # noqa: PLR1714 -- which mypy understands
            own = self.of(source)
            entries, candidates = own.on(category, dataset, metric), (*own.runs, *own.behind)
        elif source == "all":
            entries = united(self.entries(source), category, dataset)
        else:
            entries = self.entries(source)
        if metric != SCORE_KEY:  # mostly the same entries: each revision makes frames anew
            usual = self.frame(category, dataset, source)
            if [*map(id, usual.entries)] == [*map(id, entries)]:
                return usual
        return ResultFrame(category, dataset, entries, before, candidates)

    def frames(self) -> dict[_FrameKey, ResultFrame]:
        """Return the frames made so far, and those of the previous snapshot that have not been replaced."""
        with self._lock:
            return {**self.before, **self._frames}

    def datasets(self, source: SourceFilter, category: Category | None = None) -> tuple[str, ...]:
        """Names of the datasets on which a codec of the source has figures, sorted."""
        found = self._datasets.get((source, category))
        if found is None:
            wanted = CATEGORIES if category is None else (category,)
            shown = next((each for each in get_args(ShownSource) if each == source), None)
            behind = self.of(shown).behind if shown else ()
            entries = (*self.entries(source), *behind)
            names = {name for entry in entries for of, name in entry.figures if name and of in wanted}
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
    statuses |= {submission: "verified" for entry in counted.values() for submission in entry.run_again}
    reported = {submission: "self-reported" for entry in counted.values() for submission in entry.reported}
    statuses |= reported
    kept = _kept_entries(before, statuses, changed_since(session, before.revision) if before else ())
    loaded = load_entries(session, [submission for submission in statuses if submission not in kept])
    entries = by_codec([*kept.values(), *loaded])
    runs = tuple(entry for entry in entries if entry.submission == counted[entry.codec].submission)
    confirmed = tuple(entry for entry in entries if entry.submission == counted[entry.codec].confirmed)
    by_id = {entry.submission: entry for entry in entries}
    others = (*(other for each in counted.values() for other in each.behind), *reported)
    behind = tuple(by_id[other] for other in others if other in by_id)
    found = Snapshot(revision, runs, before.frames() if before else {}, preferred, confirmed, behind)
    if before is None:
        for category in CATEGORIES:
            found.frame(category, "", found.default_source(category)).warm_usual()
    for (category, dataset, source, metric), frame in (before.frames() if before else {}).items():
        # a frame over all datasets costs up to half a second with 2,000 codecs; those of single datasets, of which
        # there may be hundreds, are made when somebody asks
        if not dataset:
            found.frame(category, dataset, source, metric).warm(frame)
    return found


def _kept_entries(
    before: Snapshot | None, statuses: Mapping[str, str], changed: Collection[str]
) -> dict[str, BoardEntry]:
    """Entries by submission that still count with the status they had, and of which nothing was written down since."""
    return {
        entry.submission: entry
        for entry in ((*before.runs, *before.confirmed, *before.behind) if before else ())
        if entry.submission is not None
        and statuses.get(entry.submission) == entry.source
        and entry.submission not in changed
    }
