"""Each request has a number, one line in the log and one count; faults are told to the log, not to the client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient
from support.timing import wait_for

from codec_superb.server.database.models import Account, Token
from codec_superb.server.database.session import Database
from codec_superb.server.people.access import secret_hash

Log = Callable[[], list[dict[str, Any]]]


def test_the_token_of_a_listener_is_not_logged(client: TestClient, log: Log) -> None:
    """Whoever reads the log cannot answer a listening test as somebody else."""
    client.get("/listening/abc/resume/a-token-of-somebody")
    (entry,) = (each for each in log() if each["event"] == "request")
    assert entry["path"] == entry["route"] == "/listening/{test_id}/resume/{token}"


class TestNumber:
    """``X-Request-ID``."""

    def test_is_drawn(self, client: TestClient) -> None:
        """Every answer has a number, and no two have the same."""
        drawn = {client.get("/healthz").headers["x-request-id"] for _ in range(3)}
        assert len(drawn) == 3
        assert all(re.fullmatch("[0-9a-f]{16}", number) for number in drawn)

    def test_is_taken_over_where_harmless(self, client: TestClient) -> None:
        """A proxy's number is kept; one that could break a line of the log, or is very long, is replaced."""
        assert (
            client.get("/healthz", headers={"x-request-id": "from-proxy.1"}).headers["x-request-id"] == "from-proxy.1"
        )
        for bad in ("short", "x" * 65, "with space", 'quo"te-quote'):
            assert client.get("/healthz", headers={"x-request-id": bad}).headers["x-request-id"] != bad


class TestLog:
    """One line of JSON a request."""

    def test_has_the_facts_and_no_secrets(self, client: TestClient, log: Log) -> None:
        """Route, status, time, bytes and number are there; query, address and token are not."""
        secret = "token-" + "s" * 30
        headers = {"x-request-id": "number-1", "authorization": f"Bearer {secret}"}
        client.get("/api/v1/trial/codecs/opus_12k?password=hunter2", headers=headers)
        (line,) = log()
        assert line["event"] == "request"
        assert line["route"] == "/api/v1/trial/codecs/{name}"
        assert (line["method"], line["path"]) == ("GET", "/api/v1/trial/codecs/opus_12k")
        assert (line["status"], line["bytes"]) == (200, len('"opus_12k"'))
        assert 0 < line["seconds"] < 5
        assert line["request_id"] == "number-1"
        for word in ("hunter2", secret, "testclient"):
            assert word not in str(line)

    def test_probes_are_silent_while_they_succeed(self, client: TestClient, log: Log) -> None:
        """Health and readiness, asked every few seconds, do not fill the log."""
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert log() == []

    def test_unknown_paths_have_no_route(self, client: TestClient, log: Log) -> None:
        """What no route takes is logged with its path, cut, and counted under one name."""
        client.get("/" + "a" * 500)
        (line,) = log()
        assert (line["route"], line["status"], len(line["path"])) == ("unmatched", 404, 200)


class TestFault:
    """An exception that nobody expects."""

    def test_the_log_has_the_traceback_and_the_client_the_number(self, client: TestClient, log: Log) -> None:
        """The traceback is logged once, with the number that is all that the client learns."""
        answer = client.get("/api/v1/trial/fault", headers={"x-request-id": "number-2"})
        assert answer.status_code == 500
        assert answer.headers["x-request-id"] == "number-2"
        assert answer.json() == {
            "error": "InternalError",
            "detail": "a fault of this service, not of the request; it is logged as request number-2",
            "problems": [],
        }
        tracebacks = [line for line in log() if "ZeroDivisionError" in str(line)]
        assert [line["event"] for line in tracebacks] == ["unexpected error"]
        assert "the secret reason" in tracebacks[0]["exception"]
        assert tracebacks[0]["request_id"] == "number-2"
        assert [line["status"] for line in log() if line["event"] == "request"] == [500]

    def test_people_get_a_page(self, client: TestClient) -> None:
        """A browser gets the fault as a page, with the number to tell a maintainer."""
        answer = client.get("/api/v1/trial/fault", headers={"accept": "text/html", "x-request-id": "number-3"})
        assert answer.status_code == 500
        assert "number-3" in answer.text
        assert "secret reason" not in answer.text

    def test_after_the_answer_began_the_connection_breaks(self, app: FastAPI, log: Log) -> None:
        """A fault in the middle of an answer reaches the server, so that the client sees that something is missing."""
        with TestClient(app) as strict, pytest.raises(ZeroDivisionError):
            strict.get("/api/v1/trial/late-fault")
        assert [line["event"] for line in log() if "exception" in line] == ["unexpected error"]


