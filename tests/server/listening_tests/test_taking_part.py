"""Taking part: nothing tells which sound is which, nothing finished is lost, and nobody answers for others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.listening import NOISE, add_test, begin, fair, hear, kept, question, take, whole
from support.server.people import log_in, make_token

from codec_superb.server.database.listening import ListeningTest, Participant, Rating
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, Conflict
from codec_superb.server.listening_tests.service import advance, answer, bind, found, progress, start


def test_nothing_tells_which_is_which(client: TestClient, test_id: str) -> None:
    """Page, addresses, sizes and headers are the same for all sounds of a question; no sound has another's address."""
    first = begin(client, test_id)
    assert not any(name in first["page"] for name in [*NOISE, "anchor", "gold"])
    assert len(set(first["sounds"].values())) == 7  # the reference, its hidden copy, two anchors, three codecs
    answers = [client.get(url) for url in first["sounds"].values()]
    assert len({answer.headers["content-length"] for answer in answers}) == 1
    heads = [{k: v for k, v in answer.headers.items() if k != "x-request-id"} for answer in answers]
    assert all(head == heads[0] for head in heads)
    assert not {"etag", "last-modified", "content-encoding"} & set(heads[0])
    assert heads[0]["cache-control"] == "private, no-store"
    assert all(re.fullmatch(r"/listening/\w+/sounds/[0-9a-f]{32}\.flac", url) for url in first["sounds"].values())
    # in parts too, as players ask
    part = client.get(first["sounds"]["A"], headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content, part.headers["content-type"]) == (206, b"fLaC", "audio/flac")
    second = begin(client, test_id)
    assert not set(first["sounds"].values()) & set(second["sounds"].values())
    assert client.get(first["sounds"]["A"]).status_code == 404  # of somebody else


@pytest.mark.sample(4, among="taking part in a listening test")
def test_places_are_drawn(client: TestClient, database: Database) -> None:
    """The hidden reference stands anywhere: over listeners no place has it always."""
    with database.transaction(write=True) as session:
        test = add_test(session, "mushra", clips=1)
    places: Counter[str] = Counter()
    for _ in range(8):
        sounds = hear(client, begin(client, test))
        places[
            next(
                label
                for label, its in sounds.items()
                if label != "Reference" and np.array_equal(its, sounds["Reference"])
            )
        ] += 1
    assert len(places) > 1  # of six places: by chance one of 300,000 runs has the same eight times


@pytest.mark.sample(4, among="taking part in a listening test")
def test_answers_are_kept_one_by_one_and_once(client: TestClient, database: Database, test_id: str) -> None:
    """Sent twice an answer stays the first; the place is kept over a lost browser, by the link alone."""
    asked = begin(client, test_id, age="20 to 29", hearing="no difficulty", name="Ann")  # the age alone is asked for
    assert asked["trial"] == "1"
    answer = whole(asked)
    for value in (answer, whole(asked, "99"), answer):
        assert client.post(f"/listening/{test_id}/question", data=value, follow_redirects=False).status_code == 303
    assert kept(database) == 6
    with database.transaction() as session:
        assert set(session.scalars(select(Rating.value))) == {50.0}
        assert session.scalars(select(Participant.answers)).one() == {"age": "20 to 29"}
    asked = question(client, test_id)
    link = re.search(r"<code>https?://[^/]+(/listening/\w+/resume/[\w-]+)</code>", asked["page"])
    assert link is not None
    client.cookies.clear()
    assert question(client, test_id) == {}  # nobody without the cookie
    lost = client.post(f"/listening/{test_id}/question", data=whole(asked), headers={"accept": "text/html"})
    assert (lost.status_code, "this answer was not kept" in lost.text, kept(database)) == (409, True, 6)
    assert f"listening-{test_id}=" not in client.get(link[1]).headers["set-cookie"]  # it may be somebody else's link
    resumed = client.post(link[1], follow_redirects=False)
    cookie = resumed.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Path=/listening/{test_id}" in cookie
    assert question(client, test_id)["trial"] == "2"
    client.post(f"/listening/{test_id}/question", data=whole(question(client, test_id)))
    assert "Thank you" in client.get(f"/listening/{test_id}/question").text
    assert client.get(f"/listening/{test_id}/resume/{'x' * 32}").status_code == 404


