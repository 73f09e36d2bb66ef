"""Sessions of moderators: opened by a token, ended with it, and worth nothing to anybody else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from fastapi import FastAPI
from itsdangerous import URLSafeTimedSerializer
from sqlalchemy import event, select, update
from starlette.testclient import TestClient
from support.server.people import ON_SQLITE, csrf_of, log_in, make_token

from codec_superb.server.app import create_app
from codec_superb.server.database.models import AuditEntry, Token, now
from codec_superb.server.database.session import Database
from codec_superb.server.people import tokens
from codec_superb.server.settings import Settings

PAGE = {"accept": "text/html"}


def logged_in(client: TestClient) -> bool:
    """Whether pages of moderators open."""
    answer = client.get("/moderation", headers=PAGE, follow_redirects=False)
    assert answer.status_code in {200, 303}
    assert answer.status_code == 200 or answer.headers["location"] == "/login?next=/moderation"
    return answer.status_code == 200


class TestLogin:
    """``/login``."""

    def test_a_moderator_gets_a_session(self, client: TestClient, database: Database) -> None:
        """The cookie is for this site's own requests and no script; the page knows who it is."""
        assert not logged_in(client)
        form = csrf_of(client.get("/login").text)
        answer = client.post(
            "/login", data={"csrf": form, "token": make_token(database, "ann")}, follow_redirects=False
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/moderation")
        cookie = next(text for text in answer.headers.get_list("set-cookie") if text.startswith("session="))
        assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
            "httponly", "max-age=43200", "path=/", "samesite=strict",
        }  # fmt: skip
        assert "Log out ann" in client.get("/moderation", headers=PAGE).text
        with database.transaction() as session:
            entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "session.opened")).one()
        assert entry.actor == "ann"

    @ON_SQLITE
    def test_the_secret_is_in_no_cookie(self, client: TestClient, database: Database) -> None:
        """A cookie that is read somewhere does not give the token away."""
        secret = make_token(database)
        log_in(client, secret)
        assert client.cookies
        assert all(secret not in value for value in client.cookies.values())

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("token", "status"), [("", 401), ("cs_unknown", 401), ("of no page", 403), ("\ud800", 401)]
    )
    def test_other_tokens(self, client: TestClient, database: Database, token: str, status: int) -> None:
        """An unknown token, one without the scope, and none: the form again with the reason, and no session."""
        if token == "of no page":
            token = make_token(database, scopes=["metrics"])
        form = csrf_of(client.get("/login").text)
        content = f"csrf={form}&token=".encode() + token.encode("utf-8", "surrogatepass")
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = client.post("/login", content=content, headers=kind)
        assert answer.status_code == (400 if token == "\ud800" else status)
        assert "session" not in client.cookies
        assert 'role="alert"' in answer.text or answer.status_code == 400

    @ON_SQLITE
    def test_https_cookies(self, settings: Settings, database: Database) -> None:
        """Where people come by HTTPS the cookie goes over nothing else, and belongs to this host alone."""
        secure = settings.model_copy(update={"base_url": "https://example.org"})
        with TestClient(create_app(secure), base_url="https://example.org") as client:
            log_in(client, make_token(database))
            names = set(client.cookies.keys())
            form = client.get("/login", follow_redirects=False)
            assert form.headers["location"] == "/moderation"
        assert names == {"__Host-session"}

    @ON_SQLITE
    def test_wrong_attempts_are_limited(self, settings: Settings, database: Database) -> None:
        """A wrong token may be tried as often as the settings say; the right one opens a session all the same."""
        with TestClient(create_app(settings.model_copy(update={"logins_per_hour": 2}))) as client:
            codes = []
            for token in ("cs_a", "cs_a", "cs_a", make_token(database)):
                form = csrf_of(client.get("/login").text)
                sent = client.post("/login", data={"csrf": form, "token": token}, follow_redirects=False)
                codes.append(sent.status_code)
        assert codes == [401, 401, 429, 303]

    @ON_SQLITE
    def test_a_full_disk_is_no_fault_of_the_program(self, settings: Settings, tmp_path: Path) -> None:
        """Neither the key that cannot be stored nor the database that cannot grow is answered 500."""
        database = Database(settings.database_url)
        secret = make_token(database, "mod")
        database.close()
        (tmp_path / "storage").mkdir()
        (tmp_path / "storage/secret_key").symlink_to("/dev/full/secret_key")
        unkeyed = settings.model_copy(update={"secret_key": None})
        with TestClient(create_app(unkeyed), raise_server_exceptions=False) as client:
            answer = client.get("/login")
            assert (answer.status_code, "cannot be stored" in answer.text) == (503, True)
        app = create_app(settings)
        with TestClient(app, raise_server_exceptions=False) as client:
            event.listen(
                app.state.database.engine, "begin",
                lambda connection: connection.exec_driver_sql("PRAGMA max_page_count=1"), insert=True,
            )  # fmt: skip
            codes = []
            for _ in range(100):  # until the last page is full
                form = csrf_of(client.get("/login").text)
                data = {"csrf": form, "token": secret}
                codes.append(client.post("/login", data=data, follow_redirects=False).status_code)
                client.cookies.clear()
                if codes[-1] != 303:
                    break
        assert codes[-1] == 503

    @ON_SQLITE
    def test_it_leads_nowhere_else(self, client: TestClient, database: Database) -> None:
        """Whatever `next` says, a login ends at a page of moderators of this site."""
        targets = (
            "https://evil.example", "//evil.example", "/\\evil.example", "/moderation/../../x", "/moderation\r\nX-A: b",
            "/moderation//evil.example", "javascript:alert(1)", "/", "/moderation/abc?x=1",
        )  # fmt: skip
        secret = make_token(database)
        for target in targets:
            client.cookies.clear()
            page = client.get("/login", params={"next": target})
            data = {"csrf": csrf_of(page.text), "token": secret, "next": target}
            answer = client.post("/login", data=data, follow_redirects=False)
            assert answer.headers["location"] == "/moderation", target
            answer = client.get("/login", params={"next": target}, follow_redirects=False)
            assert answer.headers["location"] == "/moderation", target

    def test_it_leads_back(self, client: TestClient, database: Database) -> None:
        """Who asked for a submission's page comes to it after the login."""
        answer = client.get("/moderation/abc123", headers=PAGE, follow_redirects=False)
        assert answer.headers["location"] == "/login?next=/moderation/abc123"
        form = client.get(answer.headers["location"])
        data = {"csrf": csrf_of(form.text), "token": make_token(database), "next": "/moderation/abc123"}
        assert client.post("/login", data=data, follow_redirects=False).headers["location"] == "/moderation/abc123"

    @ON_SQLITE
    def test_paths_are_no_redirects(self, client: TestClient) -> None:
        """A path that looks like an address, or like another header, leads to no other place."""
        for path in ("//evil.example", "//evil.example/moderation", "/moderation/%0d%0aX-Evil:%20yes"):
            answer = client.get(f"http://testserver{path}", headers=PAGE, follow_redirects=False)
            assert answer.headers.get("location", "/login?next=/moderation") == "/login?next=/moderation", path
            assert "x-evil" not in answer.headers


