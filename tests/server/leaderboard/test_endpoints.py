"""The API of the leaderboard, on both kinds of database."""

from __future__ import annotations

import csv
import io
import json

import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import make_submission

from codec_superb.server.database.models import Submission
from codec_superb.server.leaderboard.schemas import BoardAnswer

PATH = "/api/v1/leaderboard"


@pytest.fixture
def board(client: TestClient, app: FastAPI) -> TestClient:
    """Run the service with a few submissions, one named as if to be run by a spreadsheet."""
    with app.state.database.transaction(write=True) as session:
        for kbps in (6.0, 12.0, 24.0):
            make_submission(session, f"opus_{kbps:.0f}k", kbps, 0.6 + kbps / 100)
        make_submission(session, "odd", 9.0, card={"title": "=1+1", "kind": "lossless"}, metrics={"pesq": None})
    return client


class TestLeaderboard:
    """GET /api/v1/leaderboard."""

    def test_follows_its_documented_schema(self, board: TestClient) -> None:
        """Every field of every row is documented, and the other way round; published tables too."""
        for query in ("", "?source=all", "?source=ultraeval", "?category=music&sort=kbps&page=2"):
            answer = BoardAnswer.model_validate(board.get(PATH + query).json())
            assert query.lstrip("?") == answer.query

    def test_operations_and_size_are_told(self, client: TestClient, app: FastAPI) -> None:
        """The row has what the submission's document says of each dataset, and the exports have the means."""
        step = {"per_second": 2e9, "unseen": [], "reason": ""}
        counted = {"backend": "graph of the LiteRT model", "clip": "a", "seconds": 5.0, "encode": step, "decode": step}
        with app.state.database.transaction(write=True) as session:
            made = session.get_one(Submission, make_submission(session, "lyra_6k", 6.0, 0.6))
            datasets = [entry | {"operations": counted} for entry in made.document["datasets"]]
            made.document = made.document | {"datasets": datasets}
        (row,) = client.get(PATH).json()["rows"]
        assert row["operations"] == dict.fromkeys(row["result"]["datasets"], counted)
        assert row["size_ratio"] == pytest.approx(1 / (2 * row["result"]["compression_ratio"]))
        (flat,) = csv.DictReader(io.StringIO(client.get(f"{PATH}.csv").text.split("\n", 1)[1]))
        assert (float(flat["encode_flops"]), flat["encode_flops_at_least"]) == (2e9, "0")
        page = client.get("/codecs/lyra_6k").text
        assert "graph of the LiteRT model" in page

    def test_shows_submissions_and_says_of_which_state(self, board: TestClient) -> None:
        """Rows with intervals and ranks, and the number of the revision."""
        answer = board.get(PATH).json()
        assert [row["codec"] for row in answer["rows"]] == ["opus_24k", "opus_12k", "opus_6k", "odd"]
        first = answer["rows"][0]
        score = first["result"]["score"]
        assert score["low"] == pytest.approx(score["value"] - 0.02)
        assert first["rank"] == [1, 1]
        assert first["submission"]
        assert answer["rows"][3]["unranked"].startswith("incomplete")
        assert int(answer["revision"]) > 0

    def test_an_empty_board_shows_the_paper(self, client: TestClient) -> None:
        """Without a submission the published Table 3 is shown, as published."""
        answer = client.get(PATH).json()
        assert answer["state"]["source"] == "table3"
        assert answer["query"] == ""
        assert answer["total"] == 19
        assert {row["source"] for row in answer["rows"]} == {"published"}

    def test_refuses_what_it_does_not_know(self, client: TestClient) -> None:
        """An unknown choice is a 400 that names the choices; so is an unknown dataset."""
        answer = client.get(PATH, params={"category": "noise"})
        assert answer.status_code == 400
        assert "speech, audio, music" in answer.json()["detail"]
        assert "librispeech" in client.get(PATH, params={"dataset": "x"}).json()["detail"]

    def test_parameters_are_documented(self, client: TestClient) -> None:
        """The OpenAPI document lists every parameter that is read, and no other."""
        document = client.get("/api/openapi.json").json()
        documented = [entry["name"] for entry in document["paths"][PATH]["get"]["parameters"]]
        assert documented == list(client.get(PATH).json()["state"])

    def test_rows_are_written_once_and_with_the_rank_of_each_answer(self, board: TestClient) -> None:
        """What is kept of a row is the same in every answer; its rank is that among the codecs of this one."""
        whole = {row["codec"]: row for row in board.get(PATH).json()["rows"]}
        cheap = board.get(PATH, params={"kbps_max": 13}).json()["rows"]
        assert [row["rank"] for row in cheap if row["rank"]] == [[1, 1], [2, 2]]
        for row in cheap:
            assert {**row, "rank": None} == {**whole[row["codec"]], "rank": None}


