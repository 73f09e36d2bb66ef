"""Taking part: nothing tells which sound is which, nothing finished is lost, and nobody answers for others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from httpx2 import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.listening import NOISE, add_test, fair, hear, question, take
from support.server.people import log_in, make_token

from codec_superb.server.database.listening import ListeningTest, Participant, Rating
from codec_superb.server.database.models import Submission, now
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, Conflict
from codec_superb.server.listening_tests import repository, service
from codec_superb.server.listening_tests.definition import Definition
from codec_superb.server.listening_tests.screening import Answered
from codec_superb.server.listening_tests.service import advance, answer, bind, found, progress, start


@pytest.fixture
def test_id(database: Database) -> str:
    """Open a MUSHRA test of two clips that asks for the age."""
    with database.transaction(write=True) as session:
        return add_test(session, "mushra", clips=2, ask=["age"], participants=5)


def begin(client: TestClient, test: str, **about: str) -> dict[str, Any]:
    """Begin as somebody new and return the first question."""
    client.cookies.clear()
    client.post(f"/listening/{test}/start", data={"x": "", **about})
    return question(client, test)


def whole(asked: dict[str, Any], value: str = "50") -> dict[str, str]:
    """Write an answer that rates every sound the same."""
    rated = (label for label in asked["sounds"] if label != "Reference")
    return {"trial": asked["trial"], "seconds": "2"} | {f"rating-{label}": value for label in rated}


def kept(database: Database) -> int:
    """Count the ratings."""
    with database.transaction() as session:
        return session.scalar(select(func.count(Rating.id))) or 0


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
    asked = begin(client, test_id, age="20 to 29")
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
def test_who_begins_has_the_ratings_looked_at_once(
    client: TestClient, database: Database, test_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a full test all ratings are read once for each that finishes, and never while others wait to write."""
    looked: list[bool] = []

    def answers(session: Session, test: str) -> list[Answered]:
        looked.append(session.connection().get_execution_options().get("write", False))
        return repository_answers(session, test)

    repository_answers = repository.answers
    monkeypatch.setattr(repository, "answers", answers)
    for seed in range(4):
        take(client, test_id, fair(np.random.default_rng(seed)))
    assert looked == []  # fewer have finished than are needed
    late = begin(client, test_id)
    late_cookies = dict(client.cookies)
    take(client, test_id, fair(np.random.default_rng(4)))
    for _ in range(5):
        client.cookies.clear()
        assert client.post(f"/listening/{test_id}/start", data={"x": ""}).status_code == 409
    assert looked == [False]
    client.cookies.clear()
    client.cookies.update(late_cookies)
    client.post(f"/listening/{test_id}/question", data=whole(late))
    client.post(f"/listening/{test_id}/question", data=whole(question(client, test_id)))
    for _ in range(2):
        client.cookies.clear()
        assert client.post(f"/listening/{test_id}/start", data={"x": ""}).status_code == 409
    assert looked == [False, False]


