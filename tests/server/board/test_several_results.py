"""Codecs with several verified results: one choice of what they rest on, made among all of them, and kept by pages."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import Probed, board_as_it_comes, make_submission, make_verified
from support.server.mseb import CASCADE
from support.server.understanding import TASK

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.board.current import Board
from codec_superb.server.board.kinds import kind_of
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.models import Account, Result, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.leaderboard.select import rank
from codec_superb.server.moderation.service import decide
from codec_superb.server.settings import Settings
from codec_superb.web.site.board.choices import BoardState

NAMES = ("mp3_64k", "opus_12k", "opus_24k", "opus_6k")
MORE = ("lc3_32k", "opus_64k")
FIGURES = [
    Probed("mseb_retrieval_passage_mrr", 0.5, 0.6, "mini", CASCADE, width=0.05),
    Probed(f"{TASK.key}_accuracy_pct", 70.0, 80.0, "mini", "cascade"),
    Probed("tokens_recode_pct", 46.0, 100.0, "mini", "codec-disturbed"),
    Probed("xares_knn_language_accuracy_pct", 46.0, 91.0, "mini", "log-mel-frames"),
]
CARD = {"codebooks": 1, "frame_rate": 100, "codebook_size": 1024}


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Make a board as it comes."""
    return board_as_it_comes(settings)


def changed(session: Session, identity: str, *, state: str = "", versions: Sequence[str] = ()) -> None:
    """Say that a submission was run on another state of its datasets, or by other definitions of metrics."""
    row = session.get_one(Submission, identity)
    if state:
        parts = [{**part, "manifest_hash": state} for part in row.document["datasets"]]
        row.document = {**row.document, "datasets": parts}
    row.metrics = {**row.metrics, **dict.fromkeys(versions, "99")}
    session.flush()


def without(session: Session, identity: str, key: str) -> None:
    """Take a metric out of a submission."""
    for row in session.scalars(select(Result).where(Result.submission_id == identity)):
        row.metrics = {name: found for name, found in row.metrics.items() if name != key}
    submission = session.get_one(Submission, identity)
    submission.metrics = {name: found for name, found in submission.metrics.items() if name != key}
    session.flush()


def shown(client: TestClient, query: str = "") -> dict[str, tuple[str, Any]]:
    """Read by codec whose result the board shows, and its rank."""
    rows = client.get(f"/api/v1/leaderboard{query}").json()["rows"]
    return {row["codec"]: (row["submitter"], row["rank"]) for row in rows}


@pytest.mark.parametrize("source", ["runs", "verified"])
def test_a_result_without_a_metric_stops_no_page(database: Database, app: FastAPI, source: str) -> None:
    """Nor the next states of the board, which are made ready for what visitors had asked for."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann")
        make_verified(session, NAMES[0], "bob")
    with TestClient(app) as client:
        board: Board = app.state.board
        assert client.get(f"/?metric=f0corr&source={source}").status_code == 200
        with database.transaction(write=True) as session:
            status: Any = {"runs": "self-reported"}.get(source, source)
            without(session, make_submission(session, "mallory_6k", 6.0, status=status, owner="mallory"), "f0corr")
        board.refresh()
        assert client.get(f"/?metric=f0corr&source={source}").status_code == 200
        assert client.get("/?category=audio&metric=pesq").status_code == 200
        assert "mallory_6k" in shown(client, f"?source={source}")


@pytest.mark.parametrize("count", [1, 3])
def test_another_state_of_a_dataset_takes_nothing(app: FastAPI, database: Database, count: int) -> None:
    """Neither rank nor figures, and no page shows a number of one state as that of another."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann", card=CARD, applications=FIGURES)
        for name in MORE:
            make_verified(session, name, "bob", card=CARD, applications=FIGURES)
        for name in NAMES[:count]:
            told = {"card": CARD, "applications": FIGURES, "metrics": {"mel": 0.1}}
            changed(session, make_verified(session, name, "mallory", **told), state="f" * 64)
    whose = dict.fromkeys(NAMES, "ann") | dict.fromkeys(MORE, "bob")
    with TestClient(app) as client:
        for query in ("", "?dataset=mini"):
            assert {name: by for name, (by, place) in shown(client, query).items() if place} == whose, query
        ranked = client.get("/api/v1/ranking").json()["codecs"]
        assert {row["codec"]: (row["submitter"], row["rank"]["rank"]) for row in ranked} == {
            name: (by, 1) for name, by in whose.items()
        }
        for path in ("/mseb", "/understanding", "/tokens", "/xares"):
            page = client.get(path).text
            assert [name for name in whose if name not in page] == [], path


