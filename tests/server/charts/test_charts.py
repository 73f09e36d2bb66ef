"""The charts by address: figures, files, pages, and what they cannot show."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from html import unescape
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import ok, sha
from support.pipeline.stats import row as clip_row
from support.server.compare import rows_of, running_board, store
from support.server.people import counted_requests

from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.charts.correlate import CLIPS, CODECS, _hash, _in_turns
from codec_superb.server.charts.defaults import entries_of_commonest_state
from codec_superb.server.database.models import Account
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings
from codec_superb.web.site.charts.choices import CHARTS

HTML = {"accept": "text/html"}


def figure(client: TestClient, chart: str, **choices: Any) -> dict[str, Any]:
    """Ask for a figure."""
    answer = client.get(f"/api/v1/charts/{chart}", params=choices)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def table(client: TestClient, chart: str, **choices: Any) -> list[dict[str, str]]:
    """Ask for the data of a chart."""
    answer = client.get(f"/api/v1/charts/{chart}.csv", params=choices)
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def refreshed(client: TestClient) -> TestClient:
    """Let the service see what the test has stored, at once."""
    client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
    return client


def fill(session: Session, settings: Settings) -> None:
    """Store eight submissions of rising quality and bitrate."""
    for step in range(8):
        rows = rows_of(step, 12, quality=0.1 * step)
        rows = [entry.model_copy(update={"bits": 16000 * 2**step // 4}) for entry in rows]
        store(session, f"codec_{step}", rows, family="even" if step % 2 == 0 else "odd")


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("board"), fill) as client:
        yield client


def send(session: Session, account: str, name: str, clips: int = 12, dataset: str = "mini") -> None:
    """Store what an account sent; of fewer than 12 clips it is partial."""
    sender = session.scalars(select(Account).where(Account.name == account)).one_or_none() or Account(name=account)
    submission = store(session, name, rows_of(crc32(name.encode()), 12, dataset=dataset)[:clips])
    submission.account, submission.complete = sender, clips == 12
    for result in submission.results:
        result.complete = clips == 12
    session.flush()


class TestRate:
    """``/api/v1/charts/rate``."""

    def test_shows_each_codec_at_its_bitrate(self, board: TestClient) -> None:
        """All of the chosen category; the file holds the same points."""
        points = [
            (x, y)
            for trace in figure(board, "rate", category="music", metric="pesq")["data"]
            if trace["meta"]["role"] == "family"
            for x, y in zip(trace["x"], trace["y"], strict=True)
        ]
        rows = table(board, "rate", category="music", metric="pesq")
        assert sorted(points) == [(float(row["kbps"]), float(row["pesq"])) for row in rows]
        assert [row["codec"] for row in rows] == [f"codec_{step}" for step in range(8)]

    def test_published_figures_are_shown_on_demand(self, board: TestClient) -> None:
        """Table 3, with its own source and without made-up intervals."""
        rows = table(board, "rate", source="table3")
        assert len(rows) == 19
        assert "low" not in rows[0]
        dac = next(row for row in rows if row["codec"].startswith("DAC 24k"))
        assert (float(dac["kbps"]), float(dac["score"])) == (24.0, 0.864)

    def test_without_submissions_the_paper_is_shown(self, client: TestClient) -> None:
        """The page is never empty."""
        page = client.get("/charts", headers=HTML).text
        assert "Overall score of 19 codecs in speech" in page
        assert "published, not re-run here" in page


class TestApplications:
    """``/api/v1/charts/applications``."""

    def test_table_3_until_submissions_have_some(self, board: TestClient) -> None:
        """The word error rate of all 19, and the ceiling in the caption."""
        rows = table(board, "applications")
        assert len(rows) == 19
        assert min(float(row["asr_wer_pct"]) for row in rows) == 2.96
        page = board.get("/charts?chart=applications&application=aec_map_pct", headers=HTML).text
        assert "The dashed line is the original sound: 45.68." in page
        assert "Findings of the Association for Computational Linguistics" in page

    def test_a_table_without_bitrates_says_what_is_left_out(self, board: TestClient) -> None:
        """UltraEval states none."""
        page = board.get("/charts?chart=applications&application=ultra_average&source=ultraeval", headers=HTML).text
        assert "9 codecs whose bitrate is not stated are left out" in page


class TestMetrics:
    """``/api/v1/charts/metrics``: correlation over codecs."""

    def test_agrees_with_numpy(self, board: TestClient) -> None:
        """The coefficient between two columns of means."""
        means = {key: [float(row[key]) for row in table(board, "rate", metric=key)] for key in ("pesq", "stoi")}
        found = next(row for row in table(board, "metrics") if (row["first"], row["second"]) == ("pesq", "stoi"))
        assert float(found["coefficient"]) == pytest.approx(np.corrcoef(means["pesq"], means["stoi"])[0, 1])
        assert found["n"] == "8"

    def test_distances_run_against_the_others(self, board: TestClient) -> None:
        """Less is better for them, and the caption says so."""
        found = {(row["first"], row["second"]): float(row["coefficient"]) for row in table(board, "metrics")}
        assert found["score", "pesq"] > 0.9
        assert found["score", "stft"] < -0.9
        assert "correlate negatively" in board.get("/charts?chart=metrics", headers=HTML).text

    def test_partial_results_are_left_out_beside_complete_ones(self, client: TestClient, database: Database) -> None:
        """However many of them one account sends; where there are no others, they are what there is."""
        with database.transaction(write=True) as session:
            for number in range(9):
                send(session, "mallory", f"part_{number}", 3)
        assert {row["n"] for row in table(refreshed(client), "metrics")} == {"9"}
        with database.transaction(write=True) as session:
            for number in range(3):
                send(session, f"honest_{number}", f"whole_{number}")
        assert {row["n"] for row in table(refreshed(client), "metrics")} == {"3"}
        page = client.get("/charts?chart=metrics", headers=HTML).text
        assert "across 3 codecs. Each cell rests on the codecs that have both values." in page
        assert "9 codecs with partial results are left out." in page

    def test_the_authors_re_run(self, board: TestClient) -> None:
        """34 codecs with metrics: the square of Table 4's kind."""
        (trace,) = figure(board, "metrics", source="tiny", category="audio")["data"]
        assert len(trace["z"]) == len(trace["z"][0]) >= 4
        assert "34 codecs" in board.get("/charts?chart=metrics&source=tiny&category=audio", headers=HTML).text


