"""True results on other datasets: they neither bring the others' word back nor take what was run again off a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import CLIPS, Probed, board_as_it_comes, make_submission, make_verified
from support.server.mseb import CASCADE
from support.server.understanding import TASK

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.models import Codec, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import decide
from codec_superb.server.settings import Settings

NAMES = ("opus_6k", "opus_12k", "mp3_64k")
MINI, OTHER = {"mini": CATEGORIES}, {"other": CATEGORIES}
PASSAGES = Probed("mseb_retrieval_passage_mrr", 0.5, 0.6, "mini", CASCADE, width=0.05)
LISTENED = Probed(f"{TASK.key}_accuracy_pct", 70.0, 80.0, "mini", "cascade")
TOKENS = Probed("tokens_recode_pct", 46.0, 100.0, "mini", "codec-disturbed")
FRAMES = Probed("xares_knn_language_accuracy_pct", 46.0, 91.0, "mini", "log-mel-frames")
ALL = [PASSAGES, LISTENED, TOKENS, FRAMES]
CARD = {"codebooks": 1, "frame_rate": 100, "codebook_size": 1024}
PAGES = ("/mseb", "/understanding", "/tokens", "/xares")


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Make a board as it comes."""
    return board_as_it_comes(settings)


def fiction(session: Session, **told: object) -> None:
    """Store what nobody can run: first of all by its own word."""
    made = {"owner": "mallory", "card": CARD, "applications": ALL} | told
    make_submission(session, "fiction_1k", 1.0, 0.9, **made)  # type: ignore[arg-type]


@pytest.mark.parametrize("datasets", [("mini", "other"), ("other",)])
def test_the_board_keeps_showing_what_was_run_again(app: FastAPI, database: Database, datasets: Sequence[str]) -> None:
    """One run on a further dataset leaves two beside each other; they are still three that were run again."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann")
        fiction(session)
        make_verified(session, NAMES[0], "mallory", *datasets)
    with TestClient(app) as client:
        for path in ("/", "/ranking"):
            page = client.get(path).text
            assert "fiction" not in page, path
            assert "mp3_64k" in page
        assert client.get("/api/v1/ranking").json()["source"] == "verified"


def test_what_each_of_three_has_alone_is_no_ranking(app: FastAPI, database: Database) -> None:
    """Three of each category, none of which has all: nobody is ranked by what nobody ran again."""
    with database.transaction(write=True) as session:
        for category in CATEGORIES:
            for number in range(3):
                own = {"status": "verified", "owner": f"of {number}", "datasets": {"mini": (category,)}}
                make_submission(session, f"{category}_{number}", 1.0, **own)  # type: ignore[arg-type]
        fiction(session)
    with TestClient(app) as client:
        found = client.get("/api/v1/ranking").json()
        assert (found["source"], found["codecs"]) == ("verified", [])
        assert "No codec has all that has a weight" in client.get("/ranking").text
        speech = client.get("/api/v1/ranking?audio=0&music=0").json()
        assert [row["codec"] for row in speech["codecs"]] == [f"speech_{number}" for number in range(3)]


@pytest.mark.parametrize("path", PAGES)
def test_figures_on_a_dataset_stay_on_its_page(app: FastAPI, database: Database, path: str) -> None:
    """Two accounts with true bare runs elsewhere stand in front by name; the figures are of whoever has them."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann", card=CARD, applications=ALL)
        for by in ("x", "y"):
            for name in NAMES:
                make_verified(session, name, by, "other", card=CARD)
            make_verified(session, "opus_24k", by, "other", card=CARD)
        fiction(session)
        stands = session.scalars(select(Submission.id).where(Submission.behind.is_(False))).all()
        assert len(stands) == 5  # a codec each
    with TestClient(app) as client:
        page = client.get(path).text
        assert "mp3_64k" in page
        assert "fiction" not in page
        everything = client.get(f"{path}?source=runs").text
        assert "mp3_64k" in everything
        assert "fiction" in everything
        rows = client.get("/api/v1/leaderboard?dataset=mini").json()["rows"]
        assert {row["codec"]: row["submitter"] for row in rows} == dict.fromkeys(NAMES, "ann")


