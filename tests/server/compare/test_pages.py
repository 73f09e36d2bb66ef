"""The pages that compare: chooser, comparison, clip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import failed
from support.server.compare import rows_of, running_board, shifted, store

from codec_superb.pipeline.tables.rows import MetricValue
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

HOSTILE = '<script>alert("x")</script> & \' <b>'
HTML = {"accept": "text/html"}


def fill(session: Session, settings: Settings) -> None:
    """Store two codecs, one of them with a title from somebody who means no good."""
    rows = rows_of()
    store(session, "plain", rows, family="one")
    store(session, "hostile", shifted(rows, "pesq", 0.1), title=HOSTILE, family="two")


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("board"), fill) as client:
        yield client


class TestChooser:
    """``GET /compare`` before there is anything to compare."""

    def test_offers_the_names(self, board: TestClient) -> None:
        """A form with suggestions, without a script."""
        page = board.get("/compare", headers=HTML)
        assert page.status_code == 200
        assert '<option value="plain">' in page.text
        assert page.text.count('name="codec"') == 6
        assert '<form class="codec-form" action="/compare" method="get">' in page.text

    def test_keeps_what_was_typed(self, board: TestClient) -> None:
        """One name is the beginning of a comparison."""
        page = board.get("/compare?codec=plain&codec=&codec=", headers=HTML)
        assert page.status_code == 200
        assert 'value="plain"' in page.text

    def test_codecs_can_be_changed(self, board: TestClient) -> None:
        """The comparison links to the form, which holds its codecs."""
        page = unescape(board.get("/compare?codec=plain&codec=hostile", headers=HTML).text)
        assert 'href="/compare?codec=plain&codec=hostile&choose=1"' in page
        form = board.get("/compare?codec=plain&codec=hostile&choose=1", headers=HTML).text
        assert 'value="plain"' in form
        assert 'value="hostile"' in form

    def test_an_unknown_name_is_met_with_near_ones(self, board: TestClient) -> None:
        """The page says what was meant, with the status of the error."""
        page = board.get("/compare?codec=plain&codec=hostle", headers=HTML)
        assert page.status_code == 404
        assert "did you mean hostile?" in page.text
        assert 'value="hostle"' in page.text

    def test_too_many(self, board: TestClient) -> None:
        """Says how many must go; the form holds the first six."""
        page = board.get("/compare?" + "&".join(f"codec=c{n}" for n in range(7)), headers=HTML)
        assert page.status_code == 400
        assert "expected 2 to 6 codecs, got 7" in page.text

    def test_hostile_names_are_text(self, board: TestClient) -> None:
        """Whatever is typed comes back escaped."""
        page = board.get("/compare", params={"codec": ["plain", HOSTILE]}, headers=HTML)
        assert page.status_code == 404
        assert "<script>alert" not in page.text

    def test_an_empty_board_says_so(self, client: TestClient) -> None:
        """Nothing to choose from."""
        assert "No codec has public results yet" in client.get("/compare", headers=HTML).text


class TestComparison:
    """``GET /compare`` with two codecs."""

    def test_says_where_the_cards_differ(self, board: TestClient) -> None:
        """Field by field, in the order of the codec's page; what is the same for all has no row."""
        page = board.get("/compare?codec=plain&codec=hostile", headers=HTML).text
        (table,) = re.findall('<h2 id="cards">.*?</table>', page, re.DOTALL)
        assert '<tr><th scope="row">Family</th><td class="text">one</td><td class="text">two</td></tr>' in table
        assert table.count("<small>by anonymous</small>") == 2
        assert "Sampling rate" not in table
        facts = board.get("/api/v1/compare?codec=plain&codec=hostile").json()["codecs"][1]["facts"]
        assert {"label": "Family", "text": "two"}.items() <= facts[1].items()

    def test_says_everything(self, board: TestClient) -> None:
        """Scores, differences, verdicts, clips, rates, listening, what was left out."""
        page = board.get("/compare?codec=plain&codec=hostile&metric=pesq", headers=HTML)
        assert page.status_code == 200
        for text in (
            "+0.10<small>[0.10, 0.10]</small>",
            "10 / 0 / 0",
            "clearly better</span> (5)",
            "share no clip to listen to",
            "expected at least 2 rising points",
            "hostile: nothing",
            "hostile (self-reported by anonymous) against plain (self-reported by anonymous)",
        ):
            assert text in page.text
        # two cards, two codecs in three categories, two columns of their cards, three rows and the baseline's column
        assert page.text.count("self-reported</span><small>by anonymous</small>") == 14
        (trace,) = board.get("/api/v1/compare/figure?codec=plain&codec=hostile&metric=pesq").json()["data"]
        assert "self-reported by anonymous<br>baseline self-reported by anonymous" in trace["hovertext"][0]

    def test_hostile_titles_are_text(self, board: TestClient) -> None:
        """In the page, and in the figure's JSON for Plotly."""
        page = board.get("/compare?codec=plain&codec=hostile", headers=HTML).text
        assert "<script>alert" not in page
        assert HOSTILE in unescape(page)
        figure = board.get("/api/v1/compare/figure?codec=plain&codec=hostile").text
        assert "<script>" not in figure

    def test_state_is_in_the_addresses(self, board: TestClient) -> None:
        """Changing the baseline keeps the metric."""
        page = unescape(board.get("/compare?codec=plain&codec=hostile&metric=stoi", headers=HTML).text)
        assert 'href="/compare?codec=hostile&codec=plain&metric=stoi"' in page

    def test_an_unknown_metric_falls_back(self, board: TestClient) -> None:
        """An old address still shows the comparison."""
        page = board.get("/compare?codec=plain&codec=hostile&metric=nonsense", headers=HTML)
        assert page.status_code == 200
        assert '<option value="score" selected>' in page.text

    def test_no_script_or_style_stands_in_the_page(self, board: TestClient) -> None:
        """The policy allows neither."""
        page = board.get("/compare?codec=plain&codec=hostile", headers=HTML).text
        assert " style=" not in page
        assert " on" not in [part[:3] for part in page.split('"')]