def test_another_definition_takes_no_rank(app: FastAPI, database: Database) -> None:
    """The result by the definition of the others is shown."""
    with database.transaction(write=True) as session:
        for name in (*NAMES, *MORE):
            make_verified(session, name, "ann")
        changed(session, make_verified(session, NAMES[0], "mallory"), versions=("mel", "stft", "pesq"))
    with TestClient(app) as client:
        assert {name: by for name, (by, place) in shown(client).items() if place} == dict.fromkeys(
            (*NAMES, *MORE), "ann"
        )


@pytest.mark.parametrize(("sets", "by"), [(("mini", "other"), "ml"), (("other",), "ml"), (("other",), "mlk")])
def test_more_codecs_or_more_accounts_alone_take_no_ranks(
    app: FastAPI, database: Database, sets: tuple[str, ...], by: str
) -> None:
    """Many true runs of one account elsewhere, and few of several, are shown beside what was there before."""
    others = ("mp3_32k", "mp3_48k", "speex_nb_8k", "mp3_96k", "mp3_128k")
    runs = [(name, by[0]) for name in (*NAMES, *MORE, *others)] if len(by) == 2 else [*zip(others, by, strict=False)]
    with database.transaction(write=True) as session:
        for name in (*NAMES, *MORE):
            make_verified(session, name, "ann")
        make_submission(session, "own_6k", 6.0, 0.7, owner="owner", status="verified")
        for name, account in runs:
            make_verified(session, name, account, *sets)
    with TestClient(app) as client:
        ranked = {name: whose for name, (whose, place) in shown(client).items() if place}
        assert ranked == dict.fromkeys((*NAMES, *MORE), "ann") | {"own_6k": "owner"}
        assert {row["codec"] for row in client.get("/api/v1/ranking").json()["codecs"]} == ranked.keys()


@pytest.mark.parametrize(("old", "added"), [(3, 1), (1, 2), (2, 1), (3, 3)])
def test_what_was_outgrown_does_not_come_back(app: FastAPI, database: Database, old: int, added: int) -> None:
    """A young account adds a few runs to what an older one has: the twelve codecs of two others keep their ranks."""
    many = ("aac_48k", "aac_64k", "codec2_3200", "g722_64k", "gsm_13k", "mp3_32k", "mp3_48k", "mp3_96k", "opus_32k")
    with database.transaction(write=True) as session:
        for name in NAMES[:old]:
            make_verified(session, name, "ann")
        for number, name in enumerate((*many, "opus_64k", "opus_96k", "speex_nb_8k")):
            make_verified(session, name, "bob" if number < 7 else "carl", "mini", "other")
        for name in (*NAMES[3:], *MORE)[:added]:
            make_verified(session, name, "mallory")
    with TestClient(app) as client:
        assert {by for by, place in shown(client).values() if place} == {"bob", "carl"}
        assert len(client.get("/api/v1/ranking").json()["codecs"]) == 12


@pytest.mark.parametrize("by", ["mmk", "mkl"])
def test_charts_have_the_front_of_the_ranks(app: FastAPI, database: Database, by: str) -> None:
    """Two or three younger accounts with three codecs elsewhere are drawn beside it."""
    with database.transaction(write=True) as session:
        for name in (*NAMES, *MORE):
            make_verified(session, name, "ann")
        for name, account in zip(("mp3_32k", "mp3_48k", "speex_nb_8k"), by, strict=True):
            make_verified(session, name, account, "other")
    with TestClient(app) as client:
        outside = client.get("/charts").text.partition("Outside the front")[2].partition(")")[2].partition(".")[0]
        assert "Speex Nb 8K" in outside
        assert "Opus" not in outside


