"""What the leaderboard page shows and what its visitor chose: plain typed rows, shared by page, charts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from codec_superb.metrics.table import Category
from codec_superb.web.report_data import CodecResult

Source = Literal["verified", "published", "literature"]
"""``verified``: run again by the maintainers; ``published``: submitted and accepted; ``literature``: figures of a
paper, not re-run here."""
SourceFilter = Literal["runs", "verified", "table3", "tiny", "ultraeval", "all"]
"""``runs``: submissions, published and verified. ``table3``, ``tiny``, ``ultraeval``: one table of published figures.
``all``: everything, mixed on the visitor's demand."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One codec in one category, from a submission or from a published table."""

    result: CodecResult
    """``rank`` is that among the rows shown with the same datasets; None where it cannot be ranked."""
    source: Source
    source_label: str
    """``verified``, ``published`` or the citation of the table."""
    source_url: str | None
    submission: str | None
    """Id of the submission; None for literature."""
    received: str | None
    """ISO date on which it came."""
    submitter: str
    sampling_rate: int | None
    """Hz at which the codec works; None where a table does not say."""
    kind: str
    """``classical``, ``neural``, ``lossless``."""
    open_weights: bool | None
    """Anybody can get what it needs to run (always so for a classical codec); None where it is not known."""
    causal: bool | None
    undefined: int
    unranked: str
    """Why it has no rank; '' when it has one."""
    applications: dict[str, float] = field(default_factory=dict)
    """Application metric (``asr_wer_pct``, …) to value, where the source has it."""


@dataclass(frozen=True, slots=True)
class BoardState:
    """What the visitor chose; the whole of it is in the address. Defaults are left out of it."""

    category: Category = "speech"
    metric: str = "score"
    """Key of the quantity of the chart and of the default order: ``score`` or a metric's key."""
    source: SourceFilter = "runs"
    dataset: str = ""
    """'' for the category score over all datasets of each codec; else one dataset's results alone."""
    kbps_min: float | None = None
    kbps_max: float | None = None
    tps_min: float | None = None
    tps_max: float | None = None
    rates: tuple[int, ...] = ()
    """Sampling rates in Hz; () for any."""
    open_weights: bool = False
    """Only codecs whose weights are open."""
    causal: bool = False
    """Only causal codecs."""
    search: str = ""
    """Part of name, title or family."""
    sort: str = ""
    """Column key; '' for the order of ``metric``, best first."""
    descending: bool | None = None
    """None for the column's own best order."""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Choices:
    """What the pickers offer in this category and source."""

    datasets: Sequence[str]
    metrics: Sequence[str]
    """Keys with a value in some row."""
    rates: Sequence[int]
    sources: Sequence[tuple[SourceFilter, str, int]]
    """Filter, label, number of codecs."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """One answer of the leaderboard."""

    state: BoardState
    rows: Sequence[BoardRow]
    """Those of this page, sorted."""
    total: int
    """Rows over all pages."""
    page_size: int
    ranked_datasets: Sequence[str]
    """Datasets on which the ranks rest: the combination that most rows have."""
    choices: Choices
    revision: str
    """Changes when the public data do."""
    updated: str | None
    """ISO date of the newest submission shown."""
