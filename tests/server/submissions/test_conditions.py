"""The charts of /conditions hold equal measurements alone."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.session import Database

HTML = {"Accept": "text/html"}
LOSS = parse_condition("loss:5")
TINY, LARGE = "faster-whisper:tiny.en", "faster-whisper:large-v3"


def drawn(page: str, number: int) -> set[str]:
    """Return the codecs of a chart of speech: 1 is the score, 3 word errors."""
    chart = page.partition(f'id="conditions-speech-loss-clean-{number}"')[2].partition("</svg>")[0]
    return set(re.findall(r"<title>([^,]+),", chart))


def lines(page: str) -> dict[str, str]:
    """Return what the numbers of speech say of each codec under the condition."""
    table = page.partition('aria-labelledby="conditions-speech-loss-clean"')[2].partition("</table>")[0]
    found = re.findall(r'<tr><th scope="row">([^<]+)</th><td>loss:5(.*?)</tr>', table, re.DOTALL)
    return {name: re.sub(r"<[^>]+>", " ", text) for name, text in found}


@pytest.fixture
def board(client: TestClient, app: FastAPI, database: Database) -> TestClient:
    """Serve two codecs measured alike, one heard by another model, and one on another dataset; each clean too."""
    with database.transaction(write=True) as session:
        for owner, codec, where, model, sha256 in (
            ("ann", "opus_12k", "mini", TINY, "ab"),
            ("bob", "gsm_13k", "mini", TINY, "ab"),
            ("mallory", "codec2_1200", "mini", LARGE, "cd"),
            ("mallory", "codec2_3200", "easy", TINY, "ab"),
        ):
            heard = Probed("asr_wer_pct", 8.0, 4.0, dataset=where, backend=model, sha256=sha256 * 32)
            told = {"owner": owner, "datasets": {where: ["speech"]}, "applications": [heard]}
            make_submission(session, codec, 12.0, 0.8, **told)
            make_submission(session, codec, 12.0, 0.7, condition=LOSS, **told)
    app.state.board.refresh()
    return client


def test_only_what_most_senders_have_is_drawn(board: TestClient) -> None:
    """Neither the errors that another model heard nor the scores on another dataset stand beside those of others."""
    page = board.get("/conditions", headers=HTML).text
    assert drawn(page, 1) == {"opus_12k", "gsm_13k", "codec2_1200"}
    assert drawn(page, 3) == {"opus_12k", "gsm_13k"}
    assert "Overall score and PESQ on mini; Speech recognition: word error rate on mini, by" in page
    assert f"on mini, by {TINY} (abababababab)" in page
    told = lines(page)
    assert told["codec2_1200"].count("not drawn: ") == 1
    assert f"not drawn: by {LARGE} (cdcdcdcdcdcd)" in told["codec2_1200"]
    assert told["codec2_3200"].count("not drawn: on easy") == 3
    assert "not drawn" not in told["opus_12k"] + told["gsm_13k"]


def test_the_page_of_a_codec_draws_its_own(board: TestClient) -> None:
    """Its datasets and its model, which it names."""
    for codec, said in (("codec2_1200", f"on mini, by {LARGE} (cdcdcdcdcdcd)"), ("codec2_3200", f"on easy, by {TINY}")):
        page = board.get(f"/codecs/{codec}", headers=HTML).text
        assert said in page
        assert "not drawn" not in page


def test_whose_word_all_is_that_a_chart_draws(client: TestClient, app: FastAPI, database: Database) -> None:
    """Results that were run again stand beside another account's clean value, which is not theirs."""
    told = {"datasets": {"mini": ["speech"]}}
    with database.transaction(write=True) as session:
        make_submission(session, "opus_12k", 12.0, 0.7, "verified", owner="ann", condition=LOSS, **told)
        make_submission(session, "opus_12k", 12.0, 0.9, owner="mallory", **told)
    app.state.board.refresh()
    for path in ("/conditions", "/codecs/opus_12k"):
        assert "results self-reported by mallory, verified" in client.get(path, headers=HTML).text, path


@pytest.mark.parametrize("clips", ["of equally many", "that failed"])
def test_no_clean_value_beside_incomplete_results(
    client: TestClient, app: FastAPI, database: Database, clips: str
) -> None:
    """Of equally many clips nobody knows whether they are the same; what failed is not what the clean one rests on."""
    part = {"complete": False, **({"failed": 10} if clips == "that failed" else {})}
    told = {"owner": "mallory", "datasets": {"mini": ["speech"]}}
    with database.transaction(write=True) as session:
        make_submission(session, "odd_1", 12.0, 0.6, result={} if clips == "that failed" else part, **told)
        make_submission(session, "odd_1", 12.0, 0.8, condition=LOSS, result=part, **told)
    app.state.board.refresh()
    for path in ("/conditions", "/codecs/odd_1"):
        page = client.get(path, headers=HTML).text
        chart = page.partition('id="conditions-speech-loss-clean-1"')[2].partition("</svg>")[0]
        assert re.findall(r"<title>odd_1, ([^:]+):", chart) == ["5"], path
        assert "not drawn: not known to be on the same clips" in page
