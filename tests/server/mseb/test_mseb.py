"""The page and the API of MSEB: codecs on one dataset, published encoders apart, imported ones by maintainers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient
from support.server.mseb import CASCADE, KBPS, STAMPS, make_mseb_codecs
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.pipeline.literature.mseb import mseb_rows
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest, NotFound
from codec_superb.server.published.importing import add_encoders, remove
from codec_superb.server.published.repository import imported
from codec_superb.server.settings import Settings

MRR = "mseb_retrieval_passage_mrr"


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve codecs with results of MSEB, which are there when the service starts."""
    with database.transaction(write=True) as session:
        make_mseb_codecs(session)
    with TestClient(app) as running:
        yield running


def test_without_results_the_page_shows_the_published_encoders(client: TestClient) -> None:
    """Codecs come later; what is published is there at once."""
    page = client.get("/mseb").text
    assert "No results yet" in page
    assert "Gemini Embedding 001, true transcripts" in page
    assert "not reproducible" in page
    answer = client.get("/api/v1/mseb").json()
    assert (answer["dataset"], answer["codecs"], answer["tasks"]) == ("", [], [])


def test_the_page_shows_codecs_with_ceiling_oracle_and_what_is_missing(board: TestClient) -> None:
    """One dataset at a time; codecs by bitrate under the original sound."""
    page = board.get("/mseb?dataset=stamps").text
    table = page[page.index('id="mseb-board-caption"') : page.index('id="mseb-task"')]
    places = [
        table.index(word) for word in ("True transcripts", "Original sound", "Codec2 700", "Codec2 1200", "Opus 6K")
    ]
    assert places == sorted(places)
    assert "0.339" in table
    assert table.count("self-reported by someone") == 3
    assert table.count("not measured") == 3  # Codec2 at 1200 bit/s has no segmentation, clustering, reconstruction
    assert "reasoning, classification" in page
    assert "MP3 64K" not in table  # has other results alone


def test_the_api_gives_the_same_as_numbers(board: TestClient) -> None:
    """Each super task with figure, model, ceiling and oracle; each codec with its figures."""
    answer = board.get("/api/v1/mseb?dataset=stamps").json()
    assert answer["datasets"][0] == "stamps"
    tasks = {task["task"]: task for task in answer["tasks"]}
    assert list(tasks) == ["retrieval", "reranking", "transcription", "segmentation", "clustering", "reconstruction"]
    assert tasks["retrieval"]["figure"] == MRR
    assert tasks["retrieval"]["model"] == CASCADE
    assert tasks["retrieval"]["reference"]["value"] == STAMPS[MRR][""]
    assert tasks["retrieval"]["oracle"]["value"] == 1.0
    found = {codec["codec"]: codec["figures"][MRR]["numbers"]["resynthesis"]["value"] for codec in answer["codecs"]}
    assert found == {codec: STAMPS[MRR][codec] for codec in KBPS}


def test_without_a_choice_the_dataset_with_most_codecs_is_shown(board: TestClient) -> None:
    """An unknown one is named with those that there are."""
    assert board.get("/api/v1/mseb").json()["dataset"] == "stamps"
    refused = board.get("/api/v1/mseb?dataset=moon")
    assert refused.status_code == 404
    assert "there are stamps, svq_ar_x_gulf" in refused.json()["detail"]


def test_charts_are_drawn_and_refused(board: TestClient) -> None:
    """Against bitrate, eight spokes, locales by conditions; each says what it cannot draw."""
    rate = board.get(f"/api/v1/mseb/figures/rate?figure={MRR}&dataset=stamps").json()
    assert sorted(x for t in rate["data"] if t["meta"]["role"] == "family" for x in t["x"]) != []
    spokes = board.get("/api/v1/codecs/opus_6k/figures/spokes").json()
    assert len(spokes["layout"]["polar"]["angularaxis"]["categoryarray"]) == 8
    heat = board.get(f"/api/v1/codecs/opus_6k/figures/locales?figure={MRR}&shown=loss").json()
    assert len(heat["data"][0]["z"]) == 5
    for address, says in (
        ("/api/v1/mseb/figures/rate?figure=pesq&dataset=stamps", "there are mseb_"),
        ("/api/v1/codecs/mp3_64k/figures/spokes", "has no results of MSEB"),
        ("/api/v1/codecs/codec2_700/figures/locales?figure=nothing", "there are none"),
    ):
        refused = board.get(address)
        assert refused.status_code == 404
        assert says in refused.json()["detail"]