def test_charts_have_the_front_of_results_behind(app: FastAPI, database: Database) -> None:
    """Two accounts run the same three codecs, one of which is drawn each; a third has six elsewhere."""
    others = ("codec2_3200", "g722_64k", "gsm_13k", "mp3_32k", "mp3_48k", "speex_nb_8k")
    figure = FIGURES[0]
    with database.transaction(write=True) as session:
        for by in ("ann", "bob"):
            for name in NAMES[:3]:
                make_verified(session, name, by, applications=[figure])
        for name in others:
            make_verified(session, name, "x", "other", applications=[replace(figure, dataset="other")])
    with TestClient(app) as client:
        assert {by for by, place in shown(client).values() if place} == {"ann"}
        front = client.get("/api/v1/leaderboard/chart").json()["data"][0]
        assert len(front["x"]) == 3
        words = "Outside the front, since not measured as most were (datasets, their state, definitions): "
        outside = client.get("/charts").text.partition(words)[2].partition(".")[0]
        assert "Gsm 13K" in outside
        assert "Opus" not in outside
        by_figure = {name for name, (_, place) in shown(client, f"?metric={figure.figure}").items() if place}
        assert by_figure == {*NAMES[:3]}
        drawn = client.get(f"/api/v1/charts/applications?application={figure.figure}").json()
        assert "Gsm" not in json.dumps(drawn["data"][0])


@pytest.mark.parametrize(("names", "by"), [(MORE, "mk"), ((*NAMES, *MORE, "mp3_32k"), "m")])
def test_figures_on_another_state_empty_no_page(
    app: FastAPI, database: Database, names: Sequence[str], by: str
) -> None:
    """Neither of two accounts with a codec each, nor of one with a codec more."""
    with database.transaction(write=True) as session:
        for name in (*NAMES, *MORE):
            make_verified(session, name, "ann", card=CARD, applications=FIGURES)
        for number, name in enumerate(names):
            told: Any = {"card": CARD, "applications": FIGURES}
            changed(session, make_verified(session, name, by[number % len(by)], **told), state="f" * 64)
    with TestClient(app) as client:
        for path in ("/mseb", "/understanding", "/tokens", "/xares"):
            page = client.get(path).text
            assert [name for name in (*NAMES, *MORE) if name not in page] == [], path
        figure = f"/api/v1/charts/applications?application={FIGURES[0].figure}"
        assert client.get(figure).status_code == 200
        assert "Opus 6K" in client.get(figure).text


def test_a_model_grows_no_younger_by_newer_versions(app: FastAPI, database: Database) -> None:
    """Who sends the same figures again keeps the ranks that another account's model would have."""
    heard = Probed("asr_wer_pct", 12.0, 6.0, "mini")
    other = replace(heard, sha256="cd" * 32)
    with database.transaction(write=True) as session:
        for day, names, by, figure in (
            (1, NAMES, "ann", heard), (5, ("mp3_32k", *MORE), "mallory", other), (9, NAMES, "ann", heard),
        ):  # fmt: skip
            for name in names:
                came = datetime(2026, 1, day, tzinfo=UTC)
                make_verified(session, name, by, applications=[figure], received=came)
    with TestClient(app) as client:
        assert {by for by, place in shown(client, "?metric=asr_wer_pct").values() if place} == {"ann"}


@pytest.mark.parametrize("wider_first", [True, False])
def test_who_was_first_stays_first_behind_a_wider_one(app: FastAPI, database: Database, *, wider_first: bool) -> None:
    """On the board, in its bands and in states to cite; so it is when the wider one goes."""
    with database.transaction(write=True) as session:
        for name in NAMES[1:]:
            make_verified(session, name, "ann")
        runs = [("dora", ["mini"]), ("wide", ["mini", "other"]), ("late", ["mini"])]
        made = {by: make_verified(session, NAMES[0], by, *on) for by, on in (runs if wider_first else reversed(runs))}
        first = "dora" if wider_first else "late"
        make_verified(session, NAMES[0], "wide", "mini", "other")  # again: its earlier version is nobody's rival
    with TestClient(app) as client:
        board: Board = app.state.board
        assert shown(client)[NAMES[0]] == (first, [1, 4])
        state = client.get(f"/api/v1/snapshots/{board.current.revision}").json()
        assert {row["codec"]: row["submitter"] for row in state["categories"]["speech"]}[NAMES[0]] == first
        with database.transaction(write=True) as session:
            decide(session, made[first], "withdraw", "mine", actor=first)
        board.refresh()
        assert shown(client)[NAMES[0]] == ({"dora": "late", "late": "dora"}[first], [1, 4])


