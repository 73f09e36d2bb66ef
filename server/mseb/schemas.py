"""Schemas of the API's answers about MSEB; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from codec_superb.metrics.results import Score
from codec_superb.server.http.api_model import ApiModel
from codec_superb.server.leaderboard.schemas import ApplicationAnswer
from codec_superb.web.site.whose import ShownSource


class SuperTask(ApiModel):
    """One super task on the dataset: the figure and the model that most codecs have."""

    task: str
    """``retrieval``, ``reranking``, …"""
    figure: str
    model: str
    reference: Score
    """On the original sound, over the most clips of any codec."""
    oracle: Score | None
    """With the true transcripts in place of the sound; None where there is none."""


class CodecFigures(ApiModel):
    """A codec's figures of MSEB on the dataset."""

    codec: str
    kbps: float | None
    """Measured on what all its figures were; null where that is sound at several bitrates, which each of them has."""
    figures: dict[str, ApplicationAnswer]


class MsebAnswer(ApiModel):
    """The codecs on one dataset."""

    source: ShownSource
    """Of which submissions."""
    dataset: str
    """'' for figures over several datasets."""
    datasets: list[str]
    """All that can be asked for."""
    tasks: list[SuperTask]
    codecs: list[CodecFigures]


class Extreme(ApiModel):
    """An end of the range over locales."""

    locale: str
    """'' for a task without locales."""
    value: float


class PublishedFigure(ApiModel):
    """One metric of one encoder on one task of MSEB."""

    encoder: str
    task: str
    """Without its locale."""
    type: str
    sub_task: str
    metric: str
    mean: float
    """Unweighted over the locales that there are; a share of 1, an error rate may be above 1."""
    lowest: Extreme
    highest: Extreme
    locales: int
    """With a row."""
    missing: list[str]
    """Without one: they are no 0."""
    source: str
    """Where a maintainer imported it from; '' of what MSEB published."""


class PublishedAnswer(ApiModel):
    """The published encoders: they heard originals, and are no codecs."""

    citation: str
    url: str
    date: str
    """Of the state that was carried over."""
    differs: list[str]
    figures: list[PublishedFigure]
