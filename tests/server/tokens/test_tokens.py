"""The page of tokens: codecs by figure with three rates, charts against three axes, published perplexities apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.mseb import CASCADE
from support.server.understanding import TASK
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.applications.results import ProbeInfo
from codec_superb.metrics.table import Category
from codec_superb.server.charts.defaults import default_dataset
from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

CODECS = {"lyra_3.2k": (3.2, 800.0, 46.5, 2.9), "lyra_6k": (6.0, 1500.0, 33.5, 5.6)}
"""kbps, tokens a second, same tokens in percent, entropy-coded kbps."""
TOLD = {
    "tokens_phone_pnmi_pct": 19.7, "tokens_speaker_pnmi_pct": 5.0, "tokens_phone_pnmi_all_pct": 6.3,
    "tokens_speaker_pnmi_all_pct": 5.6,
}  # fmt: skip
MRR, ACCURACY = "mseb_retrieval_passage_mrr", f"{TASK.key}_accuracy_pct"
NEAREST = "xares_knn_language_accuracy_pct"


def make_codecs(database: Database) -> None:
    """Store two codecs with figures of tokens, and one without."""
    with database.transaction(write=True) as session:
        for codec, (kbps, tokens, same, entropy) in CODECS.items():
            probed = [
                Probed("tokens_recode_pct", same, 100.0, "mini", "codec-disturbed"),
                Probed("tokens_entropy_kbps", entropy, kbps, "mini", "codec-codes"),
                *(Probed(key, value, 100.0, "mini", "codec-contents") for key, value in TOLD.items()),
                Probed(MRR, same / 100, 0.6, "mini", CASCADE, width=0.05),
                Probed(ACCURACY, same, 80.0, "mini", "cascade"),
                Probed(NEAREST, same, 91.0, "mini", "log-mel-frames"),
            ]
            card = {"codebooks": 1, "frame_rate": tokens, "codebook_size": round(2 ** (1000 * kbps / tokens))}
            make_submission(session, codec, kbps, applications=probed, card=card)
        other = [Probed(MRR, 0.5, 0.6, "mini", CASCADE, width=0.05), Probed(ACCURACY, 70.0, 80.0, "mini", "cascade")]
        make_submission(session, "opus_12k", 12.0, applications=other)


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve them; they are there when the service starts."""
    make_codecs(database)
    with TestClient(app) as running:
        yield running


def test_without_results_the_page_has_the_published_perplexities(client: TestClient) -> None:
    """Marked, with what differs."""
    page = client.get("/tokens").text
    assert "No results yet" in page
    for shown in ("published, not re-run here", "arXiv:2509.02349", "LibriTTS", "420.6", "MTG-Jamendo", "15.5"):
        assert shown in page, shown


def test_codecs_stand_with_three_rates_and_their_figures(board: TestClient) -> None:
    """Measured, nominal and entropy-coded kbps, tokens a second, intervals; a codec of bytes is not there."""
    page = board.get("/tokens").text
    assert "self-reported by someone" in page
    for shown in ("Tokens/s", "800.0", "500.0", "Entropy-coded kbps", "2.900", "3.20", "46.5", "On mini"):
        assert shown in page, shown
    assert "opus_12k" not in page
    refused = board.get("/tokens?dataset=moon")
    assert refused.status_code == 404
    assert "there are mini" in refused.text


def test_a_handful_of_clips_is_told_from_all(app: FastAPI, database: Database) -> None:
    """Beside each figure on fewer clips than others have stands on how many, on the pages of tokens, tasks and MSEB."""
    make_codecs(database)
    with database.transaction(write=True) as session:
        few = [
            Probed("tokens_recode_pct", 99.0, 100.0, "mini", "codec-disturbed", clips=6),
            Probed(MRR, 0.59, 0.6, "mini", CASCADE, clips=6),
            Probed(ACCURACY, 79.0, 80.0, "mini", "cascade", clips=6),
        ]
        make_submission(session, "chosen_x", 3.0, applications=few)
    with TestClient(app) as client:
        for path in ("/tokens", "/understanding", "/mseb"):
            assert client.get(path).text.count("6 of 20 clips") == 1, path


def test_one_account_does_not_decide_which_dataset_is_shown(app: FastAPI, database: Database) -> None:
    """Four codecs of one account on another dataset do not take those of three accounts off the page."""
    understood = f"{TASK.key}_accuracy_pct"
    figures = {"/tokens": "tokens_recode_pct", "/mseb": "mseb_reranking_query_map", "/understanding": understood}
    with database.transaction(write=True) as session:
        for number, owner in enumerate(("ann", "bea", "cay", *["mallory"] * 4)):
            place = "mini" if owner != "mallory" else "stamps"
            probed = [Probed(figure, 0.4, 0.6, place) for figure in figures.values()]
            made: dict[str, Sequence[Category]] = {place: ("speech",)}
            make_submission(session, f"codec_{number}", 6.0, datasets=made, applications=probed, owner=owner)
    with TestClient(app) as board:
        for page in figures:
            text = board.get(page).text
            assert "codec_0" in text, page
            assert "codec_6" not in text, page
        assert default_dataset(app.state.board.current, "speech", "") == "mini"


