"""The pages of the running service: what they answer, to whom, and that none of them breaks the site's own policy."""

from __future__ import annotations

import json
from urllib.parse import quote

import numpy as np
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.html import elements, forbidden, links, unnamed_controls
from support.server.board import make_submission

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.literature.tables import literature
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import ensure_builtin
from codec_superb.server.leaderboard.pages import front_rows
from codec_superb.server.leaderboard.select import select_all
from codec_superb.server.people import tokens
from codec_superb.server.settings import Settings
from codec_superb.web.site.board.choices import BoardState

PAGES = ("/", "/?source=table3", "/?source=ultraeval", "/datasets", "/metrics", "/about", "/api/docs")


@pytest.fixture
def board(client: TestClient, database: Database, app: FastAPI) -> TestClient:
    """Put four codecs, one of them lossless, and the built-in dataset on the board."""
    with database.transaction(write=True) as session:
        ensure_builtin(session)
        make_submission(session, "opus_12k", 12.0, 0.80)
        make_submission(session, "opus_6k", 6.0, 0.70, status="verified")
        make_submission(session, "worse_8k", 8.0, 0.60)
        make_submission(
            session, "flac", None, 0.97, card={"kind": "lossless", "family": "flac"}, result={"kbps": 300.0}
        )
    app.state.board.refresh()
    return client


class TestEveryPage:
    """What holds of all of them."""

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("path", PAGES)
    def test_fits_the_policy(self, board: TestClient, path: str) -> None:
        """No inline script, style or handler; every control has a name; one main heading; 150 kB, long lists more."""
        answer = board.get(path)
        assert answer.status_code == 200
        assert forbidden(answer.text) == []
        assert unnamed_controls(answer.text) == []
        assert len(elements(answer.text, "h1")) == 1
        assert len(elements(answer.text, "meta", name="description")) == 1
        assert len(answer.content) < {"/api/docs": 280_000, "/metrics": 180_000}.get(path, 150_000)

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("path", PAGES)
    def test_is_sent_once(self, board: TestClient, path: str) -> None:
        """Who has it already gets 304; who has an older state gets the new one."""
        first = board.get(path)
        assert board.get(path, headers={"if-none-match": first.headers["etag"]}).status_code == 304

    def test_files_it_names_exist(self, board: TestClient) -> None:
        """Scripts, styles and the icon are there, and kept for good by their hash."""
        html = board.get("/").text
        names = [each.attributes["src"] for each in elements(html, "script")]
        names += [each.attributes["href"] for each in elements(html, "link")]
        names += [
            each.attributes["data-plotly"] for each in elements(html, "script") if "data-plotly" in each.attributes
        ]
        assert len(names) == 6
        for name in names:
            assert "immutable" in board.get(name).headers["cache-control"]

    def test_a_moderator_gets_a_page_of_their_own(self, board: TestClient, database: Database) -> None:
        """It has their tools and is kept for nobody; the next visitor gets the common one."""
        with database.transaction(write=True) as session:
            _, secret = tokens.create(session, "Ada", ["moderate"], actor="test")
        form = elements(board.get("/login").text, "input", name="csrf")[0].attributes["value"]
        board.post("/login", data={"csrf": form, "token": secret}, follow_redirects=False)
        for path in PAGES:
            own = board.get(path)
            assert own.headers["cache-control"] == "private, no-store"
            assert "Log out Ada" in own.text
        board.cookies.clear()
        common = board.get("/about")
        assert "Log out" not in common.text
        assert common.headers["cache-control"] == "no-cache"