class TestClip:
    """``GET /compare/clip``."""

    ADDRESS = "/compare/clip?codec=plain&codec=hostile&dataset=mini&clip=mini/clip003"

    def test_shows_the_rows(self, board: TestClient) -> None:
        """The values of the clip, a column for each codec."""
        found = board.get(f"/api/v1{self.ADDRESS}").json()
        values = [column["metrics"]["pesq"]["value"] for column in found["codecs"]]
        assert values[1] - values[0] == pytest.approx(0.1)
        page = board.get(self.ADDRESS, headers=HTML)
        assert f"{values[0]:.2f}" in page.text
        assert found["same_state"] is True
        assert page.text.count("<small>self-reported by anonymous</small>") == len(found["codecs"])

    def test_undefined_and_failed_are_words(self, client: TestClient, database: Database) -> None:
        """A reason stands where a value is missing."""
        rows = rows_of(clips=3)
        undefined = MetricValue(status="undefined", reason="nothing voiced")
        odd = rows[1].model_copy(update={"metrics": rows[1].metrics | {"f0corr": undefined}})
        with database.transaction(write=True) as session:
            store(session, "one", [rows[0], odd, rows[2]])
            store(session, "two", [rows[0], failed("mini/clip001", category="audio"), rows[2]])
        page = client.get("/compare/clip?codec=one&codec=two&dataset=mini&clip=mini/clip001", headers=HTML).text
        assert "undefined<small>nothing voiced</small>" in page
        assert "failed<small>encode: CodingFailed too short for a frame</small>" in page

    @pytest.mark.parametrize("change", [("mini/clip003", "nothing"), ("dataset=mini", "dataset=other")])
    def test_what_is_not_there_is_not_found(self, board: TestClient, change: tuple[str, str]) -> None:
        """An unknown clip or dataset."""
        assert board.get(f"/api/v1{self.ADDRESS.replace(*change)}").status_code == 404
