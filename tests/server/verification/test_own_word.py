"""Wherever a view names who says a figure: under the badge of its submission it may be the account's word alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.verified import attest

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.session import Database

HTML = {"Accept": "text/html"}
OWN = "self-reported by mallory, not run again"
WER, EER, KNN = "asr_wer_pct", "asv_eer_pct", "xares_knn_language_accuracy_pct"
TOKENS, MRR = "tokens_unigram_bits", "mseb_retrieval_passage_mrr"
FIGURES = (
    Probed(WER, 8.0, 4.0), Probed(EER, 3.0, 1.0, backend="resemblyzer"), Probed(KNN, 70.0, 90.0),
    Probed(TOKENS, 5.0, 6.0), Probed(MRR, 60.0, 80.0),
)  # fmt: skip
CARD = {"codebooks": 2, "codebook_size": 64, "frame_rate": 1000.0, "nominal_kbps": 12.0}


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve two verified codecs, of one of which nobody ran any model again but that of speakers."""
    with database.transaction(write=True) as session:
        told = {"status": "verified", "card": CARD, "applications": FIGURES}
        attest(session, make_submission(session, "opus_12k", 12.0, owner="mallory", **told), "bits", "asv")
        make_submission(session, "opus_16k", 16.0, owner="ann", **told)
        damaged = make_submission(
            session, "opus_12k", 12.0, owner="mallory", status="verified", condition=parse_condition("loss:10"),
            applications=FIGURES[:1],
        )  # fmt: skip
        attest(session, damaged, "bits")
    with TestClient(app) as running:
        yield running


def hover(board: TestClient, address: str, title: str) -> str:
    """Return the text of a codec's point."""
    answer = board.get(address)
    assert answer.status_code == 200, answer.text
    texts = [text for trace in answer.json()["data"] for text in trace.get("hovertext", ())]
    return next(text for text in texts if title in text)


def test_the_front_in_words(board: TestClient) -> None:
    """Of a score the badge is the codec's, of an application's figure it is the figure's."""
    for metric, said in (("score", "verified"), (WER, OWN)):
        page = board.get(f"/?category=speech&metric={metric}", headers=HTML).text
        words = page[page.index('id="front-words"') :].split("</details>")[0]
        (line,) = [line for line in words.splitlines() if ">Opus 12K<" in line]
        assert f"({said})" in line


def test_a_ranking_by_what_nobody_ran_again(board: TestClient) -> None:
    """Where a figure is weighed that the badge does not cover, the codec is its account's word, and votes so."""
    for weights, status in (
        ("intelligibility=0&speech=1", "verified"),
        ("intelligibility=1&speech=1", "self-reported"),
    ):
        found = board.get(f"/api/v1/ranking?audio=0&music=0&{weights}").json()
        assert {of["codec"]: of["status"] for of in found["codecs"]} == {"opus_12k": status, "opus_16k": "verified"}
        assert ("not run again" in found["summary"]) == (status == "self-reported")


def test_the_page_of_encoders(board: TestClient) -> None:
    """A row a figure: that of the original too."""
    found = board.get("/api/v1/xares").json()["figures"]
    assert {(of["title"], of["source"]) for of in found if of["kind"] == "resynthesis"} == {
        ("Opus 12K", OWN), ("Opus 16K", "verified"),
    }  # fmt: skip
    assert {of["source"] for of in found if of["kind"] == "encoder"} == {OWN, "verified"}


@pytest.mark.parametrize(
    "address",
    [
        f"/api/v1/charts/applications?application={WER}&source=runs",
        f"/api/v1/tokens/figures/rate?figure={TOKENS}&dataset=mini",
        f"/api/v1/mseb/figures/rate?figure={MRR}&dataset=mini",
        f"/api/v1/xares/figures/rate?reader=nearest neighbours&figure={KNN}&dataset=mini",
        f"/api/v1/leaderboard/chart?category=speech&metric={WER}&source=runs",
    ],
)
def test_points_of_charts(board: TestClient, address: str) -> None:
    """What a visitor reads at a point is about that figure."""
    assert OWN in hover(board, address, "Opus 12K")
    assert hover(board, address, "Opus 16K").count("verified") == 1


def test_the_rows_of_a_codecs_page(board: TestClient) -> None:
    """Each figure that the badge does not cover says so in its row, and no other one does."""
    for codec, uncovered in (("opus_12k", len(FIGURES) - 1), ("opus_16k", 0)):
        page = board.get(f"/codecs/{codec}", headers=HTML).text
        lines = [line for line in page.split("<tr") if "metrics#" in line]
        told = [line for line in lines if "not run again" in line]
        assert len(told) >= uncovered
        assert bool(told) == bool(uncovered)
        assert not [line for line in told if f"metrics#{EER}" in line]


def test_what_was_run_again_keeps_its_badge(board: TestClient) -> None:
    """Of the same submission another figure is verified."""
    assert OWN not in hover(board, f"/api/v1/charts/applications?application={EER}&source=runs", "Opus 12K")


@pytest.mark.parametrize(("key", "own"), [(WER, OWN), (EER, "verified")])
def test_numbers_of_charts(board: TestClient, key: str, own: str) -> None:
    """The table below a chart, as CSV."""
    text = board.get(f"/api/v1/charts/applications.csv?application={key}&source=runs").text
    lines = list(csv.reader(io.StringIO(text)))
    assert [[cell for cell in line if "verified" in cell or cell == OWN] for line in lines if "opus_12k" in line] == [
        [own]
    ]


def test_codecs_side_by_side(board: TestClient) -> None:
    """A column's head says what holds of all its cells; the cells say the rest."""
    page = board.get("/compare?codec=opus_12k&codec=opus_16k", headers=HTML).text
    assert OWN in page
    found = board.get("/api/v1/compare?codec=opus_12k&codec=opus_16k").json()["applications"]
    again = {(part["figure"], of["codec"]): of["run_again"] for part in found for of in part["codecs"]}
    assert (again[WER, "opus_12k"], again[EER, "opus_12k"], again[WER, "opus_16k"]) == (False, True, True)


def test_word_errors_under_a_condition(board: TestClient) -> None:
    """The score beside them was run again."""
    page = board.get("/conditions", headers=HTML).text
    assert page.count("not run again") == 3  # both values, and the note above
    assert page.count(OWN) == 2
    assert "word errors not run again where the numbers say so" in page


def test_the_api_of_a_codec(board: TestClient) -> None:
    """What the page of a codec names as not compared its figures say too."""
    for codec, again in (("opus_12k", False), ("opus_16k", True)):
        (figure,) = board.get(f"/api/v1/codecs/{codec}/mseb").json()["figures"]
        assert figure["run_again"] is again


def test_a_page_links_attestations_where_there_is_one(board: TestClient) -> None:
    """A moderator's Verify leaves none: the page says whose word it is."""
    for codec, told, other in (
        ("opus_12k", "Attestations of running it again", "without an attestation"),
        ("opus_16k", "By a maintainer, without an attestation", "Attestations of"),
    ):
        identity = board.get(f"/api/v1/codecs/{codec}").json()["submission"]["submission"]
        page = board.get(f"/submissions/{identity}", headers=HTML).text
        assert told in page
        assert other not in page
        assert ("Partly run again" in page) == (codec == "opus_12k")