def test_what_was_run_again_elsewhere_hides_no_other_word(app: FastAPI, database: Database) -> None:
    """A verified run of a small dataset stands; among all submissions those on another dataset are there as before."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "bob", "other")
        for loss in (None, parse_condition("loss:10")):
            first = make_submission(
                session, NAMES[0], 1.0, owner="ann", condition=loss, applications=[TOKENS], card=CARD
            )
        small = make_submission(
            session, NAMES[0], 1.0, owner="bob", datasets=OTHER, condition=parse_condition("loss:10")
        )
        session.scalars(select(Codec).where(Codec.name == NAMES[0])).one().owner_id = None
        session.flush()
        decide(session, small, "verify", "because", actor="moderator")
    with TestClient(app) as client:
        for query in ("source=runs&dataset=mini", "source=self-reported", "source=runs&dataset=mini&category=music"):
            rows = client.get(f"/api/v1/leaderboard?{query}").json()["rows"]
            assert [row["submitter"] for row in rows if row["codec"] == NAMES[0]] == ["ann"], query
        assert {row["submitter"] for row in client.get("/api/v1/leaderboard").json()["rows"]} == {"bob"}
        assert "/codecs/opus_6k" in client.get("/tokens?source=runs&dataset=mini").text
        lines = client.get("/conditions").text
        assert f"/submissions/{first}" in lines
        assert f"/submissions/{small}" in lines
        revision = client.get("/api/v1/leaderboard").json()["revision"]
        bound = client.get(f"/api/v1/snapshots/{revision}").json()["submissions"]
        with database.transaction() as session:
            owners = {session.get_one(Submission, entry["submission"]).sender for entry in bound}
        assert owners == {"bob"}  # a state's hash binds what it bound


def test_whoever_is_first_on_one_dataset_hides_nobody_on_another(app: FastAPI, database: Database) -> None:
    """By their own word alone: a small run that came first stands, and the whole one of another account is there."""
    loss = parse_condition("loss:10")
    with database.transaction(write=True) as session:
        for condition in (None, loss):
            for owner, datasets, place in (("uma", OTHER, 0), ("hon", MINI, 1), ("late", MINI, 2)):
                made = make_submission(
                    session, NAMES[0], 1.0, owner=owner, datasets=datasets, condition=condition, applications=[PASSAGES]
                )
                row = session.get_one(Submission, made)
                row.place, row.behind = place, place > 0
        session.scalars(select(Codec).where(Codec.name == NAMES[0])).one().owner_id = None
    with TestClient(app) as client:
        rows = client.get("/api/v1/leaderboard?dataset=mini").json()["rows"]
        assert [row["submitter"] for row in rows if row["codec"] == NAMES[0]] == ["hon"]
        assert "/codecs/opus_6k" in client.get("/mseb?dataset=mini").text
        lines = client.get("/conditions").text
        assert ("by uma" in lines, "by hon" in lines, "by late" in lines) == (True, True, False)
        rows = client.get("/api/v1/leaderboard?source=self-reported").json()["rows"]
        assert [row["codec"] for row in rows] == [NAMES[0]]


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("/mseb", replace(PASSAGES, figure="mseb_classification_gender_accuracy_pct", value=61.7), PASSAGES),
        ("/tokens", replace(TOKENS, figure="tokens_entropy_kbps", value=0.617, backend="codec-codes"), TOKENS),
        ("/xares", replace(FRAMES, figure="xares_knn_speaker_accuracy_pct", value=61.7), FRAMES),
    ],
)
def test_true_runs_of_two_accounts_add_to_each_other(
    app: FastAPI, database: Database, path: str, one: Probed, other: Probed
) -> None:
    """The one in front, of more datasets, has another probe of the page: both are shown, of each codec once."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann", "mini", "other", card=CARD, applications=[one])
            make_verified(session, name, "bob", card=CARD, applications=[replace(other, value=other.value + 0.3)])
        make_submission(session, NAMES[0], 1.0, owner="mallory", card=CARD, applications=[replace(other, value=99.9)])
        session.scalars(select(Codec).where(Codec.name == NAMES[0])).one().owner_id = None
    with TestClient(app) as client:
        shown = client.get(f"{path}?dataset=mini").text
        for probed in (one, replace(other, value=other.value + 0.3)):
            assert len(re.findall(rf">\s*{probed.value:g}0*\s*<", shown)) >= len(NAMES), probed
        assert "mallory" not in shown


