"""Endpoints for monitoring: liveness (/healthz), readiness (/readyz) and Prometheus metrics (/metrics-internal)."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from codec_superb.server.database.session import database_of
from codec_superb.server.errors import Unavailable
from codec_superb.server.operations.meters import meters
from codec_superb.server.operations.readiness import problems
from codec_superb.server.people.access import Caller

router = APIRouter(include_in_schema=False)
_NEVER_KEPT = {"Cache-Control": "no-store"}


@router.get("/healthz")
async def healthz(response: Response) -> dict[str, str]:
    """Answer that the process is alive; the database is not checked, so that its loss does not restart the service."""
    response.headers.update(_NEVER_KEPT)
    return {"status": "alive"}


@router.get("/readyz")
def readyz(request: Request, response: Response) -> dict[str, str]:
    """Answer whether an upload would work now; 503 with the reasons otherwise."""
    found = problems(database_of(request), request.app.state.settings)
    if found:
        raise Unavailable("the service is not ready", problems=found, headers=_NEVER_KEPT)
    response.headers.update(_NEVER_KEPT)
    return {"status": "ready"}


@router.get("/metrics-internal")
def metrics_internal(request: Request, caller: Caller) -> Response:
    """Return the metrics for Prometheus: to tokens of scope ``metrics``, or to anybody where the settings allow it."""
    if not request.app.state.settings.internal_metrics:
        caller.require("metrics")
    return Response(meters(request.app).exposition(), media_type=CONTENT_TYPE_LATEST, headers=_NEVER_KEPT)