class TestDatabaseAway:
    """The database does not answer."""

    def test_is_unavailable_not_a_fault(self, client: TestClient, app: FastAPI, log: Log) -> None:
        """An operational error is 503 with a time to come back, and no traceback in the log."""

        def refuse(*_: Any) -> None:
            raise OperationalError("SELECT 7", {}, ConnectionError("connection refused by 10.0.0.7"))

        event.listen(app.state.database.engine, "before_cursor_execute", refuse)
        answer = client.get("/api/v1/trial/query")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert answer.json()["error"] == "Unavailable"
        assert "10.0.0.7" not in answer.text
        lines = log()  # among them the board's, which looks for changes by itself and finds no database either
        of_request = [line["event"] for line in lines if "request_id" in line]
        assert of_request == ["database does not answer", "request"]
        assert not any("exception" in line for line in lines)


def _token(database: Database, *scopes: str) -> str:
    secret = "secret-" + "-".join(scopes)
    with database.transaction(write=True) as session:
        account = Account(name="prometheus")
        session.add(Token(account=account, prefix="secret", secret_sha256=secret_hash(secret), scopes=list(scopes)))
    return secret


class TestMetricsInternal:
    """``GET /metrics-internal``."""

    def test_is_not_public(self, client: TestClient, database: Database) -> None:
        """Nobody without a token of scope ``metrics`` sees it."""
        assert client.get("/metrics-internal").status_code == 401
        secret = _token(database, "submit")
        assert client.get("/metrics-internal", headers={"authorization": f"Bearer {secret}"}).status_code == 403

    def test_counts_requests_by_template(self, client: TestClient, database: Database) -> None:
        """Requests are counted by method, route template and status, whatever the addresses were."""
        for name in ("opus_12k", "encodec_6k"):
            client.get(f"/api/v1/trial/codecs/{name}")
        client.get("/api/v1/nothing-of-that-name")
        client.request("BREW", "/healthz")
        headers = {"authorization": f"Bearer {_token(database, 'metrics')}"}
        answer = client.get("/metrics-internal", headers=headers)
        assert answer.headers["content-type"].startswith("text/plain")
        route = "/api/v1/trial/codecs/{name}"
        assert f'codec_superb_requests_total{{method="GET",route="{route}",status="200"}} 2.0' in answer.text
        assert f'codec_superb_request_seconds_count{{method="GET",route="{route}"}} 2.0' in answer.text
        assert 'codec_superb_requests_total{method="GET",route="unmatched",status="404"} 1.0' in answer.text
        assert 'method="other"' in answer.text
        for secret in ("opus_12k", "nothing-of-that-name", "BREW"):
            assert secret not in answer.text

    def test_counts_the_connection_of_this_very_request(self, client: TestClient, database: Database) -> None:
        """The one connection in use is its own; the thread that watches for new results has one now and then too."""
        headers = {"authorization": f"Bearer {_token(database, 'metrics')}"}

        def counted() -> bool:
            return "codec_superb_database_connections 1.0" in client.get("/metrics-internal", headers=headers).text

        wait_for(counted, "expected one connection in use")
