"""Cookies with a backslash, which Python may take seconds to unquote, are not read; all others are."""

from __future__ import annotations

from http import cookies as python_cookies

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.testclient import TestClient
from support.server.people import ON_SQLITE

SLOW = 'slow="' + "\\1" * 7_900 + '"'


@ON_SQLITE
class TestBackslashes:
    """A visitor may send any."""

    @pytest.mark.parametrize("path", ["/", "/healthz", "/login", "/account", "/nothing", "/api/v1/submissions"])
    def test_none_is_unquoted(self, client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        """Wherever the framework or a page reads the cookies, refusals included."""
        seen: list[str] = []
        monkeypatch.setattr(python_cookies, "_unquote", lambda text: seen.append(text) or text)
        client.get(path, headers={"cookie": f"{SLOW}; other=1", "accept": "text/html"}, follow_redirects=False)
        client.get(f"{path}?{'x' * 40_000}", headers={"cookie": SLOW, "accept": "text/html"})
        assert "1" in seen
        assert not [text for text in seen if "\\" in text]

    def test_the_others_stay(self, app: FastAPI) -> None:
        """Those before and behind it, in one header or several; another service of the host may have set it."""

        @app.get("/seen")
        def seen(request: Request) -> JSONResponse:
            return JSONResponse(request.cookies)

        with TestClient(app) as client:
            several = [("cookie", f"a=1; {SLOW}; b=two.-_=; c"), ("cookie", SLOW), ("cookie", 'd="4"')]
            answer = client.get("/seen", headers=several)
        assert answer.json() == {"a": "1", "b": "two.-_=", "": "c", "d": "4"}