@pytest.mark.parametrize("path", PAGES)
def test_a_comparison_goes_before_one_codec_of_each_of_two(app: FastAPI, database: Database, path: str) -> None:
    """Two accounts with one codec each on another dataset hide no three of one account."""
    elsewhere = [replace(one, dataset="other") for one in ALL]
    with database.transaction(write=True) as session:
        for by in ("x", "y"):
            own = {"status": "verified", "owner": by, "datasets": OTHER, "card": CARD, "applications": elsewhere}
            make_submission(session, f"{by}_12k", 1.0, **own)  # type: ignore[arg-type]
        for name in NAMES:
            make_verified(session, name, "ann", card=CARD, applications=ALL)
        fiction(session, datasets=OTHER, applications=elsewhere)
    with TestClient(app) as client:
        page = client.get(path).text
        assert "mp3_64k" in page
        assert "fiction" not in page


@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_averages_choose_by_themselves(app: FastAPI, database: Database, tasks: int) -> None:
    """However many of the codecs that were run again have tasks of understanding too."""
    sets = {"librispeech_dev_clean": ("speech",), "aishell1": ("speech",)}
    with database.transaction(write=True) as session:
        for number in range(5):
            parts = [Probed("sim_pct", 70.0, 99.0, name, "faster-whisper", clips=CLIPS) for name in sets]
            task = [replace(LISTENED, dataset="aishell1")][: number < tasks]
            by = {"owner": "ann", "status": "verified"} if number < 4 else {"owner": "mallory"}
            name = f"checked{number}_12k" if number < 4 else "fiction_1k"
            made = make_submission(session, name, 1.0, datasets=sets, applications=[*parts, *task], **by)  # type: ignore[arg-type]
            row = session.get_one(Submission, made)
            one = row.document["applications"][0]
            whole = {"probe": "ultra", "figure": "ultra_average", "dataset": "", "n": 2 * one["n"]}
            row.document = {**row.document, "applications": [*row.document["applications"], {**one, **whole}]}
    with TestClient(app) as client:
        page = client.get("/understanding").text.partition('id="averages"')[0]
        assert "checked3_12k" in page
        assert "fiction" not in page
        assert "1 codec with figures that nobody ran again is not shown" in page
        assert "fiction_1k" in client.get("/understanding?source=runs").text


def test_a_band_is_of_what_was_run_again(app: FastAPI, database: Database) -> None:
    """The range around a codec's radar is nobody's word where three were run again; the page and the API say so."""
    with database.transaction(write=True) as session:
        for number in range(4):
            make_submission(session, f"checked{number}_12k", 12.0, status="verified", owner="ann")
        make_submission(session, "fiction_8k", 8.2, 0.9, owner="mallory", metrics={"pesq": 4.44})
        make_submission(session, "alone_64k", 64.0, owner="ann")
        make_submission(session, "claimed_60k", 60.0, owner="mallory")
    with TestClient(app) as client:
        page = client.get("/codecs/checked0_12k").text
        assert "3 other codecs that the maintainers ran again," in page
        assert "4.44" not in page
        assert client.get("/api/v1/codecs/checked0_12k").json()["categories"][0]["band"]["source"] == "verified"
        few = client.get("/api/v1/codecs/alone_64k").json()["categories"][0]["band"]
        assert (few["source"], [member["name"] for member in few["members"]]) == ("runs", ["claimed_60k"])


def test_what_was_run_again_chooses_under_conditions(app: FastAPI, database: Database) -> None:
    """Five codecs of one account keep their charts beside two accounts on another dataset."""
    loss = parse_condition("loss:10")
    with database.transaction(write=True) as session:
        for condition in (None, loss):
            for number in range(5):
                own = {"status": "verified", "owner": "ann", "condition": condition}
                make_submission(session, f"checked{number}_6k", 6.0, **own)  # type: ignore[arg-type]
            for by in ("x", "y"):
                make_submission(session, f"claimed{by}_6k", 6.0, owner=by, condition=condition, datasets=OTHER)
    with TestClient(app) as client:
        drawn = " ".join(re.findall(r"(?s)<svg.*?</svg>", client.get("/conditions").text))
        assert "hecked4" in drawn
        assert "laimedx" not in drawn


