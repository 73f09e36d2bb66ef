"""Tokens: shown once, kept as a hash, scoped, expiring, revocable."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update
from starlette.testclient import TestClient
from support.server.people import ON_SQLITE, bearer, make_token

from codec_superb.server.database.models import AuditEntry, Token, now
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthenticated
from codec_superb.server.people import tokens
from codec_superb.server.people.access import Caller, identity_of_secret


class TestCreate:
    """``tokens.create``."""

    def test_the_secret_is_not_kept(self, database: Database) -> None:
        """The database holds the hash and the first letters, of 256 random bits."""
        secret = make_token(database, "lab", ["submit", "metrics", "submit"])
        assert secret.startswith("cs_")
        assert len(secret) == 3 + 43
        with database.transaction() as session:
            token = session.scalars(select(Token)).one()
            kept = repr({column.name: getattr(token, column.name) for column in Token.__table__.columns})
            assert secret not in kept
            assert secret.startswith(token.prefix)
            assert len(secret) - len(token.prefix) >= 35
            assert token.scopes == ["metrics", "submit"]
            assert token.expires is None
            assert identity_of_secret(session, secret).name == "lab"
            entry = session.scalars(select(AuditEntry)).one()
            assert (entry.action, entry.subject) == ("token.created", token.prefix)
            assert secret not in repr(entry.detail)

    def test_two_tokens_of_one_account(self, database: Database) -> None:
        """A second token of the same name belongs to the same account and has another secret."""
        first, second = make_token(database, "lab"), make_token(database, "lab")
        assert first != second
        with database.transaction() as session:
            one, two = (identity_of_secret(session, secret) for secret in (first, second))
        assert one.account_id == two.account_id
        assert one.token_id != two.token_id

    @ON_SQLITE
    @pytest.mark.parametrize(
        ("name", "scopes", "days"),
        [
            ("", ["submit"], None),
            (" lab", ["submit"], None),
            ("x" * 201, ["submit"], None),
            ("a\nb", ["submit"], None),
            ("a\u202eb", ["submit"], None),
            ("anonymous", ["submit"], None),
            ("lab", [], None),
            ("lab", ["root"], None),
            ("lab", ["submit"], 0),
            ("lab", ["submit"], 100_000),
        ],
    )
    def test_what_cannot_be(self, database: Database, name: str, scopes: list[str], days: int | None) -> None:
        """A name, scope or number of days that cannot be is refused, and nothing is kept."""
        with pytest.raises(BadRequest), database.transaction(write=True) as session:
            tokens.create(session, name, scopes, actor="the test", expires_days=days)
        with database.transaction() as session:
            assert session.scalars(select(Token)).all() == []


class TestRevoke:
    """``tokens.revoke``."""

    def test_by_prefix_and_by_id(self, database: Database) -> None:
        """Either names the token; it is worth nothing from then on, and the list says so."""
        secrets = [make_token(database, name) for name in ("first", "second", "third")]
        with database.transaction(write=True) as session:
            tokens.revoke(session, secrets[0][:11], actor="the test")
            tokens.revoke(session, str(tokens.all_tokens(session)[1].id), actor="the test")
        with database.transaction() as session:
            assert [row.state for row in tokens.all_tokens(session)] == ["revoked", "revoked", "valid"]
            for secret in secrets[:2]:
                with pytest.raises(Unauthenticated, match="revoked"):
                    identity_of_secret(session, secret)
            actions = [entry.action for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.id))]
        assert actions == ["token.created"] * 3 + ["token.revoked"] * 2

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("which", "error"),
        [("", NotFound), ("cs_", NotFound), ("%", NotFound), ("cs_%%%", NotFound), ("99999999999999999999", NotFound),
         ("cs_A", Conflict)],
    )  # fmt: skip
    def test_what_names_no_single_token(self, database: Database, which: str, error: type[Exception]) -> None:
        """Nothing, wildcards, huge numbers and a beginning that two tokens share revoke nothing."""
        for _ in range(2):
            make_token(database)
        with database.transaction(write=True) as session:
            for number, token in enumerate(session.scalars(select(Token))):
                token.prefix = f"cs_A{number}"
        with pytest.raises(error), database.transaction(write=True) as session:
            tokens.revoke(session, which, actor="the test")
        with database.transaction() as session:
            assert {row.state for row in tokens.all_tokens(session)} == {"valid"}

    def test_twice(self, database: Database) -> None:
        """The second time says that it was revoked, and when."""
        secret = make_token(database)
        with database.transaction(write=True) as session:
            tokens.revoke(session, secret[:11], actor="the test")
        with pytest.raises(Conflict, match="was revoked at"), database.transaction(write=True) as session:
            tokens.revoke(session, secret[:11], actor="the test")


class TestCaller:
    """Who sends a request, by its header."""

    @pytest.fixture
    def asking(self, app: FastAPI, client: TestClient) -> TestClient:
        """Add an endpoint that says who asks."""

        @app.get("/api/who")
        def who(caller: Caller) -> str:
            caller.require("submit")
            return caller.name

        return client

    def test_a_valid_token(self, asking: TestClient, database: Database) -> None:
        """The account is found, and the use is noted, at most once an hour."""
        secret = make_token(database, "lab", ["submit"])
        assert asking.get("/api/who", headers=bearer(secret)).json() == "lab"
        with database.transaction() as session:
            first = session.scalars(select(Token.last_used)).one()
        assert first is not None
        assert now() - first < timedelta(minutes=1)
        asking.get("/api/who", headers=bearer(secret))
        with database.transaction() as session:
            assert session.scalars(select(Token.last_used)).one() == first
        with database.transaction(write=True) as session:
            session.execute(update(Token).values(last_used=now() - timedelta(hours=2)))
        asking.get("/api/who", headers=bearer(secret))
        with database.transaction() as session:
            assert session.scalars(select(Token.last_used)).one() >= first

    def test_an_expired_token(self, asking: TestClient, database: Database) -> None:
        """It is refused with the reason."""
        secret = make_token(database, "lab", ["submit"], days=1)
        with database.transaction(write=True) as session:
            session.execute(update(Token).values(expires=now() - timedelta(seconds=1)))
            assert [row.state for row in tokens.all_tokens(session)] == ["expired"]
        answer = asking.get("/api/who", headers=bearer(secret))
        assert answer.status_code == 401
        assert "expired" in answer.json()["detail"]

    def test_scopes(self, asking: TestClient, database: Database) -> None:
        """A token without the scope is Forbidden; none at all is Unauthenticated."""
        answer = asking.get("/api/who", headers=bearer(make_token(database, scopes=["moderate"])))
        assert (answer.status_code, answer.json()["error"]) == (Forbidden.status, "Forbidden")
        answer = asking.get("/api/who")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")

    @ON_SQLITE
    def test_headers_that_are_none(self, asking: TestClient) -> None:
        """Anything but a known token is refused, whatever bytes it has."""
        for header in ("Basic abc", "Bearer", "Bearer ", "Bearer \xff\x00", "cs_", "Bearer " + "x" * 9):
            answer = asking.get("/api/who", headers={"Authorization": header.encode("latin-1")})
            assert answer.status_code == 401, header
