"""Bands and aggregated ranks of a service with clip rows: known answers, reasons, weights, the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser
from pydantic import TypeAdapter
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import draw_rows, sha
from support.server.board import Probed, make_submission
from support.server.compare import running_board, store
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.app import create_app
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings
from codec_superb.web.site.ranking.view import BandsAnswer, RankingAnswer

CLIPS = 60


def rows_at(kbps: float, quality: float, seed: int = 1, **choices: Any) -> list[ClipRow]:
    """Draw rows at a bitrate."""
    rows = draw_rows(seed, CLIPS, quality=quality, **choices)
    return [row.model_copy(update={"bits": round(1000 * kbps * row.samples / 16000)}) for row in rows]


def fill(session: Session, settings: Settings) -> None:
    """Store codecs of three bands with known relations."""
    store(session, "clear_best", rows_at(10, 0.5), status="verified", title="Clear best")
    store(session, "clear_second", rows_at(9, 0.0, seed=2))
    store(session, "twin_a", rows_at(20, 0.6, seed=3))
    store(session, "twin_b", rows_at(21, 0.6, seed=3), status="verified")
    store(session, "alone", rows_at(0.9, -0.5, seed=4))
    store(session, "just_above", rows_at(1.01, -0.4, seed=5))
    store(session, "speech_only", rows_at(9, 0.4, seed=6, categories=("speech",)))
    store(session, "other_state", rows_at(9, 0.4), hashes={"mini": sha("other")})
    store(session, "exact", rows_at(700, 0.9), kind="lossless")
    store(session, "hidden", rows_at(9, 0.9), status="held")


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("ranking"), fill) as client:
        yield client


def bands(client: TestClient, category: str = "music", query: str = "") -> dict[str, dict[str, Any]]:
    """Ask for the bands of a category, by key."""
    answer = client.get(f"/api/v1/bands{query}")
    assert answer.status_code == 200, answer.text
    TypeAdapter(BandsAnswer).validate_python(answer.json())
    (found,) = [part for part in answer.json()["categories"] if part["category"] == category]
    return {band["band"]: band for band in found["bands"]}


def ranking(client: TestClient, query: str = "") -> dict[str, Any]:
    """Ask for the ranking."""
    answer = client.get(f"/api/v1/ranking{query}")
    assert answer.status_code == 200, answer.text
    TypeAdapter(RankingAnswer).validate_python(answer.json())
    found: dict[str, Any] = answer.json()
    return found


class TestBands:
    """``/api/v1/bands``."""

    def test_a_clear_winner_wins_and_twins_are_not_told_apart(self, board: TestClient) -> None:
        """Equal clips give a p-value of 1; what is hidden, lossless or on other clips takes no part."""
        found = bands(board)
        assert (found["8-16"]["best"], found["8-16"]["separable"], found["8-16"]["codecs"]) == ("clear_best", True, 2)
        assert [found[band]["status"] for band in ("8-16", "16-32", "0-1", "32-")] == [
            "verified",
            "self-reported",
            "self-reported",
            "",
        ]
        twins = found["16-32"]
        assert (twins["best"], twins["separable"]) == ("twin_a", False)
        assert [each["status"] for each in twins["neighbours"]] == ["verified"]
        ((name, p, adjusted),) = [(each["codec"], each["p"], each["adjusted"]) for each in twins["neighbours"]]
        assert (name, p, adjusted) == ("twin_b", 1.0, 1.0)
        assert (found["0-1"]["best"], found["1-2"]["best"]) == ("alone", "just_above")
        assert (found["32-"]["best"], found["32-"]["codecs"]) == (None, 0)

    def test_the_source_chooses_whose_results_count(self, board: TestClient) -> None:
        """Of the verified ones each is alone in its band."""
        found = bands(board, query="?source=verified")
        assert {key: band["best"] for key, band in found.items() if band["best"]} == {
            "8-16": "clear_best", "16-32": "twin_b",
        }  # fmt: skip

    def test_without_clip_rows_intervals_decide(self, client: TestClient, database: Database) -> None:
        """Overlapping ones are not told apart, others are."""
        with database.transaction(write=True) as session:
            for name, score in (("top", 0.8), ("near", 0.79), ("far", 0.6)):
                make_submission(session, name, 10.0, score)
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        found = bands(client)["8-16"]
        assert found["best"] == "top"
        assert [(each["codec"], each["p"]) for each in found["neighbours"]] == [("near", None)]
        assert "no shared clips" in found["neighbours"][0]["reason"]

    def test_a_p_value_counts_after_correction_alone(
        self, client: TestClient, database: Database, settings: Settings
    ) -> None:
        """Of five rivals four are below 0.05 by themselves, none after Holm's correction: none is told apart."""
        with database.transaction(write=True) as session:
            store(session, "best", rows_at(10, 0.03))
            for number in range(5):
                store(session, f"rival_{number}", rows_at(9, 0.0, seed=2 + number))
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        found = bands(client)["8-16"]
        values = [(each["p"], each["adjusted"]) for each in found["neighbours"]]
        assert (found["best"], found["separable"], len(values)) == ("best", False, 5)
        assert sum(p < 0.05 for p, _ in values) == 4
        assert all(adjusted > 0.05 for _, adjusted in values)