class TestExports:
    """GET /api/v1/leaderboard.csv, .json and .parquet."""

    QUERY = "?source=all&sort=kbps&search=e"

    @pytest.mark.sample(2, among="the board in files")
    def test_json_holds_the_rows_of_all_pages(self, board: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file is the answers of all pages, put together."""
        monkeypatch.setattr("codec_superb.server.leaderboard.select.PAGE_SIZE", 20)
        whole = board.get(f"{PATH}.json{self.QUERY}")
        pages = [board.get(f"{PATH}{self.QUERY}&page={page}").json() for page in (1, 2)]
        assert whole.json()["rows"] == [row for page in pages for row in page["rows"]]
        assert len(whole.json()["rows"]) == pages[0]["total"] > 20
        assert whole.headers["content-disposition"].startswith('attachment; filename="codec-superb-speech-')

    @pytest.mark.sample(2, among="the board in files")
    def test_parquet_holds_the_same_values(self, board: TestClient) -> None:
        """Every number is that of the JSON rows, in their order; query and revision are in the metadata."""
        rows = board.get(f"{PATH}.json{self.QUERY}").json()
        table = pq.read_table(io.BytesIO(board.get(f"{PATH}.parquet{self.QUERY}").content))
        facts = json.loads(table.schema.metadata[b"codec_superb_leaderboard"])
        assert facts["query"] == rows["query"]
        assert facts["revision"] == rows["revision"]
        flat = table.to_pylist()
        assert len(flat) == rows["total"]
        for got, row in zip(flat, rows["rows"], strict=True):
            result = row["result"]
            for key in ("codec", "title", "causal", "sampling_rate", "unranked"):
                assert got[key] == row[key]
            for key in ("kbps", "complete", "clips"):
                assert got[key] == result[key]
            assert got["score"] == result["score"]["value"]
            assert [got["rank_best"], got["rank_worst"]] == (row["rank"] or [None, None])
            found = row["applications"].get("asr_wer_pct")
            assert got["asr_wer_pct"] == (found and found["numbers"]["resynthesis"]["value"])
            for key, estimate in result["metrics"].items():
                assert got[key] == estimate["mean"]
                assert got[f"{key}_low"] == estimate["low"]
                assert got[f"{key}_n"] == estimate["n"]

    @pytest.mark.sample(2, among="the board in files")
    def test_csv_holds_the_same_values(self, board: TestClient) -> None:
        """The first line says what was chosen; then every cell is that of the Parquet file."""
        text = board.get(f"{PATH}.csv?category=music").text
        first, rest = text.split("\r\n", 1)
        assert first.startswith("# Codec-SUPERB leaderboard, revision ")
        assert first.endswith("query ?category=music")
        rows = list(csv.DictReader(io.StringIO(rest, newline="")))
        flat = pq.read_table(io.BytesIO(board.get(f"{PATH}.parquet?category=music").content)).to_pylist()
        assert len(rows) == len(flat) == 4
        for row, values in zip(rows, flat, strict=True):
            assert list(row) == list(values)
            for name, value in values.items():
                if name == "title":
                    continue
                expected = "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
                assert row[name] == expected

    def test_no_cell_of_the_csv_is_a_formula(self, board: TestClient) -> None:
        """A title that a spreadsheet would run is marked as text."""
        rows = board.get(f"{PATH}.csv").text.split("\r\n", 1)[1]
        assert {row["title"] for row in csv.DictReader(io.StringIO(rows, newline="")) if row["codec"] == "odd"} == {
            "'=1+1"
        }

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
    def test_nothing_chosen_is_an_empty_file(self, board: TestClient, ending: str) -> None:
        """A filter that nothing passes gives a valid file without rows."""
        answer = board.get(f"{PATH}.{ending}?kbps_min=99999")
        assert answer.status_code == 200
        if ending == "parquet":
            assert pq.read_table(io.BytesIO(answer.content)).num_rows == 0


class TestChart:
    """GET /api/v1/leaderboard/chart."""

    def test_is_a_figure_of_the_rows(self, board: TestClient) -> None:
        """Plotly takes it; the family's line has the submissions' bitrates and scores."""
        figure = board.get(f"{PATH}/chart").json()
        assert len(go.Figure(figure).data) >= 3
        line = next(trace for trace in figure["data"] if trace["meta"] == {"role": "family", "family": "opus"})
        assert line["x"] == pytest.approx([6.06, 12.12, 24.24])
        assert line["y"] == pytest.approx([0.66, 0.72, 0.84])

    def test_draws_applications(self, board: TestClient) -> None:
        """The paper's figure: an application's score against bitrate, from its table."""
        figure = board.get(f"{PATH}/chart?source=table3&metric=asr_wer_pct").json()
        shown = [value for trace in figure["data"] if trace["meta"]["role"] == "family" for value in trace["y"]]
        assert len(shown) == 19
        assert 9.21 in shown


class TestCachedAnswers:
    """What the cache means for clients."""

    def test_the_entity_tag_saves_the_second_answer(self, board: TestClient) -> None:
        """With the tag of the same form of the answer comes 304 without a body, plain and compressed alike."""
        for coding in ("identity", "gzip"):
            first = board.get(PATH, headers={"accept-encoding": coding})
            tag = first.headers["etag"]
            again = board.get(PATH, headers={"accept-encoding": coding, "if-none-match": f'"other", {tag}'})
            assert again.status_code == 304
            assert again.content == b""
            assert again.headers["etag"] == tag
            assert "content-encoding" not in again.headers
            assert first.headers["cache-control"] == "no-cache"
            assert first.headers["vary"] == "Accept-Encoding"
            assert board.get(PATH, headers={"accept-encoding": coding, "if-none-match": '"x"'}).status_code == 200

    def test_compressed_and_plain_answers_are_the_same(self, board: TestClient) -> None:
        """They differ in bytes and tag, not in content."""
        plain = board.get(PATH, headers={"accept-encoding": "gzip;q=0, identity"})
        packed = board.get(PATH, headers={"accept-encoding": "br, gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
        assert plain.json() == packed.json()
        assert plain.headers["etag"] != packed.headers["etag"]

    def test_a_change_of_the_data_changes_the_answer_at_once(self, board: TestClient, app: FastAPI) -> None:
        """Once the transaction of this process is over, no request gets the old answer or a 304 for it."""
        tag = board.get(PATH).headers["etag"]
        with app.state.database.transaction(write=True) as session:
            make_submission(session, "new_codec", 5.0, 0.7)
        answer = board.get(PATH, headers={"if-none-match": tag})
        assert answer.status_code == 200
        assert "new_codec" in {row["codec"] for row in answer.json()["rows"]}

    def test_the_order_of_parameters_makes_no_other_answer(self, board: TestClient, app: FastAPI) -> None:
        """Answers are kept by the canonical query."""
        board.get(f"{PATH}?kbps_min=5&category=music")
        kept = len(app.state.answers)
        board.get(f"{PATH}?category=music&kbps_min=5.0&causal=")
        assert len(app.state.answers) == kept
