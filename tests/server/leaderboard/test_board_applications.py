"""Applications on the service: what one model answered is ranked; everything else stands beside it and says so."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.compare import running_board
from support.server.verified import attest

from codec_superb.metrics.table import Category
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.session import Database
from codec_superb.server.leaderboard.schemas import BoardAnswer
from codec_superb.server.leaderboard.select import select
from codec_superb.server.settings import Settings
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.site.board.choices import BoardState

PATH = "/api/v1/leaderboard"
HTML = {"Accept": "text/html"}
WER = "metric=asr_wer_pct"


def wer(value: float, ceiling: float = 4.0, **changes: Any) -> Probed:
    """Make a word error rate."""
    return Probed("asr_wer_pct", value, ceiling, **changes)


def fill(session: Session, _settings: Settings) -> None:
    """Put codecs on the board: four by one model, one by another, one with failed clips, one without figures."""
    events = Probed("aec_map_pct", 40.0, 45.0, backend="yamnet", sha256="ee" * 32)
    voices = Probed("sim_pct", 80.0, 100.0, backend="resemblyzer", sha256="ff" * 32)
    make_submission(session, "opus_24k", 24, applications=[wer(5.0), events])
    make_submission(session, "opus_12k", 12, applications=[wer(8.0)])
    make_submission(session, "opus_6k", 6, applications=[wer(30.0), voices])
    make_submission(session, "mp3_32k", 32, applications=[wer(4.5, failed=3)], result={"failed": 3, "complete": False})
    other = wer(2.9, 1.9, backend="openai-whisper:large", sha256="cd" * 32)
    make_submission(session, "encodec_6k", 6, applications=[other])
    both: dict[str, Sequence[Category]] = {"mini": ("speech", "audio", "music"), "more": ("speech",)}
    make_submission(session, "two", 10, datasets=both, applications=[wer(6.5), wer(9.0, 5.0, dataset="more")])
    make_submission(session, "chosen", 10, applications=[wer(3.0, failed=2)], owner="eve")
    make_submission(session, "flac", 600)


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("board"), fill) as client:
        yield client


def rows(board: TestClient, query: str = WER) -> dict[str, dict[str, Any]]:
    """Ask the API for the board, by codec, in order."""
    answer = board.get(f"{PATH}?{query}")
    assert answer.status_code == 200, answer.text
    BoardAnswer.model_validate(answer.json())
    return {row["codec"]: row for row in answer.json()["rows"]}


class TestRanks:
    """Only what one model answered, asked in one way, is put into one order."""

    def test_equal_models_are_ranked_and_others_say_why_not(self, board: TestClient) -> None:
        """The better figure of a larger model does not come first: it has no rank, with both models named."""
        found = rows(board)
        assert {name: row["rank"] for name, row in found.items() if row["rank"]} == {
            "opus_24k": [1, 1], "opus_12k": [2, 2], "opus_6k": [3, 3],
        }  # fmt: skip
        assert list(found)[:3] == ["opus_24k", "opus_12k", "opus_6k"]
        reason = "answered by openai-whisper:large (cdcdcdcdcdcd); ranked are those answered by faster-whisper:tiny.en"
        assert found["encodec_6k"]["unranked"].startswith(reason)
        assert found["mp3_32k"]["unranked"].startswith("incomplete: 3 of")
        assert found["flac"]["unranked"] == "no value of Speech recognition: word error rate"

    def test_figures_of_several_datasets_are_not_summed(self, board: TestClient) -> None:
        """Over all datasets a codec with two has no figure; on each it has its own, ranked among those of the same."""
        assert rows(board)["two"]["applications"] == {}
        assert rows(board, f"{WER}&dataset=mini")["two"]["rank"] == [2, 2]
        more = rows(board, f"{WER}&dataset=more")
        values = {name: row["applications"]["asr_wer_pct"]["numbers"]["resynthesis"] for name, row in more.items()}
        assert [(name, more[name]["rank"], values[name]["value"]) for name in more] == [("two", [1, 1], 9.0)]

    def test_a_mixed_board_keeps_models_apart(self, board: TestClient) -> None:
        """With published tables beside them the 19 codecs of the paper's model are ranked, submissions are not."""
        found = rows(board, f"{WER}&source=all")
        ranked = [name for name, row in found.items() if row["rank"]]
        assert ranked
        assert all(name.startswith("tiny:") for name in ranked)
        assert "ranked are those answered by published: Codec-SUPERB, Table 3" in found["opus_24k"]["unranked"]

    def test_a_figure_stands_where_its_sound_is(self, board: TestClient) -> None:
        """Error rates of speech are not offered for music, and events are in audio and music."""
        music = board.get(f"{PATH}?category=music").json()["choices"]["metrics"]
        assert "asr_wer_pct" not in music
        assert "aec_map_pct" in music
        assert "aec_map_pct" not in board.get(PATH).json()["choices"]["metrics"]


