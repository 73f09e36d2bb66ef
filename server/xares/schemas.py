"""Schemas of the API's answers about frozen encoders; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from codec_superb.metrics.results import Score
from codec_superb.server.http.api_model import ApiModel
from codec_superb.web.site.whose import ShownSource


class XaresFigure(ApiModel):
    """One figure of one encoder, or of one codec's sound heard by an encoder."""

    reader: str
    """What reads the frames: figures of two are never compared."""
    kind: Literal["encoder", "codec as encoder", "resynthesis"]
    title: str
    """Of the encoder or the codec."""
    encoder: str
    """Whose frames are read."""
    encoder_sha256: str
    """Of the encoder's files; '' where it is not known."""
    settings: Mapping[str, str]
    """How a submission says it was asked."""
    own: str
    """In what encoder or settings differ from those that most senders have under the same name; '' for the usual."""
    mode: str
    """What the decoder was trained on: ``references``, ``matched CODEC``, ``shuffled labels`` (a control)."""
    figure: str
    dataset: str
    value: float
    """Mean over seeds, in the figure's unit."""
    seeds: Sequence[float]
    """Value of each decoder."""
    clips: Score
    """Value and 95 % interval by clips, of the first decoder."""
    n: int
    failed: int
    apart: bool
    """Its submission says something else of the originals than those that agree: elsewhere it has no rank."""
    bits_per_s: float | None
    """Measured, of a codec as encoder nominal; None of continuous frames, and where it is not known."""
    frames_per_s: float | None
    numbers_per_s: float | None
    """Frames a second times numbers of a frame."""
    constrained: float | None
    """With the likeliest class in place of what is written."""
    unread: float | None
    """Percent of answers in which no class was found, which count as wrong; None where that is not known."""
    source: str


class XaresAnswer(ApiModel):
    """What one reader reads."""

    source: ShownSource
    """Of which submissions."""
    reader: str
    """'' without any result."""
    readers: Sequence[str]
    """All that can be asked for."""
    figures: Sequence[XaresFigure]


class PublishedTeam(ApiModel):
    """One row of a published board, in percent."""

    team: str
    average: float
    """As published."""
    computed: float
    """Average of its row."""
    figures: Mapping[str, float]
    """By task, as published; on track B two are means over tasks (``public``, ``hidden``)."""


class PublishedBoard(ApiModel):
    """One track."""

    track: Literal["a", "b"]
    title: str
    definition: str
    teams: Sequence[PublishedTeam]
    baselines: Mapping[str, Mapping[str, float]]
    """Figures of the publisher's own encoders on the public tasks, in percent."""


class PublishedBoards(ApiModel):
    """The published encoders: they heard originals, and are no codecs."""

    citation: str
    url: str
    date: str
    differs: Sequence[str]
    boards: Sequence[PublishedBoard]
