"""Who begins: what is looked at, how often, and who may not take the places of others."""

from __future__ import annotations

import numpy as np
import pytest
from httpx2 import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.listening import add_test, begin, fair, kept, question, take, whole

from codec_superb.server.database.listening import ListeningTest, Participant, Rating
from codec_superb.server.database.models import now
from codec_superb.server.database.session import Database
from codec_superb.server.listening_tests import repository, service
from codec_superb.server.listening_tests.definition import Definition
from codec_superb.server.listening_tests.screening import Answered


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note each reading of all ratings: whether it was made in a write transaction."""
    found: list[bool] = []
    repository_answers = repository.answers

    def answers(session: Session, test: str) -> list[Answered]:
        found.append(session.connection().get_execution_options().get("write", False))
        return repository_answers(session, test)

    monkeypatch.setattr(repository, "answers", answers)
    return found


@pytest.mark.sample(4, among="taking part in a listening test")
def test_who_begins_has_the_ratings_looked_at_once(
    client: TestClient, database: Database, test_id: str, looked: list[bool]
) -> None:
    """Of a full test all ratings are read once for each that finishes, and never while others wait to write."""
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
    client: TestClient, database: Database, test_id: str, looked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between look-up and write the last one finishes: whoever comes then still begins, the next one no more."""

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
    is_full = service.is_full
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
        assert session.scalar(select(func.count()).select_from(Participant)) == 11
        assert repository.counts(session, test_id) == (2, 1)  # who only looks at the first question has not begun
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
