"""Private datasets on the site: the page ``/private``, and rows that the page of a codec shows too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.metrics.results import Score
from codec_superb.metrics.table import Category
from codec_superb.web.site.page import PageContext, render


@dataclass(frozen=True, slots=True)
class PrivateRow:
    """One codec in one category of a private dataset, beside the public dataset that it is compared with."""

    dataset: str
    """Name of the private dataset."""
    codec: str
    title: str
    version: int
    """Of the codec's results: the one that the public score is of."""
    current: bool
    """Whether that version stands on the board; another one came since where not."""
    source: str
    """``verified``, ``self-reported`` or ``withdrawn``: what the public score rests on."""
    submitter: str
    """Account that sent it, or ``anonymous``."""
    category: Category
    clips: int
    """Of the private dataset in the category."""
    compared_with: str
    public: Score
    private: Score
    gap: Score
    """Public minus private, not paired; without a value where one of the two is incomplete."""
    complete: bool
    """No clip failed on either side."""
    typical: float | None
    """Median verified gap over the other families; None where there are fewer than five."""
    stands_out: bool
    """Larger than chance and than what is usual among codecs."""


@dataclass(frozen=True, slots=True)
class PrivateSetView:
    """What is public of a private dataset."""

    name: str
    counts: Mapping[Category, int]
    """Category to number of clips."""
    seconds: Mapping[Category, float]
    """Of categories with enough clips."""
    compared_with: str
    commitment: str
    """SHA-256 over salt and manifest hash."""
    added: str
    """ISO date."""
    rotates: str
    """ISO date; '' where none is fixed."""
    retired: str
    """ISO date; '' for one in use."""
    salt: str
    """'' before it was opened."""
    manifest_hash: str
    """'' before it was opened."""
    rows: Sequence[PrivateRow]
    """By category, the largest gap first."""


def private_page(sets: Sequence[PrivateSetView], fewest: int, page_context: PageContext) -> str:
    """Render the page; ``fewest`` clips of a category are shown at least."""
    return render("private.html.j2", page_context, sets=sets, fewest=fewest)
