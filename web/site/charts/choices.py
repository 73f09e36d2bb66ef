"""State and content of the page of charts; the visitor's choices are in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlencode

from codec_superb.metrics.table import Category
from codec_superb.web.figures.across import Across
from codec_superb.web.figures.layout import Figure

Chart = Literal["rate", "metrics", "clips", "applications", "distribution"]
SourceChoice = Literal["", "runs", "verified", "self-reported", "table3", "tiny", "ultraeval", "all"]
"""A :data:`~codec_superb.web.site.board.choices.SourceFilter`, or nothing."""
CHARTS: Mapping[Chart, str] = MappingProxyType({
    "rate": "Bitrate and score",
    "applications": "Bitrate and applications",
    "metrics": "Metrics over codecs",
    "clips": "Metrics over clips",
    "distribution": "From clip to clip",
})  # fmt: skip
"""Labels of the tabs, by chart."""
PICKERS: Mapping[Chart, tuple[str, ...]] = MappingProxyType({
    "rate": ("category", "source", "dataset", "metric", "across"),
    "applications": ("source", "dataset", "application", "across"),
    "metrics": ("category", "source", "dataset", "method"),
    "clips": ("category", "source", "dataset", "method"),
    "distribution": ("category", "source", "dataset", "metric", "codec"),
})  # fmt: skip
"""What each chart depends on: fields of :class:`ChartState`, in the order of the form."""
MOST_CODECS = 6
ROWS_SHOWN = 100
"""Rows of a table in the page; the file has all."""


@dataclass(frozen=True, slots=True)
class ChartState:
    """What the visitor chose; what is '' is chosen by the service, where something has to be."""

    chart: Chart = "rate"
    category: Category = "speech"
    metric: str = ""
    source: SourceChoice = ""
    dataset: str = ""
    method: Literal["pearson", "spearman"] = "pearson"
    application: str = ""
    codec: tuple[str, ...] = ()
    across: Across = ""

    def query(self) -> str:
        """Write the fields that the chart depends on as a query, defaults left out."""
        usual = ChartState()
        pairs: list[tuple[str, str]] = []
        for name in PICKERS[self.chart]:
            value = getattr(self, name)
            if value != getattr(usual, name):
                pairs += [(name, part) for part in (value if isinstance(value, tuple) else (value,))]
        return urlencode(pairs)

    def only(self, chart: Chart) -> ChartState:
        """Return the state with the fields that ``chart`` depends on, the rest at their defaults."""
        return ChartState(**{"chart": chart, **{name: getattr(self, name) for name in PICKERS[chart]}})

    def page_url(self) -> str:
        """Write the address of the page."""
        return "/charts?" + "&".join(part for part in (f"chart={self.chart}", self.query()) if part)

    def data_url(self, suffix: str = "") -> str:
        """Write the address of the figure, or with ``.csv`` of its data."""
        query = self.query()
        return f"/api/v1/charts/{self.chart}{suffix}" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a picker."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Picker:
    """One choice of the form."""

    name: str
    label: str
    options: Sequence[Option]


@dataclass(frozen=True, slots=True)
class DataColumn:
    """One column of the data."""

    name: str
    """In the file."""
    label: str
    """On the page."""
    decimals: int | None = None
    """Digits of numbers on the page; None for text."""


Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class ChartData:
    """The numbers of a figure: what the table and the file hold."""

    columns: Sequence[DataColumn]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class DrawnChart:
    """A figure with its data and texts."""

    state: ChartState
    """With what the service chose."""
    title: str
    caption: str
    """What is shown, over how many, and where it comes from."""
    figure: Figure
    data: ChartData
    matrix: ChartData | None = None
    """The table of the page where it is another than that of the file."""

    @property
    def table(self) -> ChartData:
        """Return what the page shows as a table."""
        return self.matrix or self.data
