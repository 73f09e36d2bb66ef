"""Schemas of the API's answers about understanding; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from codec_superb.server.http.api_model import ApiModel


class PublishedModelFigure(ApiModel):
    """One figure of one model on one dataset, on original recordings."""

    model: str
    dataset: str
    """Its name in UltraEval-Audio."""
    task: str
    """Of this program's tasks the one that asks the same; '' where there is none."""
    figure: str
    """As the file names it; ``(%)`` in it stands for percent."""
    value: float
    made: str
    """Date and local time of the run, ISO 8601; '' where it is not known."""
    answered: int | None
    """Clips with a result; None where it is not known."""
    failed: int | None
    """Clips that ended in an error and have no part in the figure; None where it is not known."""
    source: str
    """Where it comes from, in the maintainer's words."""


class PublishedModels(ApiModel):
    """Figures that somebody else published and a maintainer imported: the models heard originals, and are no codecs."""

    figures: list[PublishedModelFigure]