class TestLeaderboard:
    """``/``."""

    def test_shows_submissions(self, board: TestClient) -> None:
        """Each codec with its page, ranks and downloads."""
        html = board.get("/").text
        assert links(html)["Opus 12K"] == "/codecs/opus_12k"
        assert [row.text.split()[0] for row in elements(html, "th", scope="row")] == ["Flac", "Opus", "Opus", "Worse"]
        assert board.get(links(html)["CSV"]).status_code == 200

    def test_a_form_without_scripts_leads_to_the_short_address(self, board: TestClient) -> None:
        """Fields that were left empty do not stay in the address."""
        answer = board.get("/?search=opus&kbps_min=&kbps_max=&metric=score&dataset=", follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?search=opus"
        shown = board.get(answer.headers["location"]).text
        assert len(elements(shown, "input", name="codec")) == 2

    def test_what_is_impossible_is_explained(self, board: TestClient) -> None:
        """A person gets a page that says what was expected."""
        answer = board.get("/?kbps_min=many", headers={"accept": "text/html"})
        assert answer.status_code == 400
        assert "kbps_min" in answer.text
        assert 'aria-label="Pages"' in answer.text

    def test_an_empty_board_shows_published_figures(self, client: TestClient) -> None:
        """A new service has something to show, says where it is from, and how to add to it."""
        html = client.get("/").text
        assert len(elements(html, "th", scope="row")) == 19
        assert links(html)["Codec-SUPERB, Table 3"].startswith("https://")
        assert links(html)["be the first"] == "/submit"

    def test_every_published_codec_has_its_page(self, client: TestClient) -> None:
        """Links of published figures lead somewhere."""
        names = {codec.id for table in literature() for codec in table.codecs}
        missing = [name for name in names if client.get(f"/codecs/{quote(name, safe='')}").status_code != 200]
        assert missing == []

    def test_front_is_that_of_all_rows(self, board: TestClient, app: FastAPI) -> None:
        """The words hold the codecs that nothing cheaper beats; a lossless one stands outside."""
        snapshot = app.state.board.current
        for metric in ("score", "mel"):
            state = BoardState(metric=metric)
            rows = [row for row in select_all(snapshot, state).rows if not row.result.lossless]
            points = sorted((row.result.kbps, row.result.codec) for row in rows)
            front = [row.result.codec for row in front_rows(snapshot, state)]
            assert front == ["opus_6k", "opus_12k"]
            assert front == [name for _, name in points if name in front]

    def test_front_leaves_out_what_nobody_counted_and_what_is_partial(
        self, board: TestClient, app: FastAPI, database: Database
    ) -> None:
        """Whoever declares a bitrate, or chooses clips or another dataset, takes nobody's place, as in the chart."""
        told = {"bit_source": "declared"}
        with database.transaction(write=True) as session:
            make_submission(session, "declared_1k", 1.0, 0.95, card=told)
            make_submission(session, "partial_1k", 1.0, 0.95, result={"complete": False})
            make_submission(session, "elsewhere_1k", 1.0, 0.95, datasets={"vctk": ("speech",)})
            make_submission(session, "whole_4k", 4.0, 0.94)
        snapshot = app.state.board.refresh()
        assert [row.result.codec for row in front_rows(snapshot, BoardState())] == ["whole_4k"]
        chart = board.get("/api/v1/charts/rate").json()
        (front,) = [trace for trace in chart["data"] if trace["meta"]["role"] == "front"]
        assert len(front["x"]) == 1

    def test_front_leaves_out_what_has_no_bitrate(self, client: TestClient, app: FastAPI) -> None:
        """Figures without a bitrate have no place in the chart, nor in its words."""
        rows = front_rows(app.state.board.current, BoardState(metric="ultra_average", source="ultraeval"))
        assert rows == []
        tiny = front_rows(app.state.board.current, BoardState(source="tiny"))
        assert tiny
        assert not np.isnan([row.result.kbps for row in tiny]).any()


class TestDatasets:
    """``/datasets``."""

    def test_says_what_can_be_checked(self, board: TestClient) -> None:
        """``mini`` is known with its clips and results; the others are named apart."""
        html = board.get("/datasets").text
        known, others = html.split('id="others"')
        assert [
            each.attributes["id"] for each in elements(known, "li") if "card" in each.attributes.get("class", "")
        ] == ["mini"]
        assert links(known)["4 codecs"] == "/?category=speech&dataset=mini"
        assert board.get(links(known)["4 codecs"]).status_code == 200
        (row,) = elements(others, "tr", id="esc50")
        assert "ESC-50" in row.text
        assert "2,000" in row.text
        assert "as published" in others

    def test_nothing_is_known_at_first(self, client: TestClient) -> None:
        """A service without datasets says how one is added."""
        assert "codec-superb admin datasets add" in client.get("/datasets").text


class TestMetrics:
    """``/metrics``."""

    def test_defines_every_metric(self, client: TestClient) -> None:
        """Each metric of the table has its place with the definition that the table gives."""
        html = client.get("/metrics").text
        for key, metric in METRICS.items():
            (section,) = elements(html, "section", id=key)
            assert metric.definition.replace("`", "") in section.text
            assert f"version {metric.version}" in section.text


class TestAbout:
    """``/about``."""

    def test_names_the_published_sources(self, client: TestClient) -> None:
        """Citation, address, and how the figures differ."""
        html = client.get("/about").text
        for table in literature():
            (section,) = elements(html, "section", id=table.name)
            assert table.citation.strip() in section.text
            assert all(sentence in section.text for sentence in table.differs)

    def test_says_who_may_upload(self, client: TestClient, settings: Settings) -> None:
        """Without anonymous uploads it speaks of tokens."""
        assert not settings.anonymous_uploads
        assert "Uploads need a token" in client.get("/about").text


class TestApiDocs:
    """``/api/docs``."""

    def test_describes_every_path(self, client: TestClient) -> None:
        """Each method of each path stands there with its parameters, its answers, and an example."""
        html = client.get("/api/docs").text
        document = client.get("/api/openapi.json").json()
        sections = {each.attributes["id"]: each.text for each in elements(html, "section")}
        for path, methods in document["paths"].items():
            for method, body in methods.items():
                anchor = f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}"
                assert "curl" in sections[anchor]
                assert all(status in sections[anchor] for status in body["responses"])
                alone = "The same parameters as" not in sections[anchor]
                assert all(each["name"] in sections[anchor] for each in body.get("parameters", ()) if alone)
        assert set(document["components"]["schemas"]) == {
            name.removeprefix("schema-") for name in sections if name.startswith("schema-")
        }

    def test_links_inside_lead_somewhere(self, client: TestClient) -> None:
        """Every reference to an object or a path has its target."""
        html = client.get("/api/docs").text
        ids = {each.attributes["id"] for each in elements(html) if "id" in each.attributes}
        targets = {each.attributes["href"] for each in elements(html, "a")}
        assert {target[1:] for target in targets if target.startswith("#")} <= ids


class TestSmallFiles:
    """What browsers and robots ask for by themselves."""

    def test_robots(self, client: TestClient) -> None:
        """Pages may be read, combinations of filters not."""
        assert "Disallow: /*?" in client.get("/robots.txt").text

    @pytest.mark.parametrize("path", ["/favicon.ico", "/favicon.svg"])
    def test_favicon(self, client: TestClient, path: str) -> None:
        """The picture is there under both names."""
        answer = client.get(path)
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.text.startswith("<svg")

    def test_openapi_is_valid_json(self, client: TestClient) -> None:
        """Pages stay out of it."""
        paths = json.loads(client.get("/api/openapi.json").text)["paths"]
        elsewhere = {"/healthz", "/readyz", "/.well-known/codec-superb-keys.json"}
        assert {path for path in paths if not path.startswith("/api/")} <= elsewhere