class TestClips:
    """``/api/v1/charts/clips``: correlation over single clips."""

    def test_pools_the_clips_of_all_codecs(self, board: TestClient) -> None:
        """Four clips of speech through eight codecs."""
        rows = table(board, "clips", dataset="mini")
        assert {row["n"] for row in rows} == {"32"}
        expected = [
            [entry.metrics[key].value for key in ("pesq", "stoi")]
            for step in range(8)
            for entry in rows_of(step, 12, quality=0.1 * step)
            if entry.category == "speech"
        ]
        found = next(row for row in rows if (row["first"], row["second"]) == ("pesq", "stoi"))
        assert float(found["coefficient"]) == pytest.approx(np.corrcoef(np.array(expected, dtype=float).T)[0, 1])

    def test_a_large_dataset_is_sampled_the_same_every_time(self, client: TestClient, database: Database) -> None:
        """The limit is kept and stated, and the same clips are drawn for every codec."""

        def many(by: float) -> list[ClipRow]:
            return [
                clip_row(f"big/{n}", dataset="big", metrics={"pesq": ok(1 + n / 1000), "stoi": ok(by * n / 2000)})
                for n in range(CLIPS + 200)
            ]

        with database.transaction(write=True) as session:
            store(session, "one", many(0.9))
            store(session, "two", many(0.5))
        page = refreshed(client).get("/charts?chart=clips", headers=HTML).text
        assert f"the same {CLIPS} clips through each of 2 codecs" in page
        assert "by a hash with seed 1" in page
        (found,) = table(client, "clips", dataset="big")
        assert found["n"] == str(2 * CLIPS)

    def test_another_state_of_the_dataset_is_not_pooled(self, client: TestClient, database: Database) -> None:
        """Other clips under the same name are other clips."""
        with database.transaction(write=True) as session:
            for number in range(2):
                store(session, f"usual_{number}", rows_of(number, 12))
            store(session, "stranger", rows_of(9, 12), hashes={"mini": sha("other")})
        assert {row["n"] for row in table(refreshed(client), "clips", dataset="mini")} == {"8"}

    def test_many_codecs_of_one_sender_take_few_places(self, client: TestClient, database: Database) -> None:
        """Names with a low hash are anybody's to find: senders take turns, and partial runs have none beside others."""
        names = sorted((f"mine_{number}" for number in range(200)), key=_hash)[:CODECS]
        with database.transaction(write=True) as session:
            for number, name in enumerate(names):
                send(session, "mallory", name, 3 + 3 * (number % 2))
        page = refreshed(client).get("/charts?chart=clips", headers=HTML).text
        assert "1 to 2 of 2 clips through each of 20 codecs" in page

        with database.transaction(write=True) as session:
            for number in range(22):
                send(session, f"honest_{number}", f"theirs_{number}")
        page = refreshed(client).get("/charts?chart=clips", headers=HTML).text
        assert "all 4 clips through each of 20 codecs" in page
        assert not self._of_six(client) & set(names)
        with database.transaction(write=True) as session:
            for name in names:
                send(session, "mallory", name)
        assert len(self._of_six(client) & set(names)) <= 1
        entries = entries_of_commonest_state(client.app.state.board.current, "mini", "speech")  # type: ignore[attr-defined]
        assert len(entries) == 42
        assert len({entry.codec for entry in _in_turns(entries)[:CODECS]} & set(names)) == 1
        assert {entry.codec for entry in _in_turns(entries)[:24]} > {f"theirs_{number}" for number in range(22)}

    def test_partial_runs_choose_no_dataset(self, client: TestClient, database: Database) -> None:
        """However many accounts sent some, beside complete ones elsewhere."""
        with database.transaction(write=True) as session:
            for number in range(3):
                send(session, f"new_{number}", f"part_{number}", 3, "other")
        assert "single clips of other" in refreshed(client).get("/charts?chart=clips", headers=HTML).text
        with database.transaction(write=True) as session:
            send(session, "ann", "whole")
        assert "single clips of mini" in refreshed(client).get("/charts?chart=clips", headers=HTML).text

    @staticmethod
    def _of_six(client: TestClient) -> set[str]:
        codecs = {row["codec"] for row in table(refreshed(client), "distribution")}
        assert len(codecs) == 6
        return codecs