class TestAnswers:
    """What stands behind a figure goes wherever the figure goes."""

    def test_the_api_has_ceiling_loss_counts_and_model(self, board: TestClient) -> None:
        """Every number can be traced from one row."""
        found = rows(board)["opus_12k"]["applications"]["asr_wer_pct"]
        numbers = found["numbers"]
        assert numbers["resynthesis"] == {"value": 8.0, "low": 7.5, "high": 8.5}
        assert (numbers["reference"]["value"], numbers["loss"]["value"], numbers["left_out"]) == (4.0, 4.0, 2)
        assert (numbers["n"], numbers["failed"], numbers["dataset"]) == (18, 0, "mini")
        assert (found["model"], found["model_sha256"], found["version"]) == ("faster-whisper:tiny.en", "ab" * 32, "1")
        assert numbers["totals"]["resynthesis.substitutions"] == 31
        assert found["settings"] == {"beam": "1"}

    def test_exports_have_columns_of_each_part(self, board: TestClient) -> None:
        """CSV and Parquet hold value, interval, counts, ceiling, loss and model; empty where a codec has none."""
        lines = list(csv.DictReader(io.StringIO(board.get(f"{PATH}.csv?{WER}").text.split("\n", 1)[1])))
        by_codec = {line["codec"]: line for line in lines}
        assert by_codec["opus_12k"]["asr_wer_pct_original"] == "4.0"
        assert by_codec["encodec_6k"]["asr_wer_pct_model"] == "openai-whisper:large"
        assert by_codec["flac"]["asr_wer_pct"] == ""
        table = pq.read_table(io.BytesIO(board.get(f"{PATH}.parquet?{WER}").content))
        types = {name: str(table.schema.field(name).type) for name in table.column_names if name.startswith("asr_wer")}
        assert types == {
            "asr_wer_pct": "double", "asr_wer_pct_low": "double", "asr_wer_pct_high": "double",
            "asr_wer_pct_n": "int64", "asr_wer_pct_failed": "int64", "asr_wer_pct_left_out": "int64",
            "asr_wer_pct_original": "double", "asr_wer_pct_loss": "double",
            "asr_wer_pct_model": "string", "asr_wer_pct_model_sha256": "string", "asr_wer_pct_run_again": "bool",
            "asr_wer_pct_kbps": "double",
        }  # fmt: skip

    def test_no_column_of_an_export_is_two(self, board: TestClient) -> None:
        """The value on the originals of a V-measure and the V-measure by the originals' clusters had one name."""
        written = pq.read_table(io.BytesIO(board.get(f"{PATH}.parquet?{WER}").content)).column_names
        parts = [name.removeprefix("asr_wer_pct") for name in written if name.startswith("asr_wer_pct")]
        columns = [f"{key}{part}" for key in APPLICATIONS for part in parts]
        columns += [
            name for name in written if not any(name == f"{key}{part}" for key in APPLICATIONS for part in parts)
        ]
        assert len(parts) == 12
        assert [name for name, count in Counter(columns).items() if count > 1] == []

    def test_the_chart_keeps_models_apart(self, board: TestClient) -> None:
        """A family for each model; front and ceiling are of the one that is ranked."""
        figure = board.get("/api/v1/charts/applications?application=asr_wer_pct&source=runs").json()
        families = {trace["meta"]["family"] for trace in figure["data"] if trace["meta"]["role"] == "family"}
        assert len([name for name in families if "openai-whisper:large" in name]) == 1
        front = next(trace for trace in figure["data"] if trace["meta"]["role"] == "front")
        assert 2.9 not in front["y"]
        assert [shape["y0"] for shape in figure["layout"]["shapes"]] == [4.0]
        assert "original sound 1.90" in str(figure["data"])
        alone = board.get("/api/v1/charts/applications?application=asr_wer_pct&source=runs&dataset=more").json()
        assert [shape["y0"] for shape in alone["layout"]["shapes"]] == [5.0]

    def test_the_chart_says_on_which_dataset_each_figure_is(self, client: TestClient, database: Database) -> None:
        """In the caption and in the file, so that an easier one does not stand unmarked among those of others."""
        with database.transaction(write=True) as session:
            make_submission(session, "opus_12k", 12, applications=[wer(8.0)])
            make_submission(session, "opus_24k", 24, applications=[wer(6.0)])
            easy = [wer(2.0, 1.0, dataset="easy")]
            make_submission(session, "mine", 5, datasets={"easy": ("speech",)}, applications=easy)
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        chosen = "application=asr_wer_pct&source=runs"
        lines = client.get(f"/api/v1/charts/applications.csv?{chosen}").text.splitlines()
        found = {row["codec"]: row["dataset"] for row in csv.DictReader(lines)}
        assert found == {"mine": "easy", "opus_12k": "mini", "opus_24k": "mini"}
        page = client.get(f"/charts?chart=applications&{chosen}", headers=HTML).text
        assert "of 3 codecs on different datasets (mini, easy; the table says which)" in page
        assert "Values of different models or datasets are drawn together and compared nowhere" in page
        page = client.get(f"/charts?chart=applications&{chosen}&dataset=mini", headers=HTML).text
        assert "of 2 codecs on mini, against" in page