def test_a_link_asks_before_it_takes_anothers_place(client: TestClient, database: Database, test_id: str) -> None:
    """In a browser where somebody has not finished, their cookie stays until a button is pressed; no other site can."""

    def token_in(page: str) -> str:
        found = re.search(r"/resume/([\w-]+)</code>", page)
        assert found is not None
        return found[1]

    first = token_in(begin(client, test_id)["page"])
    second = token_in(begin(client, test_id)["page"])
    address, cookie = f"/listening/{test_id}/resume/{first}", f"listening-{test_id}"
    asked = client.get(address)
    assert (asked.status_code, token_in(asked.text)) == (200, second)
    assert client.cookies[cookie] == second
    assert client.get(f"/listening/{test_id}/resume/{second}", follow_redirects=False).status_code == 303
    assert client.post(address, follow_redirects=False).headers["location"] == f"/listening/{test_id}/question"
    assert client.cookies[cookie] == first
    client.cookies.clear()
    elsewhere = client.post(address, follow_redirects=False)
    assert (elsewhere.headers["location"], "set-cookie" in elsewhere.headers) == (address, False)


def test_whoever_answers_everything_has_finished(client: TestClient, database: Database) -> None:
    """Also in a test made before definitions refused a pair that stands twice, whichever order is drawn."""
    with database.transaction(write=True) as session:
        test = add_test(session, "ab", clips=1, gold=1, pairs=[["fine_24k", "poor_6k"]])
        made = session.get_one(ListeningTest, test)
        made.settings = {**made.settings, "pairs": made.settings["pairs"] * 2}
    for seed in range(6):
        take(client, test, fair(np.random.default_rng(seed)))
    with database.transaction() as session:
        assert all(session.scalars(select(Participant.finished)))


BROKEN: Sequence[dict[str, str]] = (
    {"rating-A": ""}, {"rating-A": "101"}, {"rating-A": "-1"}, {"rating-A": "1e1"}, {"rating-A": "٣"},
    {"rating-A": "9" * 5000}, {"trial": "2"}, {"trial": "0"}, {"trial": "x"}, {"trial": "9" * 5000},
)  # fmt: skip


def test_an_answer_that_is_not_whole_is_refused(client: TestClient, database: Database, test_id: str) -> None:
    """Nothing of it is kept, and the question stands."""
    asked = begin(client, test_id)
    for change in BROKEN:
        sent = client.post(f"/listening/{test_id}/question", data=whole(asked) | change)
        assert sent.status_code == 400, change
        assert "expected" in sent.json()["detail"]
    assert kept(database) == 0
    assert question(client, test_id)["trial"] == "1"


@pytest.mark.sample(4, among="taking part in a listening test")
def test_a_test_that_is_not_open_refuses_politely(client: TestClient, database: Database, test_id: str) -> None:
    """Before it opens, when it is full and when it is over; what was answered stays."""
    with database.transaction(write=True) as session:
        draft = add_test(session, "acr", clips=1, state="draft")
    assert "not begun" in client.get(f"/listening/{draft}").json()["detail"]
    assert client.post(f"/listening/{draft}/start", data={"x": ""}).status_code == 409
    assert client.get(f"/listening/{draft}/results").status_code == 404
    assert draft not in client.get("/listening").text
    for seed in range(4):
        take(client, test_id, fair(np.random.default_rng(seed)))
    asked = begin(client, test_id)
    take(client, test_id, fair(np.random.default_rng(5)))
    client.cookies.clear()
    full = client.post(f"/listening/{test_id}/start", data={"x": ""})
    assert (full.status_code, "all the listeners" in full.json()["detail"]) == (409, True)
    with database.transaction(write=True) as session:
        advance(session, test_id, "closed", actor="tests")
    late = client.post(f"/listening/{test_id}/question", data=whole(asked))
    assert late.status_code == 409  # the cookie is gone
    assert kept(database) == 5 * 12
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    assert "See the results" in client.get(f"/listening/{test_id}").text
    assert f"/listening/{test_id}/results" in client.get("/listening").text


