"""What pages show where nobody chose: what was run again, wherever something was; the rest is one click away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from starlette.testclient import TestClient
from support.server.board import Probed, board_as_it_comes, make_submission
from support.server.mseb import CASCADE
from support.server.understanding import TASK

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.board.current import Board
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.ingest.receipts import receipt
from codec_superb.server.settings import Settings

FIGURES = {
    "/mseb": Probed("mseb_retrieval_passage_mrr", 0.5, 0.6, "mini", CASCADE, width=0.05),
    "/understanding": Probed(f"{TASK.key}_accuracy_pct", 70.0, 80.0, "mini", "cascade"),
    "/xares": Probed("xares_knn_language_accuracy_pct", 46.0, 91.0, "mini", "log-mel-frames"),
    "/tokens": Probed("tokens_recode_pct", 46.0, 100.0, "mini", "codec-disturbed"),
}
CHARTS = {
    "/mseb": f"/api/v1/mseb/figures/rate?figure={FIGURES['/mseb'].figure}&dataset=mini",
    "/understanding": f"/api/v1/understanding/figures/rate?figure={FIGURES['/understanding'].figure}&dataset=mini",
    "/tokens": f"/api/v1/tokens/figures/rate?figure={FIGURES['/tokens'].figure}&dataset=mini",
}
CHECKED = ("checked_1k", "tested_1k", "measured_1k")
CARD = {"codebooks": 1, "frame_rate": 100, "codebook_size": 1024}
APPLICATIONS = list(FIGURES.values())


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Make a board as it comes: it prefers what was run again."""
    return board_as_it_comes(settings)


