"""The page ``/datasets``: the benchmark's datasets, where to get them, and which ones this service can check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codec_superb.metrics.table import Category
from codec_superb.web.site.page import PageContext, render


@dataclass(frozen=True, slots=True)
class DatasetView:
    """One dataset, from its manifest and from what the service knows of it."""

    name: str
    title: str
    categories: tuple[Category, ...]
    licence: str
    homepage: str | None
    citation: str | None
    """BibTeX, or plain words."""
    description: str = ""
    counts: Mapping[Category, int] = field(default_factory=dict)
    """Category to number of clips, of the state that submissions are checked against; empty where there is none."""
    published_clips: int | None = None
    """Clips that the publisher states."""
    sampling_rate: int | None = None
    """Hz; None where clips differ or the rate is not stated."""
    partition: str = ""
    """Which part of it is taken."""
    access: str = ""
    """Steps to get it."""
    manifest_hash: str = ""
    """Of the state that submissions are checked against; '' where the service cannot check any."""
    codecs: int = 0
    """Codecs with public results on it."""

    @property
    def checkable(self) -> bool:
        """Whether this service takes submissions on it."""
        return bool(self.manifest_hash)


def datasets_page(datasets: Sequence[DatasetView], page_context: PageContext) -> str:
    """Render the page: those that can be checked here first."""
    ready = [each for each in datasets if each.checkable]
    return render(
        "datasets.html.j2", page_context, ready=ready, others=[each for each in datasets if not each.checkable]
    )