class TestDistribution:
    """``/api/v1/charts/distribution``."""

    def test_shows_the_quantiles_of_the_clips(self, board: TestClient) -> None:
        """The median and the ends of the named codec's own clips."""
        (found,) = table(board, "distribution", codec="codec_3", dataset="mini", metric="stoi")
        values = [
            entry.metrics["stoi"].value for entry in rows_of(3, 12, quality=0.1 * 3) if entry.category == "speech"
        ]
        known = [value for value in values if value is not None]
        assert float(found["median"]) == pytest.approx(np.median(known))
        assert (float(found["minimum"]), float(found["maximum"])) == (min(known), max(known))
        assert found["n"] == "4"

    def test_six_over_the_bitrates_where_nobody_chooses(self, board: TestClient) -> None:
        """The cheapest and the dearest are among them."""
        codecs = [row["codec"] for row in table(board, "distribution")]
        assert len(codecs) == 6
        assert (codecs[0], codecs[-1]) == ("codec_0", "codec_7")

    def test_more_than_six_are_refused(self, board: TestClient) -> None:
        """In words."""
        answer = board.get("/api/v1/charts/distribution", params={"codec": [f"codec_{n}" for n in range(7)]})
        assert answer.status_code == 400
        assert "expected at most 6 codecs, got 7" in answer.json()["detail"]


class TestPage:
    """``GET /charts``."""

    @pytest.mark.parametrize("chart", CHARTS)
    def test_each_chart_has_caption_table_and_file(self, board: TestClient, chart: str) -> None:
        """What a reader without the figure needs is there."""
        page = board.get(f"/charts?chart={chart}", headers=HTML)
        assert page.status_code == 200
        assert f'data-figure="/api/v1/charts/{chart}' in page.text
        assert f'href="/api/v1/charts/{chart}.csv' in page.text
        assert "<figcaption>" in page.text
        assert "<tbody>" in page.text
        assert " style=" not in page.text

    @pytest.mark.sample(2)
    @pytest.mark.parametrize("chart", CHARTS)
    def test_an_empty_board_draws_what_it_can(self, client: TestClient, chart: str) -> None:
        """No submission: figures of papers, or an empty figure; never an error."""
        assert client.get(f"/charts?chart={chart}", headers=HTML).status_code == 200
        assert client.get(f"/api/v1/charts/{chart}").status_code == 200

    def test_a_choice_that_is_gone_is_said(self, board: TestClient) -> None:
        """The form sends the metric of another category along: the page shows the usual one and says so."""
        page = unescape(board.get("/charts?chart=distribution&metric=si_sdr", headers=HTML).text)
        assert "Not there for these choices: metric: expected one of" in page
        assert "got 'si_sdr'" in page
        answer = board.get("/api/v1/charts/distribution?metric=si_sdr")
        assert answer.status_code == 404

    def test_other_parameters_change_nothing(self, board: TestClient) -> None:
        """A chart depends on its own pickers alone."""
        one = board.get("/api/v1/charts/metrics").headers["etag"]
        assert board.get("/api/v1/charts/metrics?codec=codec_1&application=x").headers["etag"] == one

    @pytest.mark.parametrize("query", ["category=video", "source=blog", "method=kendall", "chart=pie"])
    def test_what_does_not_exist_is_refused(self, board: TestClient, query: str) -> None:
        """With the parameter's name."""
        answer = board.get(f"/charts?{query}")
        assert answer.status_code == 400
        assert answer.json()["problems"][0]["path"] == f"query.{query.partition('=')[0]}"

    def test_hostile_names_are_text(self, client: TestClient, database: Database) -> None:
        """In the page, in the figure, and in a spreadsheet."""
        with database.transaction(write=True) as session:
            store(session, "=cmd|x", rows_of(), title="<script>alert(1)</script>", name_of_card="cmd")
        page = refreshed(client).get("/charts?chart=distribution", headers=HTML).text
        assert "<script>alert" not in page
        assert "<script>" not in client.get("/api/v1/charts/rate").text.replace('"family"', "")
        assert client.get("/api/v1/charts/rate.csv").text.splitlines()[1].startswith("'=cmd|x")

    def test_only_what_is_computed_counts(self, client: TestClient) -> None:
        """Kept answers cost nothing."""
        for _ in range(3):
            client.get("/api/v1/charts/clips")
        assert counted_requests(client) == 1
