"""Titles, licences and citations of datasets are the board's, and who sent a file is its account."""

from __future__ import annotations

from pathlib import Path

from support.pipeline.stats import draw_rows
from support.server.ingest import CLIPS, UPLOADS, Service, make_file


def test_the_file_does_not_say_what_a_dataset_is(service: Service, tmp_path: Path) -> None:
    """Neither over the results, nor in a BibTeX entry that runs a command, nor beside a sample."""
    about = {
        "title": "LibriSpeech test-clean", "licence": "mine alone", "homepage": "https://example.org/evil",
        "citation": "@misc{x, note = {\\write18{rm -rf ~}}}",
    }  # fmt: skip
    data = make_file(draw_rows(1, CLIPS), tmp_path, codec="credit_1k", about=about, samples=1)
    answer = service.send(data).json()
    assert answer["status"] == "self-reported"
    paths = (
        "/codecs/credit_1k", "/api/v1/codecs/credit_1k", f"/submissions/{answer['id']}",
        f"{UPLOADS}/{answer['id']}", "/api/v1/codecs/credit_1k/figures/distribution?category=speech&metric=pesq",
    )  # fmt: skip
    for path in paths:
        text = service.client.get(path, headers={"accept": "text/html, application/json"}).text
        for word in ("LibriSpeech", "mine alone", "evil", "write18", "by the test"):
            assert word not in text, (path, word)
    body = service.client.get(f"{UPLOADS}/{answer['id']}").json()
    assert body["document"]["datasets"][0]["title"] == "Mini"
    assert body["document"]["samples"][0]["licence"] == "CC0-1.0"


def test_those_of_custom_ones_are_the_submitters_words(service: Service, tmp_path: Path) -> None:
    """And said to be."""
    about = {"location": "clips", "category": "speech", "title": "My clips"}
    rows = draw_rows(1, CLIPS, dataset="mine", categories=("speech",))
    answer = service.send(make_file(rows, tmp_path, codec="words_1k", about=about)).json()
    assert answer["custom"]
    page = service.client.get(f"/submissions/{answer['id']}").text
    assert 'My clips <span class="quiet">(as the submitter says)</span>' in page


def test_the_account_is_named_whatever_the_file_says(service: Service, tmp_path: Path) -> None:
    """On the board, in its exports, on the page and in the API, with the file's own words beside it."""
    identity = service.send(make_file(draw_rows(7, CLIPS), tmp_path, codec="named_1k"), account="bob").json()["id"]
    (row,) = service.client.get("/api/v1/leaderboard?search=named_1k").json()["rows"]
    assert (row["submitter"], row["submitter_in_file"]) == ("bob", "Ann")
    assert (row["source"], row["source_label"]) == ("self-reported", "self-reported by bob")
    detail = service.client.get(f"{UPLOADS}/{identity}").json()
    assert (detail["submitter"], detail["submitter_in_file"]) == ("bob", "Ann")
    version = service.client.get("/api/v1/codecs/named_1k").json()["submission"]
    assert (version["submitter"], version["submitter_in_file"]) == ("bob", "Ann")
    assert "from bob" in service.client.get("/codecs/named_1k").text
    csv = service.client.get("/api/v1/leaderboard.csv?search=named_1k").text
    assert "self-reported by bob" in csv
    assert (
        'from bob <span class="quiet">(in the file: “Ann”)</span>'
        in service.client.get(f"/submissions/{identity}").text
    )