def test_a_codecs_page_has_its_spokes_and_no_figure_twice(board: TestClient) -> None:
    """MSEB stands by itself: a codec without other applications has no such section."""
    page = board.get("/codecs/opus_6k").text
    assert '<h2 id="mseb-title">MSEB</h2>' in page
    assert '<h2 id="applications-title">' not in page
    assert '<h2 id="mseb-title">' not in board.get("/codecs/mp3_64k").text
    answer = board.get("/api/v1/codecs/opus_6k/mseb").json()
    assert {figure["numbers"]["dataset"] for figure in answer["figures"]} >= {"stamps", "svq_sw"}
    assert {figure["numbers"]["slice"] for figure in answer["slices"]} == {
        "background_speech", "clean", "media_noise", "traffic_noise",
    }  # fmt: skip


def test_published_means_are_answered_with_what_they_lack(client: TestClient) -> None:
    """A mean over thirteen of seventeen locales names the four."""
    answer = client.get("/api/v1/mseb/published").json()
    (found,) = (
        each
        for each in answer["figures"]
        if (each["encoder"], each["task"], each["metric"])
        == ("gemini_embedding_001_transcript_truth_or_gemini_embedding_001", "SVQDocumentInLangRetrieval", "MRR")
    )
    assert (round(found["mean"], 4), found["locales"]) == (0.7258, 13)
    assert found["missing"] == ["en-AU", "en-GB", "en-IN", "en-PH"]
    assert answer["date"] == "2026-08-20"


ROW = MsebRow(
    "mine<b>", "SVQSwSpeechTranscription", "SpeechTranscription", "speech_transcription", "sw", "WER", 0.123456, None
)


@pytest.mark.sample(1, among="pages fit")
def test_imported_encoders_stand_beside_the_published_ones(client: TestClient, database: Database) -> None:
    """With their source, escaped; an import replaces the one before; and one can be removed."""
    with database.transaction(write=True) as session:
        add_encoders(session, [ROW._replace(value=0.9)], "first", actor="test")
        assert add_encoders(session, [ROW], "our own run, 2026-11", actor="test", replace=True) == {"mine<b>": 1}
    board = client.app.state.board  # type: ignore[attr-defined]
    board.refresh()
    page = client.get("/mseb").text
    assert "mine&lt;b&gt;" in page
    assert "imported: our own run, 2026-11" in page
    assert "0.1235" in page
    assert "1 of 26" in page
    figures = client.get("/api/v1/mseb/published").json()["figures"]
    own = [(each["mean"], each["source"]) for each in figures if each["encoder"] == ROW.encoder]
    assert own == [(ROW.value, "our own run, 2026-11")]
    assert {each["source"] for each in figures if each["encoder"] != ROW.encoder} == {""}
    with database.transaction(write=True) as session:
        remove(session, "mseb", ROW.encoder, actor="test")
        assert not imported(session, "mseb")
    board.refresh()
    assert "mine&lt;b&gt;" not in client.get("/mseb").text


def test_imports_that_cannot_be_shown_are_refused(database: Database) -> None:
    """The program's own rows, a locale twice, nothing, names that turn a page round, too many tables, no such name."""
    with database.transaction(write=True) as session:
        for rows, says in (
            ([], "got none"),
            ([mseb_rows()[0]], "is among the published rows of the program already"),
            ([ROW, ROW], "expected each locale once"),
            ([ROW._replace(encoder="mine\u202e")], "U\\+202E"),
            ([ROW._replace(sub_task="\x1b[31m")], "U\\+001B"),
            ([ROW._replace(sub_task=f"part {at}") for at in range(1_001)], "at most 1,000 sub-tasks, got 1,001"),
        ):
            with pytest.raises(BadRequest, match=says):
                add_encoders(session, rows, "x", actor="test")
        with pytest.raises(NotFound, match="no imported encoder 'nobody'"):
            remove(session, "mseb", "nobody", actor="test")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the codecs to a browser."""
    settings = Settings(storage=tmp_path_factory.mktemp("site"), secret_key="x" * 40)
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        make_mseb_codecs(session)
    database.close()
    with running_site(settings) as address:
        yield address


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.sample(2)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("path", ["/mseb?dataset=stamps", "/codecs/opus_6k#mseb"])
def test_a_visitor_sees_charts_and_no_barrier(browser: Browser, site: str, path: str, width: int, scheme: str) -> None:
    """Everything is drawn, nothing is wider than the window, and axe-core finds nothing serious."""
    with visitor(browser, site, width, scheme=scheme) as page:
        page.goto(path)
        for chart in page.locator("[data-figure]").all():
            chart.scroll_into_view_if_needed()
            expect(chart).to_have_attribute("data-state", "drawn")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessibility_faults(page) == []
