"""Which results under conditions one chart holds: equal measurements alone, by the rule of the board's ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import overall_metrics
from codec_superb.web.quantity import SCORE_KEY, Quantity
from codec_superb.web.rows import ConditionResult, ProbeModel
from codec_superb.web.senders import ENOUGH, largest, sent, sizes

WORD_ERRORS = "asr_wer_pct"


class Measured(NamedTuple):
    """What equal measurements of a quantity share."""

    on: tuple[tuple[str, str], ...]
    """Datasets, each with its state."""
    by: ProbeModel | tuple[str | None, ...]
    """The model that answered; of a score or a metric the versions of the definitions behind it."""

    @property
    def words(self) -> str:
        """Name datasets and model."""
        model = f", by {self.by.name}" if isinstance(self.by, ProbeModel) else ""
        return f"on {', '.join(name for name, _ in self.on)}{model}"

    def apart(self, drawn: Measured) -> str:
        """Say in what it differs from what is ``drawn``; '' where it is the same."""
        if self.on != drawn.on:
            names, others = ([name for name, _ in each.on] for each in (self, drawn))
            return "on another state of a dataset" if names == others else f"on {', '.join(names)}"
        if self.by == drawn.by:
            return ""
        if not isinstance(self.by, ProbeModel) or not isinstance(drawn.by, ProbeModel):
            return "by another version of its definition"
        model = self.by.name
        return f"by {model}" if model != drawn.by.name else f"{model} was asked in another way"


def value_of(row: ConditionResult, quantity: Quantity) -> Estimate | None:
    """Return the value of a row; None where it has none."""
    if quantity.key == WORD_ERRORS:
        found = None if row.word_errors is None else row.word_errors.value
    else:
        found = quantity.of(row.result)
    return None if found is None or found.mean is None else found


def measured(row: ConditionResult, quantity: Quantity) -> Measured:
    """Say how the quantity of a row was measured."""
    summary, heard = row.result.summary, row.word_errors
    names: tuple[str, ...] = tuple(summary.datasets)
    by: ProbeModel | tuple[str | None, ...]
    if quantity.key == WORD_ERRORS and heard is not None:
        names, by = (heard.numbers.dataset,) if heard.numbers.dataset else names, heard.model
    else:
        keys = overall_metrics(summary.category) if quantity.key == SCORE_KEY else (quantity.key,)
        by = tuple(row.result.definitions.get(key) for key in keys)
    return Measured(tuple((name, row.result.states.get(name, "")) for name in sorted(names)), by)


def usual(rows: Sequence[ConditionResult], quantity: Quantity) -> Measured | None:
    """Choose what most senders have; None without a value.

    Of equal ones what somebody ran again, then what is complete, what the oldest account has, of most codecs, of most
    results, on more datasets, the first by name. Incomplete results have a vote too: under bit errors clips of honest
    codecs fail. Where enough codecs were run again these alone choose, by :func:`largest`.
    """
    valued = [(measured(row, quantity), row) for row in rows if value_of(row, quantity)]
    again = [(kind, row) for kind, row in valued if _is_proved(row, quantity)]
    if len({row.result.codec for _, row in again}) >= ENOUGH:
        valued = again
    # a codec under thirty strengths is one
    votes = dict.fromkeys((kind, _sender(row, quantity), row.result.codec) for kind, row in valued)
    counts = sent((kind, sender) for kind, sender, _ in votes)
    found = Counter(kind for kind, _ in valued)
    proved = {kind for kind, row in valued if _is_proved(row, quantity)}
    whole = {kind for kind, row in valued if row.result.summary.complete}

    def order(kind: Measured) -> tuple[object, ...]:
        own = counts[kind]
        by_votes = (kind not in proved, kind not in whole, own.first, -own.found, -found[kind])
        return *by_votes, -len(kind.on), kind.on, repr(kind.by)

    if valued is again:
        return largest(sizes(votes), order)
    return min(counts, key=lambda kind: (-counts[kind].senders, *order(kind)), default=None)


def _is_proved(row: ConditionResult, quantity: Quantity) -> bool:
    """Whether somebody ran the figure again."""
    by_figure = quantity.key == WORD_ERRORS and row.word_errors is not None and row.word_errors.run_again is False
    return row.source == "verified" and not by_figure


def _sender(row: ConditionResult, quantity: Quantity) -> str:
    """Name who counts once."""
    by_figure = row.word_errors.sender if quantity.key == WORD_ERRORS and row.word_errors else ""
    return by_figure or row.result.sender or f"codec:{row.result.codec}"


def comparable(
    rows: Sequence[ConditionResult], clean: Sequence[ConditionResult], quantity: Quantity
) -> list[ConditionResult]:
    """Return the ``clean`` results and ``rows`` of which the quantity can be drawn in one chart."""
    chosen = usual(rows, quantity)
    alike = [row for row in (*clean, *rows) if value_of(row, quantity) and measured(row, quantity) == chosen]
    return with_clean([row for row in alike if not row.of.kind], [row for row in alike if row.of.kind])


def with_clean(clean: Sequence[ConditionResult], rows: Sequence[ConditionResult]) -> list[ConditionResult]:
    """Return ``rows`` behind the ``clean`` results on the very clips of one of them of the same codec."""
    on = {(row.result.codec, row.clips) for row in rows if row.clips is not None}
    return [*(row for row in clean if (row.result.codec, row.clips) in on), *rows]