class TestRanking:
    """``/api/v1/ranking``."""

    def test_ranks_points_and_abilities_agree_where_all_is_clear(self, board: TestClient) -> None:
        """Six codecs share everything; twins share a rank; each who takes no part has a reason."""
        found = ranking(board)
        # two verified ones count as one each, the four of an account as a quarter
        shares = {
            "twin_a": 1 - 0.3125 / 2.375, "twin_b": 1 - 0.3125 / 2.375, "clear_best": 0.75 / 2,
            "clear_second": 0.5 / 2.75, "just_above": 0.25 / 2.75, "alone": 0.0,
        }  # fmt: skip
        assert {row["codec"]: row["points"] for row in found["codecs"]} == pytest.approx(shares)
        assert [row["mean_rank"] for row in found["codecs"]] == pytest.approx([6 - 5 * own for own in shares.values()])
        assert [row["rank"]["rank"] for row in found["codecs"]] == [1, 1, 3, 4, 5, 6]
        abilities = [row["ability"] for row in found["codecs"]]
        assert abilities == sorted(abilities, reverse=True)
        assert abilities[0] == pytest.approx(abilities[1])
        assert sum(abilities) == pytest.approx(0, abs=1e-6)
        assert (found["clips"], found["compared"]) == (CLIPS, 6)
        assert all(row["by_clips"] for row in found["codecs"])
        assert (found["summary"], found["turn"]) == (
            "twin_a (self-reported by anonymous) and twin_b (verified) are first together.",
            None,
        )
        reasons = {each["codec"]: each["reason"] for each in found["unranked"]}
        assert set(reasons) == {"speech_only", "other_state", "exact"}
        assert reasons["speech_only"] == "Audio (overall score): no results"
        assert "another state of a dataset" in reasons["other_state"]
        assert reasons["exact"].startswith("lossless")

    def test_the_ranges_of_clear_ranks_are_narrow_and_those_of_twins_are_not(self, board: TestClient) -> None:
        """The same clusters are drawn for all, so that twins tie in every draw."""
        rows = {row["codec"]: row["rank"] for row in ranking(board)["codecs"]}
        assert rows["twin_a"] == {"rank": 1, "best": 1, "worst": 2}
        assert rows["clear_second"]["best"] == rows["clear_second"]["worst"] == 4

    def test_weights_and_the_band_choose_who_is_ranked(self, board: TestClient) -> None:
        """Where only speech counts, who has only speech is ranked too; a band leaves the others out."""
        found = ranking(board, "?audio=0&music=0&band=8-16")
        rows = {row["codec"]: row["by_clips"] for row in found["codecs"]}
        # speech_only has other clips of the dataset, and so is drawn from its interval
        assert rows == {"clear_best": True, "speech_only": False, "clear_second": True}
        assert list(rows) == ["clear_best", "speech_only", "clear_second"]
        assert found["datasets"] == {"speech": ["mini"]}
        assert "alone" not in {each["codec"] for each in found["unranked"]}

    def test_a_band_is_of_the_bits_of_what_has_a_weight(self, client: TestClient, database: Database) -> None:
        """Whoever spends none on music is in no lower band of speech."""
        with database.transaction(write=True) as session:
            make_submission(session, "plain", 6.0, 0.7)
            for row in session.get_one(Submission, make_submission(session, "shifty", 20.0, 0.9)).results:
                row.kbps = 20.0 if row.category == "speech" else 0.5
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        for band, name in (("4-8", "plain"), ("16-32", "shifty")):
            assert [row["codec"] for row in ranking(client, f"?audio=0&music=0&band={band}")["codecs"]] == [name]

    def test_the_smallest_change_of_a_weight_is_named_and_holds(self, client: TestClient, database: Database) -> None:
        """At the weight that is named the other one is first, a little before it is not."""
        with database.transaction(write=True) as session:
            make_submission(session, "singer", 10.0, {"speech": 0.7, "audio": 0.7, "music": 0.9})
            make_submission(session, "speaker", 11.0, {"speech": 0.9, "audio": 0.9, "music": 0.7})
            make_submission(session, "third", 12.0, {"speech": 0.8, "audio": 0.6, "music": 0.8})
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        turn = ranking(client)["turn"]
        assert ranking(client)["codecs"][0]["codec"] == "speaker"
        assert (turn["aspect"], turn["codec"], turn["now"]) == ("music", "singer", 1.0)
        assert ranking(client, f"?music={turn['weight'] + 0.001}")["codecs"][0]["codec"] == "singer"
        assert ranking(client, f"?music={turn['weight'] - 0.002}")["codecs"][0]["codec"] == "speaker"
        assert ranking(client)["codecs"][0]["by_clips"] is False  # no clip rows: drawn from intervals
        assert ranking(client)["codecs"][0]["ability"] is None

    def test_near_copies_of_one_account_move_nobody(self, client: TestClient, database: Database) -> None:
        """Thirty codecs between two others in one aspect, and below both elsewhere, count as one."""
        with database.transaction(write=True) as session:
            make_submission(session, "first", 10.0, {"speech": 0.6, "audio": 0.7, "music": 0.7}, owner="ann")
            make_submission(session, "second", 11.0, {"speech": 0.8, "audio": 0.6, "music": 0.6}, owner="bob")
            for number in range(30):
                shift = number * 1e-4
                scores = {"speech": 0.7 + shift, "audio": 0.55 + shift, "music": 0.4 + shift}
                make_submission(session, f"copy_{number}", 12.0, scores, owner="carol")
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        found = ranking(client, "?speech=0.9")
        assert [each["codec"] for each in found["codecs"][:2]] == ["first", "second"]
        assert found["codecs"][0]["points"] == pytest.approx(2 / 2.9)
        assert found["codecs"][1]["points"] == pytest.approx(1.9 / 2.9)
        assert (found["turn"]["aspect"], found["turn"]["codec"], found["turn"]["weight"]) == ("speech", "second", 1.0)

    def test_applications_count_where_they_have_weight(self, client: TestClient, database: Database) -> None:
        """A lower word error rate is better; who was not asked is named with the reason."""
        with database.transaction(write=True) as session:
            for name, wer in (("clear", 4.0), ("muddy", 9.0), ("silent", None)):
                asked = [] if wer is None else [Probed("asr_wer_pct", wer, 3.0)]
                make_submission(session, name, 10.0, 0.8, applications=asked)
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        found = ranking(client, "?speech=0&audio=0&music=0&intelligibility=1")
        assert [row["codec"] for row in found["codecs"]] == ["clear", "muddy"]
        assert found["unranked"][0]["codec"] == "silent"
        assert found["unranked"][0]["reason"].startswith("Intelligibility")

    @pytest.mark.parametrize(
        ("query", "says"),
        [("?speech=-1", "speech"), ("?speech=nan", "speech"), ("?music=101", "music"), ("?band=3-5", "band"),
         ("?colour=1", "colour"), ("?source=table3", "source"), ("?speech=0&audio=0&music=0", "a weight above 0")],
    )  # fmt: skip
    def test_what_cannot_be_weighed_is_refused(self, board: TestClient, query: str, says: str) -> None:
        """With the name of the parameter; an empty field is one that was not filled in."""
        for path in ("/api/v1/ranking", "/ranking"):
            answer = board.get(path + query)
            assert answer.status_code == 400
            assert says in answer.text
        assert ranking(board, "?speech=&band=")["weights"]["speech"] == 1.0


