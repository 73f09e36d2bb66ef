"""What the parameters and the answers of the API have in common."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict

from codec_superb.web.figures.across import Across

AcrossChoice = Annotated[Across, Query(description="Against bitrate, or `tokens` a second")]


class ApiModel(BaseModel):
    """Base of the answers: the text under a field is its description in ``/api/docs``."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class FigureAnswer(ApiModel):
    """A Plotly figure in the colours of the light palette."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