@pytest.fixture
def shown(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve three codecs of the maintainers, and one by an account's word."""
    with database.transaction(write=True) as session:
        made = {"card": CARD, "applications": APPLICATIONS}
        for name in CHECKED:
            make_submission(session, name, 1.0, status="verified", owner="maintainers", **made)  # type: ignore[arg-type]
        make_submission(session, "claimed_1k", 1.0, 0.9, owner="ann", **made)  # type: ignore[arg-type]
    with TestClient(app) as running:
        yield running


@pytest.mark.parametrize("path", ["/", *FIGURES])
def test_what_nobody_ran_again_is_one_click_away(shown: TestClient, path: str) -> None:
    """The page counts what it leaves out, and its link shows it."""
    usual = shown.get(path).text
    assert "checked_1k" in usual
    assert "claimed_1k" not in usual
    assert "1 codec with " in usual
    assert f'href="{path}?source=runs">all submissions' in usual
    everything = shown.get(path, params={"source": "runs"}).text
    assert "claimed_1k" in everything
    assert "checked_1k" in everything


@pytest.mark.parametrize("path", CHARTS)
def test_charts_draw_what_their_page_shows(shown: TestClient, path: str) -> None:
    """With the choice in their address, and in the form beside them."""
    assert "claimed" not in shown.get(CHARTS[path]).text.lower()
    assert "claimed" in shown.get(f"{CHARTS[path]}&source=runs").text.lower()
    for source in ("runs", "verified"):
        page = shown.get(path, params={"source": source}).text
        assert f"source={source}" in page.partition(CHARTS[path].partition("?")[0])[2]
    assert "source=verified" in shown.get(path).text.partition(CHARTS[path].partition("?")[0])[2]


def test_the_charts_of_clips_and_the_api_follow(shown: TestClient) -> None:
    """As the board does."""
    for chart in ("rate", "metrics", "clips", "distribution", "applications"):
        assert "claimed_1k" not in shown.get(f"/charts?chart={chart}").text, chart
    assert shown.get("/charts?chart=distribution&source=runs").text.count("claimed_1k")
    assert shown.get("/api/v1/charts/clips?source=table3").status_code == 404
    assert shown.get("/api/v1/mseb").json()["source"] == "verified"
    everything = shown.get("/api/v1/mseb?source=runs").json()["codecs"]
    assert {row["codec"] for row in everything} == {*CHECKED, "claimed_1k"}
    assert {row["title"] for row in shown.get("/api/v1/xares").json()["figures"]}.isdisjoint({"claimed_1k"})


@pytest.mark.parametrize("path", FIGURES)
def test_where_nothing_was_run_again_all_is_shown(app: FastAPI, database: Database, path: str) -> None:
    """A verified codec without figures of a page hides nobody there; nor does one of speech alone in music."""
    with database.transaction(write=True) as session:
        for name in CHECKED:
            make_submission(session, name, 1.0, status="verified", datasets={"mini": ("speech",)})
        for name in ("partial_1k", "untold_1k", "few_1k"):  # of music, and no comparison: none is complete
            partial = {"status": "verified", "datasets": {"mini": ("music",)}, "result": {"complete": False}}
            make_submission(session, name, 1.0, **partial)  # type: ignore[arg-type]
        make_submission(session, "claimed_1k", 1.0, card=CARD, applications=[FIGURES[path]])
    with TestClient(app) as client:
        page = client.get(path).text
        assert "claimed_1k" in page
        assert "Nobody ran any of these figures again" in page
        assert "claimed_1k" not in client.get("/").text
        assert "claimed_1k" in client.get("/?category=music").text
        speech, music = (client.get(f"/api/v1/leaderboard?category={of}").json() for of in ("speech", "music"))
        assert {row["codec"] for row in speech["rows"]} == set(CHECKED)
        assert "claimed_1k" in {row["codec"] for row in music["rows"]}
        assert music["rows"][0]["rank"] is not None


@pytest.mark.parametrize("path", CHARTS)
def test_enough_is_counted_whatever_they_rest_on(app: FastAPI, database: Database, path: str) -> None:
    """Who brought what was run again apart, to another dataset, would bring the others' word back."""
    figure = FIGURES[path]
    with database.transaction(write=True) as session:
        for number, dataset in enumerate(("mini", "mini", "lib")):
            told = [replace(figure, dataset=dataset)]
            sound = {"datasets": {dataset: CATEGORIES}, "card": CARD, "applications": told}
            make_submission(session, CHECKED[number], 1.0, status="verified", owner="mai", **sound)  # type: ignore[arg-type]
        for owner in ("ann", "bob"):
            make_submission(session, f"{owner}_1k", 1.0, owner=owner, card=CARD, applications=[figure])
    with TestClient(app) as client:
        page = client.get(path).text
        assert "ann_1k" not in page
        assert "2 codecs with figures that nobody ran again are not shown" in page
        assert "source=verified" in page.partition(CHARTS[path].partition("?")[0])[2]
        assert "ann_1k" not in client.get("/").text
        assert {row["codec"] for row in client.get("/api/v1/ranking").json()["codecs"]} == set(CHECKED[:2])


def test_what_is_left_out_is_counted_by_name(shown: TestClient, app: FastAPI, database: Database) -> None:
    """A newer version without figures, of a codec that an older one shows, is nobody who is not shown."""
    with database.transaction(write=True) as session:
        for name in CHECKED:
            make_submission(session, name, 1.0, owner="maintainers", card=CARD)
    app.state.board.refresh()
    for path in ("/", *FIGURES):
        assert "1 codec with " in shown.get(path).text, path
        assert "claimed_1k" not in shown.get(path).text, path


def test_bands_follow_the_board_by_category(app: FastAPI, database: Database) -> None:
    """Three codecs of music, run again, empty no band of speech; the page says of each whose it is."""
    with database.transaction(write=True) as session:
        for name in CHECKED:
            make_submission(session, name, 1.0, status="verified", datasets={"songs": ("music",)})
        for owner in ("ann", "bob"):
            make_submission(session, f"{owner}_1k", 1.0, owner=owner)
    with TestClient(app) as client:
        found = client.get("/api/v1/bands").json()
        assert found["source"] is None
        assert {each["category"]: each["source"] for each in found["categories"]} == {
            "speech": "runs", "audio": "runs", "music": "verified",
        }  # fmt: skip
        assert {row["codec"] for row in client.get("/api/v1/ranking").json()["codecs"]} == {"ann_1k", "bob_1k"}
        page = client.get("/ranking").text
        assert page.count("<small>all submissions</small>") == 2
        assert "ann_1k" in page


def test_of_as_many_senders_the_oldest_account_decides(app: FastAPI, database: Database) -> None:
    """However many codecs a younger one has run again on another dataset."""
    with database.transaction(write=True) as session:
        for name in CHECKED:
            make_submission(session, name, 1.0, status="verified", owner="maintainers")
        for number in range(5):
            held = {"datasets": {"a_dataset": CATEGORIES}, "owner": "eve"}
            make_submission(session, f"eve_{number}", 1.0, status="verified", **held)  # type: ignore[arg-type]
    with TestClient(app) as client:
        ranked = {row["codec"] for row in client.get("/api/v1/leaderboard").json()["rows"] if row["rank"]}
        assert ranked == set(CHECKED)
        front = client.get("/api/v1/leaderboard/chart").json()["data"][0]
        assert len(front["x"]) == 3
        assert "eve_0" not in client.get("/charts?chart=distribution").text
        assert {row["codec"] for row in client.get("/api/v1/ranking").json()["codecs"]} == set(CHECKED)


def test_the_usual_view_of_an_application_is_its_own(app: FastAPI, database: Database) -> None:
    """Scores that were run again hide no word error rate that was not."""
    heard = [Probed("asr_wer_pct", 10.0, 4.0, "mini", "faster-whisper")]
    with database.transaction(write=True) as session:
        for name in CHECKED:
            make_submission(session, name, 1.0, status="verified")
        make_submission(session, "ann_1k", 1.0, owner="ann", applications=heard)
    with TestClient(app) as client:
        assert "ann_1k" not in client.get("/").text
        page = client.get("/?metric=asr_wer_pct").text
        assert "ann_1k" in page
        assert 'data-default="runs"' in page


def test_a_new_version_does_not_take_its_codec_away(database: Database) -> None:
    """Until it is run again the one before stands among the verified, also of who had the name before."""
    board = Board(database, preferred="verified")
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", status="verified", owner="ann")
        make_submission(session, "lc3_32k", status="verified", owner="ann")
        make_submission(session, "lc3_32k", owner="bob")
    board.refresh()
    again = {"opus_12k": "verified", "lc3_32k": "verified"}
    assert {entry.codec: entry.source for entry in board.current.entries("verified")} == again
    with database.transaction(write=True) as session:
        second = make_submission(session, "opus_12k", owner="ann")
    board.refresh()
    by = {source: [entry.submission for entry in board.current.entries(source) if entry.codec == "opus_12k"]
          for source in ("runs", "verified", "self-reported")}  # type: ignore[attr-defined]  # fmt: skip
    assert by == {"runs": [second], "verified": [first], "self-reported": [second]}
    for category in CATEGORIES:
        assert board.current.frame(category, "", "verified").entries[1].submission == first
    with database.transaction(write=True) as session:
        make_submission(session, "opus_12k", status="verified", owner="ann")
    board.refresh()
    assert first not in [entry.submission for entry in board.current.entries("verified")]
    assert [entry.codec for entry in board.current.confirmed] == ["lc3_32k"]


def test_a_sender_is_told_where_the_result_is(app: FastAPI, database: Database, settings: Settings) -> None:
    """The receipt says that the usual pages wait for the maintainers; of a verified one it says nothing."""
    with database.transaction(write=True) as session:
        make_submission(session, "opus_12k")
        make_submission(session, "opus_16k", status="verified")
        told = {
            found.codec.name: receipt(found, app.state.settings).notes for found in session.scalars(select(Submission))
        }
        of_all = receipt(session.scalars(select(Submission)).first(), settings).notes  # type: ignore[arg-type]
    assert told == {
        "opus_12k": [
            (
                "the usual pages show what the maintainers ran again; all submissions have it where no other result "
                "of its codec stands in front"
            ),
        ],
        "opus_16k": [],
    }
    assert of_all == []
