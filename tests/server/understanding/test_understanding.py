"""The page of understanding: codecs by task with ceiling and chance, published averages apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient
from support.server.understanding import CHANCE, TASK, make_understanding_codecs
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

FIGURE = f"{TASK.key}_accuracy_pct"


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve codecs with results of a task, which are there when the service starts."""
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
    with TestClient(app) as running:
        yield running


def test_without_results_the_page_shows_the_published_averages(client: TestClient) -> None:
    """All three, marked, with what contradicts them."""
    page = client.get("/understanding").text
    assert "No results yet" in page
    assert "published, not re-run here" in page
    for shown in ("84.92", "74.00", "82.29", "CMMLU 49.22", "CMMLU 66.98"):
        assert shown in page


def test_codecs_stand_by_task_below_the_original_and_chance(board: TestClient) -> None:
    """Value, loss, agreement and unread answers of each codec; a codec without the task is not there."""
    page = board.get("/understanding?dataset=stamps").text
    for shown in (TASK.label, "Original sound", "80.00", "guessing among the options", "25.00", "agreement\u00a065.0"):
        assert shown in page, shown
    assert "unread\u00a04.0" in page
    assert "mp3_64k" not in page
    refused = board.get("/understanding?dataset=moon")
    assert refused.status_code == 404
    assert "there are stamps" in refused.text


def test_the_chart_has_the_codecs_and_both_lines(board: TestClient) -> None:
    """The original and guessing are drawn at their values; an unknown figure names those that there are."""
    drawn = board.get(f"/api/v1/understanding/figures/rate?figure={FIGURE}&dataset=stamps").json()
    assert {75.0, 60.0, 35.0} <= {value for trace in drawn["data"] for value in trace["y"]}
    assert sorted(shape["y0"] for shape in drawn["layout"]["shapes"]) == pytest.approx([CHANCE, 80.0])
    refused = board.get("/api/v1/understanding/figures/rate?figure=pesq&dataset=stamps")
    assert refused.status_code == 404
    assert FIGURE in refused.text


@pytest.fixture
def site(settings: Settings) -> Iterator[str]:
    """Serve the same in a process that a browser reaches."""
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
    database.close()
    with running_site(settings) as address:
        yield address


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_visitor_sees_the_chart_and_no_barrier(browser: Browser, site: str, width: int, scheme: str) -> None:
    """Everything is drawn, nothing is wider than the window, and axe-core finds nothing serious."""
    with visitor(browser, site, width, scheme=scheme) as page:
        page.goto("/understanding?dataset=stamps")
        for chart in page.locator("[data-figure]").all():
            chart.scroll_into_view_if_needed()
            expect(chart).to_have_attribute("data-state", "drawn")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessibility_faults(page) == []


def test_averages_of_submitted_codecs_stand_beside_the_published(app: FastAPI, database: Database) -> None:
    """Sorted with them, with who says so; a codec without the average is not there."""
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
        submission = next(of for of in session.query(Submission) if of.codec.name == "lyra_3.2k")
        entry = {**submission.document["applications"][0], "probe": "ultra", "figure": "ultra_average", "dataset": ""}
        entry["resynthesis"] = {**entry["resynthesis"], "value": 61.25}
        submission.document = {**submission.document, "applications": [*submission.document["applications"], entry]}
    with TestClient(app) as client:
        page = client.get("/understanding").text
    table = page[page.rindex("<h3>Codecs</h3>") :]
    rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
    values = [float(found[0]) for row in rows if (found := re.findall(r">\s*(-?\d+\.\d\d)\s*<", row))]
    assert values == sorted(values, reverse=True)
    (own,) = (row for row in rows if "61.25" in row)
    assert 'href="/codecs/lyra_3.2k"' in own
    assert "self-reported by someone" in own
    assert "opus_6k" not in table
    assert sum("published" in row for row in rows) == len(values) - 1 > 5