@pytest.mark.parametrize("older", [True, False])
def test_a_run_on_a_further_dataset_takes_nobodys_rank(app: FastAPI, database: Database, *, older: bool) -> None:
    """Of all codecs or of one, by an older account or a younger: the honest ones keep rank, band and ranking."""
    with database.transaction(write=True) as session:
        if older:
            make_submission(session, "lark_9k", 9.0, status="verified", owner="mallory", datasets=MINI | OTHER)
        for name in NAMES:
            make_verified(session, name, "ann")
        for name in (NAMES[:1], NAMES)[not older]:
            make_verified(session, name, "mallory", "mini", "other")
        make_verified(session, "opus_24k", "bob")
    with TestClient(app) as client:
        found = client.get("/api/v1/leaderboard").json()
        assert found["ranked_datasets"] == ["mini"]
        rows = {row["codec"]: row for row in found["rows"]}
        assert all(rows[name]["rank"] for name in (*NAMES, "opus_24k"))
        assert {rows[name]["submitter"] for name in NAMES} == {"ann"}
        ranked = client.get("/api/v1/ranking").json()["codecs"]
        assert {row["codec"] for row in ranked} == {*NAMES, "opus_24k"}
        both = client.get("/api/v1/leaderboard?dataset=other").json()["rows"]
        assert {row["submitter"] for row in both} == {"mallory"}


def test_nor_a_point_under_conditions(app: FastAPI, database: Database) -> None:
    """The honest result of a codec stays on its chart, and its clean one."""
    loss = parse_condition("loss:10")
    with database.transaction(write=True) as session:
        for condition in (None, loss):
            for name in NAMES:
                make_verified(session, name, "ann", condition=condition)
            make_verified(session, NAMES[0], "mallory", "mini", "other", condition=condition)
    with TestClient(app) as client:
        page = client.get("/conditions").text
        drawn = " ".join(re.findall(r"(?s)<svg.*?</svg>", page))
        titles = {name: name.replace("_", " ") for name in NAMES}
        assert all(title.lower() in drawn.lower() or name in drawn for name, title in titles.items()), drawn[:3000]
        assert "on mini, other" in page


@pytest.mark.parametrize("figure", [TOKENS, PASSAGES])
def test_figures_of_applications_stay_on_the_board(app: FastAPI, database: Database, figure: Probed) -> None:
    """Bare runs on the usual dataset, which go before over all datasets, have none; nor do those in front elsewhere."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann", "mini", "other", card=CARD, applications=[figure])
            make_verified(session, name, "mallory", card=CARD)
        for name in ("opus_24k", "opus_64k", "lc3_32k"):
            make_verified(session, name, "bob", card=CARD)
            make_verified(session, name, "carl", card=CARD)
        fiction(session, datasets=MINI | OTHER, applications=[figure])
    with TestClient(app) as client:
        for path in (f"?metric={figure.figure}", f"?metric={figure.figure}&dataset=mini"):
            rows = client.get(f"/api/v1/leaderboard{path}").json()["rows"]
            heard = {row["codec"]: row["submitter"] for row in rows if row["rank"]}
            assert heard == dict.fromkeys(NAMES, "ann"), path
        chart = client.get(f"/api/v1/charts/applications?application={figure.figure}").text
        assert "mp3_64k" in chart
        scores = client.get("/api/v1/leaderboard").json()["rows"]
        assert all(row["rank"] for row in scores)


@pytest.mark.parametrize("codecs", [NAMES[:1], NAMES])
def test_several_accounts_take_no_ranks_either(app: FastAPI, database: Database, codecs: tuple[str, ...]) -> None:
    """However many send true runs of a few codecs on a further dataset."""
    honest = (*NAMES, "opus_24k", "opus_64k", "lc3_32k")
    with database.transaction(write=True) as session:
        for name in honest:
            make_verified(session, name, "ann")
        for by in ("m1", "m2", "m3"):
            for name in codecs:
                make_verified(session, name, by, "mini", "other")
    with TestClient(app) as client:
        rows = client.get("/api/v1/leaderboard").json()["rows"]
        assert {row["codec"]: row["submitter"] for row in rows if row["rank"]} == dict.fromkeys(honest, "ann")
        ranked = client.get("/api/v1/ranking").json()["codecs"]
        assert {row["codec"]: row["submitter"] for row in ranked} == dict.fromkeys(honest, "ann")


def test_metrics_share_the_arrays_of_the_score(database: Database) -> None:
    """Each revision makes them anew for all that visitors asked for: apart only where other results have the value."""
    with database.transaction(write=True) as session:
        for by in ("ann", "bob"):
            make_verified(session, NAMES[0], by)
        found = load_snapshot(session, None)
    assert found.behind
    score = found.frame("speech", "", "verified")
    assert found.frame("speech", "", "verified", "pesq") is score
    assert found.frame("speech", "mini", "verified", "stoi") is found.frame("speech", "mini", "verified")