@ON_SQLITE
class TestForms:
    """CSRF tokens."""

    @pytest.mark.parametrize("token", [None, "", "wrong"])
    def test_login_without_the_forms_token(self, client: TestClient, database: Database, token: str | None) -> None:
        """A login that no page of ours has begun is refused: nobody is logged in as somebody else unaware."""
        client.get("/login")
        data = {"token": make_token(database)} | ({} if token is None else {"csrf": token})
        assert client.post("/login", data=data).status_code == 403
        assert not logged_in(client)

    def test_login_with_the_token_of_another_browser(
        self, app: FastAPI, client: TestClient, database: Database
    ) -> None:
        """A form's token is bound to the cookie that came with it."""
        theirs = csrf_of(TestClient(app).get("/login").text)
        client.get("/login")
        assert client.post("/login", data={"csrf": theirs, "token": make_token(database)}).status_code == 403

    @pytest.mark.sample(2)
    @pytest.mark.parametrize("kind", ["missing", "wrong", "of another session", "of a login form", "too old"])
    def test_logout_needs_its_token(self, app: FastAPI, client: TestClient, database: Database, kind: str) -> None:
        """No other site can log a moderator out, nor can a token of another session or form."""
        secret = make_token(database)
        log_in(client, secret)
        if kind == "of a login form":
            client.cookies.delete("session")
            value = csrf_of(client.get("/login").text)
            log_in(client, secret)
        elif kind == "too old":
            with patch("itsdangerous.timed.time.time", return_value=now().timestamp() - 13 * 3600):
                value = csrf_of(client.get("/moderation").text)
        else:
            value = {"missing": "", "wrong": "wrong", "of another session": log_in(TestClient(app), secret)}[kind]
        assert client.post("/logout", data={"csrf": value} if value else {"other": "field"}).status_code == 403
        assert logged_in(client)

    def test_bodies_that_are_no_form(self, client: TestClient) -> None:
        """Long, strange and other bodies are refused before anything is done with them."""
        form = "application/x-www-form-urlencoded"
        for content, kind, status in (
            (b"x" * 70_000, form, 413),
            (b"&".join(b"a=b" for _ in range(30)), form, 400),
            (b"csrf=%ff%fe", form, 403),
            (b"csrf=a%00b", form, 400),
            (b"\xff\xfe", form, 400),
            (b"{}", "application/json", 400),
            (b"", "", 400),
        ):
            answer = client.post("/login", content=content, headers={"content-type": kind})
            assert answer.status_code == status, content[:20]


