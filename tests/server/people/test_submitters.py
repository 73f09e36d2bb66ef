"""Submitters have sessions too: none of what moderators see or do is theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.listening import add_test
from support.server.people import bearer, csrf_of, make_token

from codec_superb.server.database.session import Database

_MODERATORS = {"_moderator", "_moderating"}
"""Names of the dependencies that ask for the scope."""


def routes(app: FastAPI) -> Iterator[Any]:
    """Yield every route with its whole path and what it depends on."""
    for router in app.routes:
        if hasattr(router, "effective_route_contexts"):
            yield from (found for found in router.effective_route_contexts() if found.methods)


def of_moderators(dependant: Any) -> bool:
    """Whether a route asks for the scope ``moderate``."""
    return any(each.call.__name__ in _MODERATORS or of_moderators(each) for each in dependant.dependencies)


def test_no_route_takes_a_submitter_for_a_moderator(app: FastAPI, client: TestClient, database: Database) -> None:
    """Every route by session and by token: moderators' refuse, and none shows what is held, drafted or under way."""
    with database.transaction(write=True) as session:
        held = make_submission(session, "secret_1k", status="held", owner="ann")
        make_submission(session, "shown_1k")
        tests = [add_test(session, "acr", clips=1, state=state) for state in ("draft", "open")]
    secret = make_token(database, "bob", ["submit"])
    form = csrf_of(client.get("/login").text)
    client.post("/login", data={"csrf": form, "token": secret})
    form = csrf_of(client.get("/account").text)
    app.state.board.refresh()
    asked = 0
    for route in routes(app):
        guarded = of_moderators(route.dependant)
        for test in tests if "{test_id}" in route.path else ["x"]:
            known = {"test_id": test, "number": "0", "category": "speech", "side": "reference", "picture": "reference"}
            known |= dict.fromkeys(("submission_id", "identity", "old", "new"), held)
            path = re.sub(r"{(\w+)(:\w+)?}", lambda found, known=known: known.get(found[1], "x"), route.path)  # type: ignore[misc]
            for method in route.methods if guarded else route.methods & {"GET"}:
                sent = {"data": {"csrf": form, "decision": "accept", "state": "open"}} if method == "POST" else {}
                for headers in ({}, bearer(secret)):
                    answer = client.request(method, path, headers=headers, follow_redirects=False, **sent)
                    asked += guarded
                    assert not guarded or answer.status_code in {401, 403, 404}, (method, path, answer.text)
                    assert "secret_1k" not in answer.text, path
                    if path.endswith(("/results", "/ratings.csv")) or test == tests[0]:
                        assert answer.status_code in {403, 404, 405, 409, 303}, (method, path)
    assert asked > 20
    assert tests[0] not in client.get("/listening").text