@pytest.mark.sample(4, among="taking part in a listening test")
def test_closed_results_stand_on_the_codecs_page(client: TestClient, database: Database) -> None:
    """Of a closed test whose runs a maintainer bound to the submission: by no name alone, and of no newer version."""
    with database.transaction(write=True) as session:
        submission = make_submission(session, "fine_24k")
        test = add_test(session, "mushra", clips=1)
    take(client, test, fair(np.random.default_rng(1)))
    take(client, test, fair(np.random.default_rng(2)))
    assert "Heard by people" not in client.get("/codecs/fine_24k").text
    with database.transaction(write=True) as session:
        advance(session, test, "closed", actor="tests")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    assert "Heard by people" not in client.get("/codecs/fine_24k").text
    assert "/codecs/fine_24k" not in client.get(f"/listening/{test}/results").text
    with database.transaction(write=True) as session:
        assert bind(session, test, submission, actor="tests") == "fine_24k"
        with pytest.raises(BadRequest):
            bind(session, test, make_submission(session, "another_24k"), actor="tests")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    page = client.get("/codecs/fine_24k").text
    assert "Heard by people" in page
    assert f'<a href="/listening/{test}/results">A test by MUSHRA</a>' in page
    assert "2 ratings" in page
    assert '<li><a href="#heard">Heard by people</a></li>' in page
    told = '<a href="/codecs/fine_24k">fine_24k</a> <small>results self-reported by someone</small>'
    assert told in client.get(f"/listening/{test}/results").text
    with database.transaction(write=True) as session:
        make_submission(session, "fine_24k")
        session.get_one(Submission, submission).status = "withdrawn"
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    assert "Heard by people" not in client.get("/codecs/fine_24k").text
    assert "fine_24k <small>results withdrawn since</small>" in client.get(f"/listening/{test}/results").text
    assert client.get(f"/api/v1/listening-tests/{test}/results").json()["heard_from"]["fine_24k"] == "withdrawn since"


def test_moderators_open_close_and_remove_tests_in_the_browser(client: TestClient, database: Database) -> None:
    """Others are sent to the login or refused, forms of other sessions too; steps go forward, a title removes one."""
    with database.transaction(write=True) as session:
        test = add_test(session, "abx", clips=1, state="draft")
    path = "/moderation/listening"
    assert client.get(path, follow_redirects=False).headers["location"] == f"/login?next={path}"
    assert client.post(f"{path}/{test}", data={"state": "open"}).status_code == 401
    csrf = log_in(client, make_token(database, "ann"))
    assert client.post(f"{path}/{test}", data={"state": "open"}).status_code == 403
    assert client.post(f"{path}/{test}", data={"state": "draft", "csrf": csrf}).status_code == 400
    assert client.post(f"{path}/{test}", data={"state": "closed", "csrf": csrf}).status_code == 409
    page = client.post(f"{path}/{test}", data={"state": "open", "csrf": csrf}).text
    assert f'<a href="/listening/{test}">A test by ABX</a>' in page
    assert "only moderators see this" in client.get(f"/listening/{test}/results").text
    assert client.post(f"{path}/{test}", data={"state": "closed", "csrf": csrf}).status_code == 200
    assert "listening.closed" in client.get("/moderation/audit").text
    away = {"state": "removed", "csrf": csrf}
    assert client.post(f"{path}/{test}", data=away).status_code == 400
    assert client.get(f"/listening/{test}/results").status_code == 200
    assert test not in client.post(f"{path}/{test}", data=away | {"title": "A test by ABX"}).text
    assert client.get(f"/listening/{test}/results").status_code == 404


@pytest.mark.sample(4, among="taking part in a listening test")
def test_an_answer_sent_twice_at_once_is_kept_once(client: TestClient, database: Database, test_id: str) -> None:
    """Both are answered alike, and there is one rating a sound."""
    asked = begin(client, test_id)
    with ThreadPoolExecutor(4) as pool:
        sent = [
            pool.submit(
                client.post, f"/listening/{test_id}/question", data=whole(asked, str(value)), follow_redirects=False
            )
            for value in (10, 20, 30, 40)
        ]
    assert {each.result().status_code for each in sent} == {303}
    assert kept(database) == 6
    with database.transaction() as session:
        assert len(set(session.scalars(select(Rating.value)))) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.sample(4, among="taking part in a listening test")
def test_closed_between_a_look_and_an_answer(client: TestClient, database: Database, test_id: str) -> None:
    """Nothing is kept behind the results; SQLite has one writer at a time, so that nobody closes it meanwhile."""
    begin(client, test_id)
    token = client.cookies[f"listening-{test_id}"]
    with database.transaction(write=True) as session:
        stands = progress(session, found(session, test_id), token)
        assert stands is not None
        with database.transaction(write=True) as moderator:
            advance(moderator, test_id, "closed", actor="moderator")
        fields = {"trial": "1", **{f"rating-{slot.label}": "50" for slot in stands.trials[0].slots}}
        with pytest.raises(Conflict, match="is over"):
            answer(session, stands, fields)
        with pytest.raises(Conflict, match="is over"):
            start(session, stands.test, {}, full=False)
    assert kept(database) == 0
