"""The application as a whole: it starts on either database and answers what it does not know in words."""

from __future__ import annotations

from starlette.testclient import TestClient


class TestUnknownPath:
    """Nothing is there."""

    def test_programs_get_json(self, client: TestClient) -> None:
        """An API answer names the error and what was asked for."""
        answer = client.get("/api/v1/nothing")
        assert answer.status_code == 404
        assert answer.json() == {"error": "NotFound", "detail": "nothing is at /api/v1/nothing", "problems": []}

    def test_people_get_a_page(self, client: TestClient) -> None:
        """A browser gets a page in the common frame."""
        answer = client.get("/nothing", headers={"accept": "text/html"})
        assert answer.status_code == 404
        assert "nothing is at /nothing" in answer.text
        assert 'aria-label="Pages"' in answer.text