def test_more_accounts_with_as_many_codecs_are_the_usual_ones(app: FastAPI, database: Database) -> None:
    """The board moves on: two accounts with the same codecs elsewhere outgrow one."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann")
        for number, name in enumerate(NAMES):
            make_verified(session, name, f"of {number % 2}", "other")
    with TestClient(app) as client:
        assert client.get("/api/v1/leaderboard").json()["ranked_datasets"] == ["other"]
        assert {by for by, place in shown(client).values() if place} == {"of 0", "of 1"}


def test_what_came_without_an_account_is_no_older_one(app: FastAPI, database: Database) -> None:
    """Three codecs of nobody elsewhere leave six of an account."""
    with database.transaction(write=True) as session:
        for name in ("mp3_32k", "mp3_48k", "speex_nb_8k"):
            make_verified(session, name, None, "other")
        for name in NAMES:
            make_verified(session, name, "ann")
    with TestClient(app) as client:
        assert {by for by, place in shown(client).values() if place} == {"ann"}


def test_each_aspect_of_a_ranking_has_its_own_results(app: FastAPI, database: Database) -> None:
    """Speech by one account, the rest by another: values, bitrate and clips are of the result that has them."""
    with database.transaction(write=True) as session:
        for number, name in enumerate(NAMES):
            score = 0.55 + number / 10
            speech: Any = {"datasets": {"mini": ("speech",)}, "owner": "ann", "status": "verified"}
            make_submission(session, name, 1.0, score, **speech)
            rest: Any = {"datasets": {"mini": ("audio", "music")}, "owner": "bob", "status": "verified"}
            make_submission(session, name, 3.0, 1.4 - score, **rest)
        for codec in session.scalars(select(Submission)).all():
            codec.codec.owner_id = None
    with TestClient(app) as client:
        for query, first in (("?audio=0&music=0", NAMES[-1]), ("?speech=0", NAMES[0])):
            rows = client.get(f"/api/v1/ranking{query}").json()["codecs"]
            assert len(rows) == len(NAMES)
            assert rows[0]["codec"] == first
        both = client.get("/api/v1/ranking").json()
        assert len(both["codecs"]) == len(NAMES)
        assert client.get("/ranking").status_code == 200


@pytest.mark.parametrize("seed", range(4))
def test_ranks_rest_on_what_was_chosen(database: Database, seed: int) -> None:
    """Whatever was run by whom: what the frame chose among all results is what its codecs are ranked by."""
    drawn = random.Random(seed)
    with database.transaction(write=True) as session:
        session.add_all([Account(name=name) for name in ("a", "b", "c", "d")])
        session.flush()
        for _ in range(25):
            sets = drawn.choice([("mini",), ("mini", "other"), ("other",)])
            made = make_verified(session, drawn.choice((*NAMES, *MORE)), drawn.choice("abcd"), *sets)
            if drawn.random() < 0.3:
                changed(session, made, state="e" * 64)
            if drawn.random() < 0.2:
                changed(session, made, versions=("mel",))
        found = load_snapshot(session, None)
    assert found.behind
    for category in CATEGORIES:
        for metric in ("score", "mel"):
            for dataset in ("", "mini", "other"):
                state = BoardState(category=category, metric=metric, dataset=dataset, source="verified")
                ranked = rank(found, state)
                chosen = ranked.frame.usual_kind(metric)
                if chosen is None:
                    continue
                kinds = [kind_of(entry, category, dataset, metric) for entry in ranked.frame.candidates]
                names = {
                    entry.codec for entry, kind in zip(ranked.frame.candidates, kinds, strict=True) if kind == chosen
                }
                placed = {e.codec for e, best in zip(ranked.frame.entries, ranked.best, strict=True) if best}
                assert placed == names, (category, metric, dataset)
