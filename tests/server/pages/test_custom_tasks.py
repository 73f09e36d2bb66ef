"""Custom tasks of all submissions on ``/custom``: main figures, equal definitions together, never on the board."""

from __future__ import annotations

import re

from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import make_submission
from support.server.understanding import TASK, make_understanding_codecs

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.server.database.models import Account, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.storage.custom_tasks import FIELD, CustomTask


def _custom(figure: ApplicationAggregate, key: str, label: str, digest: str) -> dict[str, object]:
    return CustomTask(
        label=label, unit="%", higher_is_better=True, decimals=2, task_sha256=digest * 64, chat="cascade",
        prompt_sha256="b" * 64, version="1",
        figure=figure.model_copy(update={"probe": f"und_{key}", "figure": f"und_{key}_accuracy_pct"}),
    ).model_dump(mode="json")  # fmt: skip


def test_all_submissions_custom_tasks_are_listed(app: FastAPI, database: Database) -> None:
    """Codecs with the same definition stand beside each other; titles are text, and another figure is not listed."""
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
        make_submission(session, "withdrawn_1k", 1.0, status="withdrawn")
        for submission in session.query(Submission):
            figures = submission.document.get("applications") or ()
            found = [
                ApplicationAggregate.model_validate(entry) for entry in figures if entry["figure"].endswith("y_pct")
            ]
            if not found or submission.codec.name == "lyra_3.2k":
                continue
            rows = [
                _custom(found[0], "topic", "Topic <b>: accuracy", "c"),
                _custom(found[0], "topic", "Topic: agreement", "c"),
                _custom(found[0], "else", "Else: accuracy", "d"),
            ]
            submission.document = {**submission.document, FIELD: rows}
            submission.status = "verified"
    with TestClient(app) as client:
        page = client.get("/custom").text
        tasks = page[page.index('id="tasks"') :]
        lines = [re.sub(r"<[^>]+>", " ", line).split() for line in tasks.split("<tr>")[2:]]
        assert [(line[0], line[line.index("stamps") + 1]) for line in lines] == [
            ("Else:", "Codec2"), ("Else:", "Opus"), ("Topic", "Codec2"), ("Topic", "Opus"),
        ]  # fmt: skip
        assert "Topic &lt;b&gt;: accuracy" in tasks
        assert "agreement" not in tasks
        assert all(value in tasks for value in ("80.00", "75.00", "35.00"))
        assert "Topic" not in client.get("/").text
        assert TASK.label not in tasks
        assert tasks.count(", not run again") == len(lines)  # only its maker runs a task


def test_one_account_fills_no_page(app: FastAPI, database: Database) -> None:
    """Two hundred tasks in front by their titles leave another account's on the first page; the rest is paged."""
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
        many, one = session.query(Submission).filter(Submission.status == "self-reported").limit(2)
        figure = ApplicationAggregate.model_validate(one.document["applications"][0])
        one.account = Account(name="honest")
        one.document = {**one.document, FIELD: [_custom(figure, "mine", "My task: accuracy", "c")]}
        flood = [
            _custom(figure, f"t{n}", f"AAA {n:03}: accuracy", "d") | {"task_sha256": f"{n:064x}"} for n in range(200)
        ]
        many.document = {**many.document, FIELD: flood}
    with TestClient(app) as client:
        first, second = (client.get(f"/custom?tasks={number}").text for number in (1, 2))
        assert ("My task" in first, first.count("AAA "), second.count("AAA ")) == (True, 199, 1)
        assert 'href="/custom?page=1&amp;tasks=2#tasks"' in first


def test_without_any_the_page_says_so(client: TestClient) -> None:
    """Both parts are there, empty."""
    assert client.get("/custom").text.count("None yet.") == 2
