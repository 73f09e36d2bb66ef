"""``POST /api/v1/submissions/{id}/decision``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.people import ON_SQLITE, bearer, make_token

from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database


@pytest.fixture
def pending(database: Database) -> str:
    """Put a submission into the queue."""
    with database.transaction(write=True) as session:
        return make_submission(session, status="pending")


def address(submission: str) -> str:
    """Return where decisions go."""
    return f"/api/v1/submissions/{submission}/decision"


def status_of(database: Database, submission: str) -> str:
    """Read the status."""
    with database.transaction() as session:
        return session.get_one(Submission, submission).status


class TestDecision:
    """What programs of moderators can do."""

    def test_the_way_of_a_submission(self, client: TestClient, database: Database, pending: str) -> None:
        """It is accepted, verified, withdrawn, and brought back; each answer says what it is then."""
        headers = bearer(make_token(database, "ann"))
        steps = (
            ("accept", "self-reported"),
            ("verify", "verified"),
            ("withdraw", "withdrawn"),
            ("accept", "self-reported"),
        )
        for decision, status in steps:
            answer = client.post(address(pending), headers=headers, json={"decision": decision, "reason": "checked"})
            assert answer.status_code == 200, answer.text
            body = answer.json()
            assert body.pop("decided")
            assert body == {
                "id": pending, "codec": "opus_12k", "version": 1, "status": status, "decided_by": "ann",
                "reason": "checked",
            }  # fmt: skip
            assert status_of(database, pending) == status

    def test_conflicts(self, client: TestClient, database: Database, pending: str) -> None:
        """What the status does not allow, and what somebody else was quicker with, changes nothing."""
        headers = bearer(make_token(database))
        for body in ({"decision": "verify"}, {"decision": "accept", "status": "withdrawn"}):
            answer = client.post(address(pending), headers=headers, json=body)
            assert (answer.status_code, answer.json()["error"]) == (409, "Conflict")
        assert status_of(database, pending) == "pending"

    @ON_SQLITE
    @pytest.mark.parametrize("scopes", [None, ["submit"], ["metrics", "submit"]])
    def test_who_may_not(self, client: TestClient, database: Database, pending: str, scopes: list[str] | None) -> None:
        """Nobody without the scope, the submitter included."""
        headers = bearer(make_token(database, "someone", scopes)) if scopes else {}
        answer = client.post(address(pending), headers=headers, json={"decision": "accept"})
        assert answer.status_code == (403 if scopes else 401)
        assert status_of(database, pending) == "pending"

    @ON_SQLITE
    def test_what_does_not_fit(self, client: TestClient, database: Database, pending: str) -> None:
        """Unknown submissions, decisions and fields, and reasons that cannot be kept."""
        headers = bearer(make_token(database)) | {"Content-Type": "application/json"}
        accept = {"decision": "accept"}
        cases: tuple[tuple[str, Any, int], ...] = (
            ("nothing", accept, 404),
            ("no%00thing", accept, 400),
            ("' OR 1=1 --", accept, 400),
            (pending, {"decision": "delete"}, 400),
            (pending, {}, 400),
            (pending, {"decision": "accept", "more": 1}, 400),
            (pending, {"decision": "reject"}, 400),
            (pending, {"decision": "reject", "reason": "nul\0"}, 400),
            (pending, {"decision": "reject", "reason": "half \ud800"}, 400),
            (pending, {"decision": "reject", "reason": "x" * 2001}, 400),
            (pending, ["accept"], 400),
        )
        for submission, body, status in cases:
            answer = client.post(address(submission), headers=headers, content=json.dumps(body))
            assert answer.status_code == status, (submission, body)
        assert status_of(database, pending) == "pending"
