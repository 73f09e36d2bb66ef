"""The page of understanding: codecs by task with ceiling and chance, published averages apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, expect
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import CLIPS, Probed, make_submission
from support.server.understanding import CHANCE, KBPS, TASK, make_understanding_codecs
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.applications.understanding.conversion.published import PublishedFigure
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest
from codec_superb.server.published.importing import add_models, remove
from codec_superb.server.settings import Settings
from codec_superb.web.site.understanding.published import LIMIT

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
    assert page.count("self-reported by someone") == len(KBPS)
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


def test_imported_models_stand_apart_with_source_and_failures(client: TestClient, database: Database) -> None:
    """Escaped, by dataset; an import replaces the one before, and one can be removed; the API has every figure."""
    first = PublishedFigure("mine<b>", "hsk6", "speech_hsk", "acc(%)", 61.256, "2026-07-30T09:05:01", 90, 10, "ours")
    many = [first._replace(figure=f"f{number}", answered=None, failed=None) for number in range(LIMIT)]
    with database.transaction(write=True) as session:
        add_models(session, [first._replace(value=1)], "old", actor="test")
        assert add_models(session, [first, *many], "our own run", actor="test", replace=True) == {"mine<b>": LIMIT + 1}
        with pytest.raises(BadRequest, match="is among the published rows of the program already"):
            add_models(session, [first._replace(model="Gemini-2.5-Pro")], "x", actor="test")
        with pytest.raises(BadRequest, match="expected results of at least one model, got none"):
            add_models(session, [], "x", actor="test")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    page = client.get("/understanding").text
    for shown in ("mine&lt;b&gt;", "our own run, 2026-07-30", "asked here as und_speech_hsk", "10 failed", "61.26"):
        assert shown in page, shown
    assert f"the first {LIMIT} of {LIMIT + 1} figures" in page
    figures = client.get("/api/v1/understanding/published").json()["figures"]
    assert [each["value"] for each in figures] == [first.value] * (LIMIT + 1)
    assert figures[0]["source"] == "our own run"
    with database.transaction(write=True) as session:
        remove(session, "ultraeval", first.model, actor="test")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    assert "Models that a maintainer imported" not in client.get("/understanding").text


@pytest.fixture
def site(settings: Settings) -> Iterator[str]:
    """Serve the same in a process that a browser reaches."""
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        make_understanding_codecs(session)
        _add_average(session, "speex_8k", 60.25)
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


def _add_average(
    session: Session,
    codec: str,
    value: float,
    *,
    clips: int = CLIPS,
    backend: str = "faster-whisper:large-v3",
    width: float | None = 0.5,
) -> None:
    """Store a codec of an account of its own with UltraEval-Audio's average over two datasets."""
    sets = {"librispeech_dev_clean": ("speech",), "aishell1": ("speech",)}
    probed = [Probed("sim_pct", value, 99.0, name, backend, clips=clips, left_out=0, width=width) for name in sets]
    result = {"complete": clips == CLIPS}
    made = make_submission(
        session,
        codec,
        datasets=sets,
        owner=f"of {codec}",
        result=result,
        applications=probed,  # type: ignore[arg-type]
    )
    submission = session.get_one(Submission, made)
    figures = submission.document["applications"]
    average = {**figures[0], "probe": "ultra", "figure": "ultra_average", "dataset": "", "n": 2 * figures[0]["n"]}
    submission.document = {**submission.document, "applications": [*figures, average]}


def test_without_any_interval_complete_averages_stand_first(app: FastAPI, database: Database) -> None:
    """No codec has a rank then: few clips, or other models, are no way to the top, and are told."""
    with database.transaction(write=True) as session:
        for codec, value in {"opus_6k": 60.25, "opus_12k": 70.25}.items():
            _add_average(session, codec, value, width=None)
        _add_average(session, "few_clips", 98.75, clips=CLIPS - 4, width=None)
        _add_average(session, "small_model", 97.75, backend="faster-whisper:tiny", width=None)
    with TestClient(app) as client:
        page = client.get("/understanding").text
    own, _ = page.split('<h2 id="averages">Published averages</h2>')
    assert re.findall(r'href="/codecs/([^"]+)"', own) == ["opus_12k", "opus_6k", "few_clips", "small_model"]
    assert "32 of 40 clips" in own


def test_averages_of_submitted_codecs_stand_apart_from_the_published(app: FastAPI, database: Database) -> None:
    """In the board's order, with who says so: few clips, or other models, stand behind those that most senders have."""
    with database.transaction(write=True) as session:
        make_submission(session, "mp3_64k", 64.0)
        for codec, value in {"opus_6k": 60.25, "opus_12k": 70.25, "lyra_3.2k": 50.25}.items():
            _add_average(session, codec, value)
        _add_average(session, "few_clips", 98.75, clips=CLIPS - 4)
        _add_average(session, "small_model", 97.75, backend="faster-whisper:tiny")
    with TestClient(app) as client:
        page = client.get("/understanding").text
    own, published = page.split('<h2 id="averages">Published averages</h2>')
    rows = re.findall(
        r'<tr>\s*<th scope="row"><a href="/codecs/([^"]+)">.*?<small>(.*?)</small>(.*?)</tr>', own, re.DOTALL
    )
    assert [codec for codec, _, _ in rows] == ["opus_12k", "opus_6k", "lyra_3.2k", "few_clips", "small_model"]
    assert all(source == f"self-reported by of {codec}" for codec, source, _ in rows)
    told = {codec: text for codec, _, text in rows}
    for shown in ("98.75", "32 of 40 clips", "incomplete: not all clips of the datasets were run"):
        assert shown in told["few_clips"], shown
    assert (
        "answered by faster-whisper:tiny (abababababab); ranked are those answered by faster-whisper:large"
        in told["small_model"]
    )
    assert "warning" not in told["opus_12k"]
    assert not re.search("self-reported|few_clips|opus", published)
    assert "82.29" in published
    assert "82.29" not in own