def _codecs_in(text: str) -> set[int]:
    return {number for number in range(4) if f"codec_{number}" in text or f"Codec {number}" in text}


def test_results_on_another_state_of_a_dataset_are_counted_and_not_shown(app: FastAPI, database: Database) -> None:
    """A dataset that was registered anew has other clips: of as many senders the newest state is shown."""
    figures = {"/tokens": "tokens_recode_pct", "/mseb": "mseb_reranking_query_map", "/understanding": ACCURACY}
    figures["/xares"] = NEAREST
    more = {"/tokens": {"across": "kbps"}, "/xares": {"reader": "nearest neighbours"}}
    with database.transaction(write=True) as session:
        probed = [Probed(figure, 0.4, 0.6, "mini") for figure in figures.values()]
        for number, owner in enumerate(("ann", "bea", "cay", "dan")):
            when = datetime(2026, 1, 1 + number, tzinfo=UTC)
            key = make_submission(session, f"codec_{number}", 6.0, applications=probed, owner=owner, received=when)
            if number < 2:
                stored = session.get_one(Submission, key)
                older = [{**one, "manifest_hash": "0" * 64} for one in stored.document["datasets"]]
                stored.document = {**stored.document, "datasets": older}
    with TestClient(app) as board:
        for page, figure in figures.items():
            text = board.get(page).text
            assert _codecs_in(text) == {2, 3}, page
            assert "2 results were measured on another state of" in text, page
            asked = {"figure": figure, "dataset": "mini", **more.get(page, {})}
            drawn = board.get(f"/api/v1{page}/figures/rate", params=asked)
            assert _codecs_in(drawn.text) == {2, 3}, page


@pytest.mark.parametrize(
    ("across", "places"), [("tokens", {800.0, 1500.0}), ("kbps", {3.2, 6.0}), ("entropy", {2.9, 5.6})]
)
def test_a_figure_is_drawn_against_each_axis(board: TestClient, across: str, places: set[float]) -> None:
    """At the codec's place on it; an unknown figure names those that there are."""
    query = f"figure=tokens_recode_pct&dataset=mini&across={across}"
    drawn = board.get(f"/api/v1/tokens/figures/rate?{query}").json()
    assert sorted({place for trace in drawn["data"] for place in trace["x"]}) == pytest.approx(
        sorted(places), rel=0.011
    )
    assert {46.5, 33.5} <= {value for trace in drawn["data"] for value in trace["y"]}
    refused = board.get("/api/v1/tokens/figures/rate?figure=pesq&dataset=mini")
    assert refused.status_code == 404
    assert "tokens_recode_pct" in refused.text


def test_what_tokens_carry_is_a_table_and_a_picture(board: TestClient) -> None:
    """Phones against speakers, a point for each codec and a line to the mean of its codebooks."""
    page = board.get("/tokens").text
    for shown in ("What they carry", "19.7", "phones told, first codebook"):
        assert shown in page, shown
    drawn = board.get("/api/v1/tokens/figures/contents?dataset=mini").json()
    points = [(trace["x"], trace["y"]) for trace in drawn["data"] if "text" in trace["mode"]]
    assert points == [([5.0], [19.7])] * 2
    lines = [(trace["x"], trace["y"]) for trace in drawn["data"] if "lines" in trace["mode"]]
    assert lines == [([5.0, 5.6], [19.7, 6.3])] * 2
    assert board.get("/api/v1/tokens/figures/contents?dataset=moon").status_code == 404


def test_charts_of_the_board_take_tokens_as_an_axis(board: TestClient) -> None:
    """A codec of bytes is left out, and said to be; the file has the tokens."""
    drawn = board.get("/api/v1/charts/rate?across=tokens").json()
    assert {place for trace in drawn["data"] for place in trace["x"]} == {800.0, 1500.0}
    assert drawn["layout"]["xaxis"]["title"]["text"] == "Tokens per second (logarithmic)"
    assert "tokens_per_second" in board.get("/api/v1/charts/rate.csv?across=tokens").text
    assert "without tokens" in board.get("/charts?chart=rate&across=tokens").text


