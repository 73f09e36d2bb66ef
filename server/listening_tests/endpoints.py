"""The API of listening tests: which there are, their results, and every rating as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import TypeAdapter

from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached
from codec_superb.server.database.session import ReadTransaction, database_of
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.listening_tests import repository, service, summary
from codec_superb.server.listening_tests.results import analyse
from codec_superb.server.people.access import Caller
from codec_superb.server.people.limits import CountedComputation
from codec_superb.web.site.listening_tests.view import QUESTIONS, TestLine, TestResults
from codec_superb.web.spreadsheets import escape_formula

router = APIRouter(prefix="/api/v1/listening-tests", tags=["listening tests"])
TestId = Annotated[str, Path(pattern=r"^[a-z0-9]{1,12}$", description="Id of a listening test.")]
_JSON = TypeAdapter(TestResults)
HEAD = ("participant", "left_out", *QUESTIONS, "trial", "condition", "value", "seconds")
"""Columns of the CSV."""


@router.get("")
def tests(session: ReadTransaction) -> Sequence[TestLine]:
    """List the tests that people can take, and those that are over."""
    return [summary.line(session, test) for test in repository.in_states(session, ("open", "closed"))]


@router.get("/{test_id}/results", responses={200: {"model": TestResults}})
async def results(request: Request, test_id: TestId, caller: Caller) -> Response:
    """Return the results of a closed test; of another one to a token of scope `moderate`."""
    if "moderate" in caller.scopes:
        body = await made_in_turn(request, _body, request, test_id, also_open=True)
        return Response(body, media_type="application/json", headers={"Cache-Control": "private, no-store"})
    return await cached(request, "", lambda _: UnsentAnswer(_body(request, test_id), JSON), counted=True)


def _body(request: Request, test_id: str, *, also_open: bool = False) -> bytes:
    with database_of(request).transaction() as session:
        test = service.found(session, test_id) if also_open else summary.closed(session, test_id)
        return _JSON.dump_json(summary.results(session, test))


@router.get(
    "/{test_id}/ratings.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}},
    summary="Every rating",
)  # fmt: skip
def ratings(test_id: TestId, session: ReadTransaction, caller: Caller, _counted: CountedComputation) -> Response:
    """Return every rating, one a line, those of participants that are left out with the reason.

    Participants are numbered in the order in which they began. Value: 0 to 100 (MUSHRA), 1 to 5 (ACR, DCR), 1 for
    preferred (AB) or right (ABX), 0 for not, 0.5 for no preference.
    """
    test = service.found(session, test_id) if "moderate" in caller.scopes else summary.closed(session, test_id)
    left = analyse(service.settings_of(test), repository.answers(session, test.id)).left_out
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEAD)
    numbers: dict[int, int] = {}
    for person, rating in repository.ratings(session, test.id):
        number = numbers.setdefault(person.id, len(numbers) + 1)
        said = (str(person.answers.get(name, "")) for name in QUESTIONS)
        table.writerow((
            number, left.get(person.id, ""), *said, escape_formula(rating.trial), escape_formula(rating.condition),
            rating.value, rating.seconds,
        ))  # fmt: skip
    headers = {"Cache-Control": "private, no-store", "Content-Disposition": f'attachment; filename="{test.id}.csv"'}
    return Response(out.getvalue(), media_type="text/csv", headers=headers)