class TestPages:
    """What visitors read."""

    def test_the_board_shows_the_model_beside_the_value(self, board: TestClient) -> None:
        """The model is the cell's second line, and all that stands behind it is its title."""
        page = board.get(f"/?{WER}", headers=HTML).text
        assert "<small>openai-whisper:large</small>" in page
        assert "original sound 4.00, loss +4.00 [3.50, 4.50]" in page
        assert "only what one model answered is ranked together" in page
        assert "Models differ by more than codecs do" in page
        assert "Answered by faster-whisper:tiny.en (abababababab)." in page
        assert "Models differ" not in board.get("/", headers=HTML).text
        assert 'id="front-words"' in board.get(f"/?{WER}&dataset=more", headers=HTML).text

    def test_a_codec_page_has_its_figures_by_dataset(self, board: TestClient) -> None:
        """Original sound, resynthesis, loss, clips, model, how it was asked, and counted errors."""
        page = board.get("/codecs/two", headers=HTML).text
        for words in (
            "On mini; in brackets", "On more; in brackets", "+2.50", "2 left out", "abababababab", "ab" * 32,
            "Counted errors", "9 → 31", "/metrics#asr_wer_pct", "clips of speech, those with a transcript",
        ):  # fmt: skip
            assert words in page, words
        assert 'id="applications"' not in board.get("/codecs/flac", headers=HTML).text

    def test_a_comparison_has_figures_of_one_model_side_by_side(self, board: TestClient) -> None:
        """Those of another model, or of one codec alone, are named as left out."""
        query = "codec=opus_12k&codec=opus_24k&codec=encodec_6k"
        found = board.get(f"/api/v1/compare?{query}").json()
        (part,) = found["applications"]
        assert (part["figure"], part["dataset"], part["model"]) == ("asr_wer_pct", "mini", "faster-whisper:tiny.en")
        assert [(entry["codec"], entry["numbers"]["resynthesis"]["value"]) for entry in part["codecs"]] == [
            ("opus_12k", 8.0), ("opus_24k", 5.0),
        ]  # fmt: skip
        assert [item["reason"].partition(":")[0] for item in found["applications_left_out"]] == [
            "of encodec_6k alone", "of opus_24k alone",
        ]  # fmt: skip
        page = board.get(f"/compare?{query}", headers=HTML).text
        assert "On mini, by faster-whisper:tiny.en (abababababab)" in page
        assert "2 figures with nothing beside" in page

    def test_the_definitions_are_those_of_the_table(self, board: TestClient) -> None:
        """Every figure has a place with its sentence, and the rule about models stands above them."""
        page = board.get("/metrics", headers=HTML).text
        for key in ("asr_wer_pct", "asv_mindcf", "warpq", "ultra_utmos", "ultra_average"):
            assert f'id="{key}"' in page
        assert "ranked among equals alone" in page
        assert "Of published tables alone" in page


def test_whose_worst_clips_failed_has_no_rank(board: TestClient) -> None:
    """Clips of the greatest errors, called failed, are no way to a rank where the model failed on none of others."""
    found = rows(board)
    assert found["chosen"]["rank"] is None
    assert found["chosen"]["unranked"] == "incomplete: more clips failed than in results of others"
    assert found["opus_24k"]["rank"][0] == 1


def test_an_account_alone_decides_about_no_originals(database: Database) -> None:
    """Two codecs of a forged value on the originals take no rank of others, and have none once two accounts agree."""

    def ranks(session: Session, **filters: Any) -> dict[str, tuple[int, int] | None]:
        view = select(load_snapshot(session, None), BoardState(metric="asr_wer_pct", source="runs", **filters))
        reasons.update({row.result.codec: row.unranked for row in view.rows})
        return {row.result.codec: row.result.rank for row in view.rows}

    reasons: dict[str, str] = {}
    with database.transaction(write=True) as session:
        for codec, owner, ceiling in (("forged_1k", "eve", 102.0), ("forged_2k", "eve", 102.0), ("one_1k", "ann", 4.0)):
            make_submission(
                session, codec, 6 if owner == "eve" else 12, owner=owner, applications=[wer(ceiling + 4.0, ceiling)]
            )
        assert ranks(session) == {"one_1k": (1, 1), "forged_1k": (2, 3), "forged_2k": (2, 3)}
        make_submission(session, "two_1k", 12, owner="bob", applications=[wer(8.0, 4.01)])
        assert ranks(session) == {"one_1k": (1, 2), "two_1k": (1, 2), "forged_1k": None, "forged_2k": None}
        assert ranks(session, kbps_max=8.0) == {"forged_1k": None, "forged_2k": None}
    assert "the value on the originals are not what others found" in reasons["forged_1k"]


