"""Schemas of the API's answers about private datasets; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from codec_superb.metrics.results import Score
from codec_superb.metrics.table import Category
from codec_superb.server.http.api_model import ApiModel
from codec_superb.web.site.private_sets import PrivateRow, PrivateSetView


class PrivateGap(ApiModel):
    """One codec in one category of a private dataset; scores and ends of intervals have three decimals."""

    private_set: str
    codec: str
    version: int
    """Of the codec's results that ``public`` is of."""
    current: bool
    """Whether that version stands on the board; False where another one came since and was not run yet."""
    source: str
    """What ``public`` rests on: ``verified``, ``self-reported``, or ``withdrawn`` since."""
    submitter: str
    """Account that sent that version, or ``anonymous``."""
    category: Category
    clips: int
    """Of the private dataset in the category, 20 or more."""
    compared_with: str
    """Name of the public dataset."""
    public: Score
    """Overall score on the public dataset."""
    private: Score
    """Overall score on the private dataset."""
    gap: Score
    """Public minus private, of unpaired clips; without a value where clips failed or there is no public score."""
    typical_gap: float | None
    """Median gap over other families with verified results; None where there are fewer than five."""
    stands_out: bool
    """The interval of the gap lies above the typical gap, and the gap three robust standard deviations above it."""

    @classmethod
    def of(cls, row: PrivateRow) -> PrivateGap:
        """Describe one row."""
        return cls(
            private_set=row.dataset, codec=row.codec, version=row.version, current=row.current, source=row.source,
            submitter=row.submitter, category=row.category, clips=row.clips,
            compared_with=row.compared_with, public=row.public, private=row.private, gap=row.gap,
            typical_gap=row.typical, stands_out=row.stands_out,
        )  # fmt: skip


class PrivateSet(ApiModel):
    """What is public of a private dataset."""

    name: str
    clips: dict[str, int]
    """Number of clips by category."""
    seconds: dict[str, float]
    """Whole seconds of sound by category, of categories with 20 clips or more."""
    compared_with: str
    """Name of the public dataset beside whose scores its own stand."""
    commitment: str
    """SHA-256 over salt and manifest hash, as text one behind the other."""
    added: str
    """ISO date."""
    rotates: str | None
    """ISO date at which another dataset takes its place; None where none is fixed."""
    retired: str | None
    """ISO date; None for one in use."""
    salt: str | None
    """None before the dataset was opened."""
    manifest_hash: str | None
    """None before the dataset was opened."""

    @classmethod
    def of(cls, view: PrivateSetView) -> PrivateSet:
        """Describe one."""
        return cls(
            name=view.name, clips=dict(view.counts), seconds=dict(view.seconds), compared_with=view.compared_with,
            commitment=view.commitment, added=view.added, rotates=view.rotates or None, retired=view.retired or None,
            salt=view.salt or None, manifest_hash=view.manifest_hash or None,
        )  # fmt: skip


class PrivateSets(ApiModel):
    """All private datasets, those in use first, and the codecs that were run on them."""

    sets: list[PrivateSet]
    gaps: list[PrivateGap]


class CodecPrivate(ApiModel):
    """One codec on private datasets."""

    codec: str
    gaps: list[PrivateGap]
    """Of the version that stands on the board, or else the last that was run; empty where none was."""