def test_charts_of_other_pages_take_tokens_as_an_axis(board: TestClient) -> None:
    """A page offers each figure against both; codecs stand at their tokens a second, those of bytes are left out."""
    reader = "&reader=nearest+neighbours"
    for page, figure, more in (("mseb", MRR, ""), ("understanding", ACCURACY, ""), ("xares", NEAREST, reader)):
        assert f"figure={figure}&amp;dataset=mini&amp;across=tokens" in board.get(f"/{page}").text
        asked = f"/api/v1/{page}/figures/rate?figure={figure}&dataset=mini{more}&across="
        drawn = board.get(f"{asked}tokens").json()
        lyra = [trace for trace in drawn["data"] if trace["meta"]["role"] == "family" and trace["name"] == "lyra"]
        assert sorted(place for trace in lyra for place in trace["x"]) == pytest.approx([800.0, 1500.0])
        assert "opus" not in {trace["name"] for trace in drawn["data"]}
        assert drawn["layout"]["xaxis"]["title"]["text"] == "Tokens per second (logarithmic)"
        assert board.get(f"{asked}moons").status_code == 400


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_drawn_and_accessible(
    browser: Browser, settings: Settings, database: Database, width: int, scheme: str
) -> None:
    """The charts have their marks, nothing is wider than the window, and axe-core finds no fault."""
    make_codecs(database)
    with running_site(settings) as site, visitor(browser, site, width, scheme=scheme) as page:
        page.goto("/tokens")
        for chart in page.locator("[data-figure]").all():
            chart.scroll_into_view_if_needed()
            expect(chart).to_have_attribute("data-state", "drawn")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessibility_faults(page) == []


@dataclass(frozen=True)
class _Asked(Probed):
    """A figure of a probe with settings of its own."""

    settings: tuple[tuple[str, str | int], ...] = ()

    def info(self) -> ProbeInfo:
        """Say how the probe was run."""
        return super().info().model_copy(update={"settings": dict(self.settings)})


def test_figures_of_other_settings_stand_beside_the_table(app: FastAPI, database: Database) -> None:
    """What most senders have is shown and on the front; whose differ, and in what, is said, however many they sent."""
    usual = (("coder", "ANS"), ("folds", 5))
    with database.transaction(write=True) as session:
        for number, owner in enumerate(("ann", "bea", *["mallory"] * 3)):
            settings = usual if owner != "mallory" else (("coder", "all clips <b>"), ("folds", 1))
            figures = [
                _Asked("tokens_entropy_kbps", 3.0 - number / 10, 3.2, "mini", "codec-codes", settings=settings),
                Probed("tokens_recode_pct", 40.0 + number, 100.0, "mini", "codec-disturbed"),
            ]
            card = {"codebooks": 1, "frame_rate": 800.0, "codebook_size": 16}
            make_submission(session, f"codec_{number}", 3.2, applications=figures, card=card, owner=owner)
    with TestClient(app) as client:
        page = client.get("/tokens").text
        assert "Rate of tokens</strong> (version 1, coder ANS, folds 5)" in page
        assert "3 codecs asked with other settings" in page
        said = "self-reported by mallory: Rate of tokens with coder all clips &lt;b&gt;, folds 1"
        assert page.count(said) == 3
        assert "2.900" in page
        assert "2.600" not in page
        assert "44.0" in page  # of another probe, which was asked as others did
        address = "/api/v1/tokens/figures/rate?dataset=mini&across="
        drawn = client.get(f"{address}kbps&figure=tokens_entropy_kbps").json()
        front = next(trace for trace in drawn["data"] if trace["meta"]["role"] == "front")
        assert front["y"] == [2.9]
        assert "3 codecs asked with other settings: not drawn" in str(drawn["layout"]["annotations"])
        others = drawn["layout"]["meta"]["other_settings"]
        assert [of["codec"] for of in others] == ["codec_2", "codec_3", "codec_4"]
        assert others[0]["differs"] == "coder all clips <b>, folds 1"
        assert "other settings" not in client.get(f"{address}kbps&figure=tokens_recode_pct").text
        assert "3 codecs asked with other" in client.get(f"{address}entropy&figure=tokens_recode_pct").text


def test_what_follows_from_a_codec_s_tokens_is_no_setting(app: FastAPI, database: Database) -> None:
    """A language model of tokens has weights of its own for each codec: all stand in one table."""
    with database.transaction(write=True) as session:
        for number in range(2):
            own = (("model", "tiny"), ("steps", 40 + number), ("weights_sha256", f"{number}" * 64))
            figure = _Asked("tokens_lm_bits", 5.0 + number, 10.0, "mini", "codec-codes", settings=own)
            make_submission(session, f"codec_{number}", 3.2, applications=[figure], owner=f"account_{number}")
    with TestClient(app) as client:
        page = client.get("/tokens").text
        assert "other settings, not" not in page
        assert "5.000" in page
        assert "6.000" in page
        query = {"metric": "tokens_lm_bits", "category": "speech", "dataset": "mini"}
        rows = client.get("/api/v1/leaderboard", params=query).json()["rows"]
        assert [row["rank"] for row in rows] == [[1, 2], [1, 2]]
        settings = [row["applications"]["tokens_lm_bits"]["settings"] for row in rows]
        assert [of["steps"] for of in settings] == ["40", "41"]  # told all the same