def test_the_page_works_for_everybody(app: FastAPI, database: Database, settings: Settings, browser: Browser) -> None:
    """On a phone as on a desk: nothing wider than the window, no fault for axe, weights by the form."""
    with database.transaction(write=True) as session:
        fill(session, settings)
    with running_site(settings, app) as address, visitor(browser, address, 390) as page:
        for path in ("/ranking", "/snapshots/5"):
            page.goto(path)
            assert accessibility_faults(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.goto("/ranking")
        page.get_by_label("Music (overall score)").fill("2.5")
        page.get_by_role("button", name="Rank").click()
        page.wait_for_url("**music=2.5**")
        assert page.get_by_label("Music (overall score)").input_value() == "2.5"
        assert "not separable" in page.content()
        table = page.locator(".table-scroll.long").inner_text()
        assert "Speech points\tAudio points\tMusic points" in table
        assert "twin_a self-reported\nby anonymous" in table
        assert "twin_b verified\nby anonymous" in table


CHECKED = ("run_again", "again_run", "ran_again")


def test_what_the_maintainers_prefer_is_shown_where_nobody_chose(settings: Settings, database: Database) -> None:
    """Board, charts, bands and ranking show verified results, once there are three, and others to whoever asks."""
    with database.transaction(write=True) as session:
        store(session, "reported", rows_at(9, 0.4))
    with TestClient(create_app(settings.model_copy(update={"default_source": "verified"}))) as client:
        assert bands(client)["8-16"]["best"] == "reported"
        with database.transaction(write=True) as session:
            for name in CHECKED:
                store(session, name, rows_at(9, 0.0, seed=2), status="verified")
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        for query, expected in (("", set(CHECKED)), ("?source=runs", {"reported", *CHECKED})):
            answer = client.get(f"/api/v1/leaderboard{query}").json()
            assert {row["codec"] for row in answer["rows"]} == expected
            page = client.get(f"/{query}").text
            assert ("reported" in expected, False) == (">reported<" in page, "No submission is public yet" in page)
            assert bands(client, query=query)["8-16"]["codecs"] == len(expected)
            assert {row["codec"] for row in ranking(client, query)["codecs"]} == expected
            page = client.get(f"/ranking{query}").text
            assert (">reported<" in page) is ("reported" in expected)
        assert ">reported<" not in client.get("/charts").text


def test_an_empty_board_has_no_winner(client: TestClient) -> None:
    """Neither the page nor the answers fail where nothing is public."""
    assert all(band["best"] is None for band in bands(client).values())
    found = ranking(client, "?intelligibility=1")
    assert (found["codecs"], found["unranked"], found["turn"]) == ([], [], None)
    assert "No codec has all" in client.get("/ranking").text
