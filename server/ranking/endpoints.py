"""The page ``/ranking``, ``/api/v1/bands`` and ``/api/v1/ranking``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, create_model

from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SOURCE_WORDS, SourceChoice
from codec_superb.server.database.session import database_of
from codec_superb.server.errors import BadRequest
from codec_superb.server.ranking.bands import BANDS
from codec_superb.server.ranking.bands_service import bands
from codec_superb.server.ranking.caches import ranking_caches
from codec_superb.server.ranking.service import Choice, ranking
from codec_superb.server.ranking.weights import ASPECTS, MOST, USUAL
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.ranking.page import ranking_page
from codec_superb.web.site.ranking.view import BandsAnswer, RankingAnswer
from codec_superb.web.site.whose import ShownSource

router = APIRouter()
_BANDS, _RANKING = TypeAdapter(BandsAnswer), TypeAdapter(RankingAnswer)
_KEYS = ("", *(band.key for band in BANDS))
_ABOUT = "Who is best in each bitrate band, and over datasets, categories and applications by weights of your own."


class _Common(BaseModel):
    """What forms send: an empty field is one that was not filled in, an unknown one a mistake."""

    model_config = ConfigDict(extra="forbid")

    source: ShownSource | None = Field(None, description=SOURCE_WORDS)
    band: Literal[_KEYS] = Field("", description="Bitrate band in kbps; all bitrates without it.")  # type: ignore[valid-type]


def _weight(name: str) -> Any:
    usual = USUAL[name]
    read = BeforeValidator(lambda given: usual if isinstance(given, str) and not given.strip() else given)
    limits = Field(usual, ge=0, le=MOST, allow_inf_nan=False, description=f"Weight of “{ASPECTS[name].label}”.")
    return Annotated[float, read], limits


_fields: dict[str, Any] = {name: _weight(name) for name in ASPECTS}
ChoiceQuery = create_model("ChoiceQuery", __base__=_Common, **_fields)
"""The parameters of a ranking, a weight an aspect."""
Chosen = Annotated[ChoiceQuery, Query()]


@router.get("/api/v1/bands", tags=["ranking"], responses={200: {"model": BandsAnswer}})
async def bands_answer(request: Request, source: SourceChoice = None) -> Response:
    """Return the winner of each bitrate band, or the codecs that cannot be told from the best."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        return UnsentAnswer(_BANDS.dump_json(_bands(request, snapshot, source)), JSON)

    return await cached(request, repr(source), make, counted=True)


@router.get("/api/v1/ranking", tags=["ranking"], responses={200: {"model": RankingAnswer}})
async def ranking_answer(request: Request, chosen: Chosen) -> Response:
    """Rank codecs over datasets, categories and applications by weights; and say what would change the winner."""
    weights = _weights(chosen)

    def make(snapshot: Snapshot) -> UnsentAnswer:
        choice = _choice(snapshot, chosen, weights)
        return UnsentAnswer(_RANKING.dump_json(_ranking(request, snapshot, choice)), JSON)

    return await cached(request, repr(chosen), make, counted=True)


@router.get("/ranking", include_in_schema=False)
async def page(request: Request, chosen: Chosen) -> Response:
    """Show the bands, the ranking and the form of its weights."""
    weights = _weights(chosen)

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        choice = _choice(snapshot, chosen, weights)
        found = _bands(request, snapshot, chosen.source)
        return ranking_page(
            found,
            _ranking(request, snapshot, choice),
            page_context,
            aspects={name: aspect.label for name, aspect in ASPECTS.items()},
            bands_offered=[("", "All bitrates"), *((band.key, band.label.capitalize()) for band in BANDS)],
            most=MOST,
        )

    return await public_page(request, "Ranking", _ABOUT, make, key=repr(chosen), counted=True)


def _weights(chosen: Any) -> dict[str, float]:
    weights: dict[str, float] = {name: getattr(chosen, name) for name in ASPECTS}
    if not any(weight > 0 for weight in weights.values()):
        raise BadRequest("expected a weight above 0, got none; give at least one of " + ", ".join(ASPECTS))
    return weights


def _choice(snapshot: Snapshot, chosen: _Common, weights: Mapping[str, float]) -> Choice:
    """Return the choice with its source: where none is chosen what the board shows of all that has a weight."""
    weighed = (ASPECTS[name] for name, weight in weights.items() if weight > 0)
    usual = {snapshot.default_source(of.category, of.quantity) for of in weighed}
    return Choice(chosen.source or ("verified" if usual == {"verified"} else "runs"), chosen.band, weights)


def _bands(request: Request, snapshot: Snapshot, source: ShownSource | None) -> BandsAnswer:
    kept = ranking_caches(request.app.state)
    with database_of(request).transaction() as session:
        return kept.once(kept.bands, (snapshot.revision, source), lambda: bands(session, snapshot, source, kept))


def _ranking(request: Request, snapshot: Snapshot, choice: Choice) -> RankingAnswer:
    with database_of(request).transaction() as session:
        return ranking(session, snapshot, choice, ranking_caches(request.app.state))
