"""``POST /api/v1/submissions/{id}/decision``."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.people import ON_SQLITE, bearer, make_token

from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import LOCK_SECONDS, Database
from codec_superb.server.settings import Settings


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


def test_many_at_once_stop_nobody(client: TestClient, database: Database) -> None:
    """More withdrawals of one file than there are threads, and families opened at once: all are answered soon."""
    with database.transaction(write=True) as session:
        mine = make_submission(session, "mine", owner="ann")
        held = [
            make_submission(session, f"held_{n}", 4.0 + n, owner="bob", status="held", card={"family": "new"})
            for n in range(4)
        ]
    own = bearer(make_token(database, "ann", ("submit",)))
    moderator = bearer(make_token(database, "mod"))

    def send(number: int) -> int:
        if number < len(held):
            return client.post(address(held[number]), headers=moderator, json={"decision": "accept"}).status_code
        return client.post(f"/api/v1/submissions/{mine}/withdraw", headers=own).status_code

    began = time.monotonic()
    with ThreadPoolExecutor(50) as pool:
        answers = Counter(pool.map(send, range(50)))
    assert answers == {200: len(held) + 1, 409: 50 - len(held) - 1}
    assert time.monotonic() - began < LOCK_SECONDS


class TestDecision:
    """What programs of moderators can do."""

    def test_the_way_of_a_submission(
        self, client: TestClient, database: Database, settings: Settings, pending: str
    ) -> None:
        """It is accepted, verified, withdrawn, and brought back where its file is; each answer says what it is then."""
        headers = bearer(make_token(database, "ann"))
        with database.transaction() as session:
            sha256 = session.get_one(Submission, pending).file_sha256
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
            if status == "withdrawn":
                answer = client.post(address(pending), headers=headers, json={"decision": "accept", "reason": "right"})
                assert (answer.status_code, sha256 in answer.text) == (409, True)
                (settings.files / f"{sha256}.zip").touch()

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


class TestOwn:
    """What an account may do with what it sent itself."""

    def test_it_sees_and_withdraws_it(self, client: TestClient, database: Database) -> None:
        """Whatever its status; the name of the account and the reason stand in the history of what was public."""
        headers = bearer(make_token(database, "bob", ["submit"]))
        with database.transaction(write=True) as session:
            made = {status: make_submission(session, f"own_{number}k", status=status, owner="bob")
                    for number, status in enumerate(("held", "self-reported", "verified"))}  # fmt: skip
        for status, identity in made.items():
            path = f"/api/v1/submissions/{identity}"
            assert client.get(f"{path}/status", headers=headers).json()["status"] == status
            answer = client.post(f"{path}/withdraw", headers=headers, json={"reason": "the wrong checkpoint"})
            assert (answer.status_code, answer.json()["status"]) == (200, "withdrawn")
            assert client.get(path).status_code == 404
            assert client.post(f"{path}/withdraw", headers=headers).status_code == 409
        (version,) = client.get("/api/v1/codecs/own_1k/history").json()["versions"]
        assert (version["status"], version["reason"]) == ("withdrawn", "the wrong checkpoint")
        assert client.get("/api/v1/codecs/own_0k/history").status_code == 404  # it never was public
        with database.transaction() as session:
            assert session.get_one(Submission, made["held"]).decided_by == "bob"

    def test_it_writes_nothing_on_the_page_of_others(self, client: TestClient, database: Database) -> None:
        """Who takes back results under a name that is not its own has no words in its history, moderators have."""
        with database.transaction(write=True) as session:
            make_submission(session, "opus_12k", status="verified", owner="ann")
            sent = [make_submission(session, "opus_12k", owner="bob") for _ in range(2)]
        for scope, path, decision in (("submit", "withdraw", {}), ("moderate", "decision", {"decision": "withdraw"})):
            headers = bearer(make_token(database, "bob" if scope == "submit" else "mod", [scope]))
            body = {"reason": f"words of {scope}", **decision}
            assert (
                client.post(f"/api/v1/submissions/{sent.pop()}/{path}", headers=headers, json=body).status_code == 200
            )
        told = {each["reason"] for each in client.get("/api/v1/codecs/opus_12k/history").json()["versions"]}
        assert told == {None, "by its submitter", "words of moderate"}
        page = client.get("/codecs/opus_12k").text
        assert ("words of moderate" in page, "words of submit" in page) == (True, False)

    def test_nobody_else_does(self, client: TestClient, database: Database) -> None:
        """Another account finds nothing, nor does an anonymous upload's sender; a token of another scope is refused."""
        with database.transaction(write=True) as session:
            held = make_submission(session, "own_9k", status="held", owner="bob")
            nobodys = make_submission(session, "own_8k", status="pending", owner=None)
        for scopes, expected in ((["submit"], 404), (["metrics"], 403), (None, 401)):
            headers = bearer(make_token(database, "eve", scopes)) if scopes else {}
            for identity in (held, nobodys):
                path = f"/api/v1/submissions/{identity}"
                assert client.get(f"{path}/status", headers=headers).status_code == expected
                assert client.post(f"{path}/withdraw", headers=headers).status_code == expected
        assert status_of(database, held) == "held"