class TestEnd:
    """When a session ends."""

    def test_logout(self, app: FastAPI, client: TestClient, database: Database) -> None:
        """The cookie is taken back, and a copy of it opens nothing."""
        form = log_in(client, make_token(database))
        copy = client.cookies["session"]
        answer = client.post("/logout", data={"csrf": form}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert not logged_in(client)
        assert not logged_in(TestClient(app, cookies={"session": copy}))

    def test_a_revoked_token(self, client: TestClient, database: Database) -> None:
        """Revoking the token ends the session at once."""
        secret = make_token(database)
        log_in(client, secret)
        with database.transaction(write=True) as session:
            tokens.revoke(session, secret[:11], actor="the test")
        assert not logged_in(client)

    @pytest.mark.parametrize("change", [{"expires": now() - timedelta(seconds=1)}, {"scopes": ["metrics"]}])
    def test_a_token_that_lost_its_right(
        self, client: TestClient, database: Database, change: dict[str, object]
    ) -> None:
        """So does its expiry, and the loss of the scope."""
        log_in(client, make_token(database))
        with database.transaction(write=True) as session:
            session.execute(update(Token).values(**change))
        assert not logged_in(client)

    @pytest.mark.parametrize(("hours", "valid"), [(-12 - 5 / 3600, False), (30 / 3600, True), (0.5, False)])
    def test_time(self, client: TestClient, database: Database, settings: Settings, hours: float, valid: bool) -> None:
        """A cookie older than a session may be opens nothing, nor does one of the future, beyond a minute."""
        assert settings.session_hours == 12
        form = csrf_of(client.get("/login").text)
        with patch("itsdangerous.timed.time.time", return_value=now().timestamp() + 3600 * hours):
            client.post("/login", data={"csrf": form, "token": make_token(database)}, follow_redirects=False)
        assert "session" in client.cookies
        assert logged_in(client) == valid

    @ON_SQLITE
    def test_a_forged_cookie(self, client: TestClient, database: Database) -> None:
        """A cookie that we did not sign opens nothing."""
        log_in(client, make_token(database))
        value = client.cookies["session"]
        with database.transaction() as session:
            token_id = session.scalars(select(Token.id)).one()
        for forged in (
            ("A" if value[0] != "A" else "B") + value[1:],
            value[:-2] + ("A" if value[-2] != "A" else "B") + value[-1],
            value[: len(value) // 2],
            value.rsplit(".", 2)[0],
            URLSafeTimedSerializer("y" * 40, salt="session").dumps([token_id, "name"]),
            URLSafeTimedSerializer("x" * 40, salt="csrf form").dumps([token_id, "name"]),
            "",
        ):
            client.cookies.clear()
            client.cookies.set("session", forged, domain="testserver.local", path="/")
            assert not logged_in(client), forged

    def test_a_form_of_an_ended_session(self, client: TestClient, database: Database) -> None:
        """A decision that comes too late is not led away: the answer says what to do, so that nothing is lost."""
        form = log_in(client, make_token(database))
        client.cookies.delete("session")
        answer = client.post("/moderation/abc", data={"csrf": form}, headers=PAGE, follow_redirects=False)
        assert answer.status_code == 401
        assert "the session has ended" in answer.text


@ON_SQLITE
class TestVisitors:
    """Everybody else."""

    def test_no_cookie(self, client: TestClient) -> None:
        """Pages set no cookie."""
        for path in ("/", "/nothing", "/about", "/submit", "/api/openapi.json", "/moderation", "/static/nothing.css"):
            answer = client.get(path, headers=PAGE, follow_redirects=False)
            assert "set-cookie" not in answer.headers, path

    def test_an_invented_cookie_gets_the_kept_page(self, client: TestClient, database: Database) -> None:
        """Nobody gets past the kept answers by inventing a cookie; a moderator's page is made for the session."""
        client.cookies.set("session", "invented", domain="testserver.local", path="/")
        assert "etag" in client.get("/", headers=PAGE).headers
        client.cookies.clear()
        log_in(client, make_token(database, "ann"))
        answer = client.get("/", headers=PAGE)
        assert "etag" not in answer.headers
        assert "Log out ann" in answer.text

    def test_a_session_is_no_token(self, client: TestClient, database: Database) -> None:
        """The API takes no cookie, so that no other site can make a browser use it."""
        log_in(client, make_token(database))
        answer = client.post("/api/v1/submissions/abc/decision", json={"decision": "verify"})
        assert answer.status_code == 401

    def test_answers_to_moderators_are_kept_by_nobody(self, client: TestClient, database: Database) -> None:
        """What was made for a session is marked as private, whatever page it is."""
        log_in(client, make_token(database))
        for path in ("/moderation", "/nothing"):
            assert client.get(path, headers=PAGE).headers["cache-control"] == "private, no-store"