@pytest.mark.sample(4, among="taking part in a listening test")
def test_who_finishes_while_another_begins_has_nobody_count_again(
    client: TestClient, database: Database, test_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between look-up and write the last one finishes: whoever comes then still begins, the next one no more."""
    looked: list[bool] = []

    def answers(session: Session, test: str) -> list[Answered]:
        looked.append(session.connection().get_execution_options().get("write", False))
        return repository_answers(session, test)

    def looked_up(session: Session, test: ListeningTest) -> bool:
        full = is_full(session, test)
        if not last:
            last.append(True)
            begun = dict(client.cookies)
            client.cookies.clear()
            client.cookies.update(late_cookies)
            client.post(f"/listening/{test_id}/question", data=whole(question(client, test_id)))
            client.cookies.clear()
            client.cookies.update(begun)
        return full

    last: list[bool] = []
    repository_answers, is_full = repository.answers, service.is_full
    monkeypatch.setattr(repository, "answers", answers)
    for seed in range(4):
        take(client, test_id, fair(np.random.default_rng(seed)))
    client.post(f"/listening/{test_id}/question", data=whole(begin(client, test_id)))
    late_cookies = dict(client.cookies)
    client.cookies.clear()
    monkeypatch.setattr(service, "is_full", looked_up)
    begun = client.post(f"/listening/{test_id}/start", data={"x": ""}, follow_redirects=False)
    assert begun.status_code == 303
    assert looked == []
    client.cookies.clear()
    client.post(f"/listening/{test_id}/start", data={"x": ""})
    assert looked == [False]


@pytest.mark.sample(4, among="taking part in a listening test")
def test_people_who_only_begin_take_nobodys_place(
    client: TestClient, database: Database, test_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many begin, or answer at random, whoever comes then is asked; who has answered lately keeps the place."""
    for _ in range(10):
        begin(client, test_id)
    take(client, test_id, fair(np.random.default_rng(1)))
    assert kept(database) == 12
    monkeypatch.setattr(service, "BEGINNERS", 10)
    client.cookies.clear()
    begin(client, test_id)
    client.post(f"/listening/{test_id}/question", data=whole(question(client, test_id)))
    under_way = dict(client.cookies)
    for _ in range(12):
        client.cookies.clear()
        begin(client, test_id)
    with database.transaction(write=True) as session:
        assert repository.counts(session, test_id) == (11, 1)
        for seed in range(5):  # fakes, all of whom the screening leaves out
            fake = Participant(test_id=test_id, token_sha256=f"{seed:064}", seed=seed, finished=now(), answers={})
            session.add(fake)
            session.flush()
            for person, rating in repository.ratings(session, test_id):
                if person.finished and not person.token_sha256.startswith("0" * 8):
                    wrong = Rating(trial=rating.trial, condition=rating.condition, value=0.0, seconds=1.0)
                    wrong.participant_id = fake.id
                    session.add(wrong)
    client.cookies.clear()
    begin(client, test_id)
    client.cookies.clear()
    client.cookies.update(under_way)
    assert question(client, test_id)["trial"] == "2"


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


@pytest.mark.sample(4, among="taking part in a listening test")
def test_nobody_fills_a_test_alone(client: TestClient, database: Database) -> None:
    """As many of one address answer a day as the test takes, five where it says nothing; each test counts by itself.

    Those who look and leave take nobody's place, up to ten times as many.
    """
    with database.transaction(write=True) as session:
        usual = add_test(session, "acr", clips=1, per_address=Definition.model_fields["per_address"].default)
        laboratory = add_test(session, "acr", clips=1, per_address=7)

    def sent(test: str, *, answers: bool) -> Response:
        client.cookies.clear()
        told = client.post(f"/listening/{test}/start", data={"x": ""}, follow_redirects=False)
        if not answers or told.status_code != 303:
            return told
        return client.post(
            f"/listening/{test}/question", data=whole(question(client, test), "3"), follow_redirects=False
        )

    for test, most in ((usual, 5), (laboratory, 7)):
        assert {sent(test, answers=False).status_code for _ in range(most)} == {303}
        sent(test, answers=False)
        late = client.cookies[f"listening-{test}"]
        answers = [sent(test, answers=True) for _ in range(most + 1)]
        assert [each.status_code for each in answers] == [303] * most + [429]
        assert f"at most {most} people a day" in answers[-1].json()["detail"]
        assert 80_000 < int(answers[-1].headers["retry-after"]) <= 86_400
        before = kept(database)
        client.cookies.set(f"listening-{test}", late)
        asked = question(client, test)
        assert client.post(f"/listening/{test}/question", data=whole(asked, "3")).status_code == 429
        assert kept(database) == before
    with database.transaction(write=True) as session:
        lonely = add_test(session, "acr", clips=1, per_address=1)
    assert [sent(lonely, answers=False).status_code for _ in range(11)] == [303] * 10 + [429]


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
