"""``/account``: what submitters see and do when they log in with the token that they upload with."""

from __future__ import annotations

from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.people import csrf_of, make_token

from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database

PAGE = {"accept": "text/html"}


def log_in_to_account(client: TestClient, database: Database, name: str) -> str:
    """Log in with a token of scope ``submit``, and return the token for the forms."""
    secret = make_token(database, name, ["submit"])
    form = csrf_of(client.get("/login").text)
    answer = client.post("/login", data={"csrf": form, "token": secret, "next": "/moderation"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    return csrf_of(client.get("/account").text)


def test_own_submissions(client: TestClient, database: Database) -> None:
    """Those that wait are there with the reason; a button takes each back; others' and moderators' pages are not."""
    with database.transaction(write=True) as session:
        held = make_submission(session, "own_1k", status="held", owner="bob")
        session.get_one(Submission, held).reason = "clip 3 differs"
        shown = make_submission(session, "own_2k", owner="bob")
        other = make_submission(session, "own_3k", owner="ann")
    form = log_in_to_account(client, database, "bob")
    page = client.get("/account").text
    assert "clip 3 differs" in page
    assert f"/submissions/{shown}" in page
    assert "own_3k" not in page
    assert client.get("/moderation", headers=PAGE).status_code == 403
    assert client.post(f"/moderation/{held}", data={"csrf": form, "decision": "accept"}).status_code == 403
    assert f"/account/{shown}/withdraw" in client.get(f"/submissions/{shown}").text
    assert "withdraw" not in client.get(f"/submissions/{other}").text
    for identity, csrf, status in ((other, form, 404), (shown, "", 403), (shown, form, 200), (shown, form, 409)):
        data = {"csrf": csrf, "reason": "wrong bits"}
        assert client.post(f"/account/{identity}/withdraw", data=data, headers=PAGE).status_code == status
    assert client.get(f"/submissions/{shown}").status_code == 404
    assert client.get(f"/submissions/{other}").status_code == 200
    client.post("/logout", data={"csrf": form})
    assert client.get("/account", follow_redirects=False).headers["location"] == "/login?next=/account"