def test_what_nobody_ran_again_is_not_verified(client: TestClient, app: FastAPI, database: Database) -> None:
    """A figure that the attestation leaves out is shown as such, counts for its account, and is no verified one."""

    def eer(value: float, sha256: str) -> Probed:
        return Probed("asv_eer_pct", value, 1.0, backend="resemblyzer", sha256=sha256)

    with database.transaction(write=True) as session:
        for codec, kbps in (("opus_6k", 6), ("opus_12k", 12), ("opus_16k", 16)):
            identity = make_submission(
                session, codec, kbps, status="verified", owner="ann", applications=[wer(8.0), eer(0.1, "ab" * 32)]
            )
            attest(session, identity, "bits", "asr", "asv", left_out=["mini, asv: its numbers need all clips"])
        for owner, codec in (("bob", "mp3_32k"), ("carol", "mp3_64k")):
            make_submission(session, codec, 32, owner=owner, applications=[eer(2.0, "cd" * 32)])
    app.state.board.refresh()
    verified = rows(client, "source=verified&metric=asv_eer_pct")
    assert all("asv_eer_pct" not in row["applications"] and not row["rank"] for row in verified.values())
    assert all(row["rank"] for row in rows(client, f"source=verified&{WER}").values())
    everybody = rows(client, "source=runs&metric=asv_eer_pct")
    assert {codec for codec, row in everybody.items() if row["rank"]} == {"mp3_32k", "mp3_64k"}
    told = {key: found["run_again"] for key, found in everybody["opus_6k"]["applications"].items()}
    assert told == {"asr_wer_pct": True, "asv_eer_pct": False}
    page = client.get("/?source=runs&metric=asv_eer_pct", headers=HTML).text
    assert page.count("resemblyzer; self-reported by ann, not run again") == 3
    text = client.get("/api/v1/leaderboard.csv?source=runs").text
    found = {row["codec"]: row for row in csv.DictReader(io.StringIO(text.split("\n", 1)[1]))}
    told = {codec: (row["asr_wer_pct_run_again"], row["asv_eer_pct_run_again"]) for codec, row in found.items()}
    assert told == {
        **dict.fromkeys(("opus_6k", "opus_12k", "opus_16k"), ("1", "0")),
        "mp3_32k": ("", ""),
        "mp3_64k": ("", ""),
    }
    parquet = client.get("/api/v1/leaderboard.parquet?source=runs").content
    assert set(pq.read_table(io.BytesIO(parquet)).column("asv_eer_pct_run_again").to_pylist()) == {False, None}


@pytest.mark.parametrize("status", ["verified", "self-reported"])
def test_a_figure_of_a_paper_stays_the_papers(
    status: str, client: TestClient, app: FastAPI, database: Database
) -> None:
    """A row that takes it over says so everywhere: it is neither covered by a badge nor the word of an account."""
    codec, said = "encodec_24k_6bps", "published: Codec-SUPERB, Table 3"
    with database.transaction(write=True) as session:
        make_submission(session, codec, 0.5, status=status, card={"family": "encodec", "title": "Mine"})
    app.state.board.refresh()
    row = rows(client, f"source=all&{WER}")[codec]
    figure = row["applications"]["asr_wer_pct"]
    assert (row["source"], figure["run_again"], figure["model"]) == (status, None, said)
    text = client.get("/api/v1/leaderboard.csv?source=all").text
    (line,) = (of for of in csv.DictReader(io.StringIO(text.split("\n", 1)[1])) if of["codec"] == codec)
    assert (line["asr_wer_pct_model"], line["asr_wer_pct_run_again"]) == (said, "")
    chart = "application=asr_wer_pct&source=all"
    (line,) = (of for of in client.get(f"/api/v1/charts/applications.csv?{chart}").text.splitlines() if codec in of)
    assert line.count(said) == 2
    assert status not in line
    traces = client.get(f"/api/v1/charts/applications?{chart}").json()["data"]
    (hover,) = (text for trace in traces for text in trace.get("hovertext", ()) if "Mine" in text)
    assert said in hover
    page = client.get(f"/?category=speech&source=all&{WER}", headers=HTML).text
    words = page[page.index('id="front-words"') :].split("</details>")[0]
    (line,) = (line for line in words.splitlines() if ">Mine<" in line)
    assert f"({said})" in line
