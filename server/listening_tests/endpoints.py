"""The API of listening tests: which there are, their results, and every rating as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response
from sqlalchemy.orm import Session

from codec_superb.server.database.listening import ListeningTest
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.errors import NotFound
from codec_superb.server.listening_tests import repository, service, summary
from codec_superb.server.listening_tests.results import analyse
from codec_superb.server.people.access import Caller, Identity
from codec_superb.server.people.limits import CountedComputation
from codec_superb.web.site.listening_tests.view import QUESTIONS, TestLine, TestResults
from codec_superb.web.spreadsheets import escape_formula

router = APIRouter(prefix="/api/v1/listening-tests", tags=["listening tests"])
TestId = Annotated[str, Path(pattern=r"^[a-z0-9]{1,12}$", description="Id of a listening test.")]
HEAD = ("participant", "left_out", *QUESTIONS, "trial", "condition", "value", "seconds")
"""Columns of the CSV."""


@router.get("")
def tests(session: ReadTransaction) -> Sequence[TestLine]:
    """List the tests that people can take, and those that are over."""
    return [summary.line(session, test) for test in repository.in_states(session, ("open", "closed"))]


@router.get("/{test_id}/results")
def results(test_id: TestId, session: ReadTransaction, caller: Caller, _counted: CountedComputation) -> TestResults:
    """Return the results of a closed test; of another one to a token of scope `moderate`."""
    return summary.results(session, _shown(session, test_id, caller))


@router.get(
    "/{test_id}/ratings.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}},
    summary="Every rating",
)  # fmt: skip
def ratings(test_id: TestId, session: ReadTransaction, caller: Caller, _counted: CountedComputation) -> Response:
    """Return every rating, one a line, those of participants that are left out with the reason.

    Participants are numbered in the order in which they began. Value: 0 to 100 (MUSHRA), 1 to 5 (ACR, DCR), 1 for
    preferred (AB) or right (ABX), 0 for not, 0.5 for no preference.
    """
    test = _shown(session, test_id, caller)
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


def _shown(session: Session, test_id: str, caller: Identity) -> ListeningTest:
    test = service.found(session, test_id)
    if test.state != "closed" and "moderate" not in caller.scopes:
        raise NotFound("the results of this test are shown when it is over: they would tell what is heard")
    return test
