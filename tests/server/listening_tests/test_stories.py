"""Whole tests, from the sounds to the results: people who listen and people who click, on a real database."""

from __future__ import annotations

import csv
import io
import itertools
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient
from support.server.listening import NOISE, add_test, clicker, fair, take

from codec_superb.server.database.listening import Participant, Rating
from codec_superb.server.database.session import Database
from codec_superb.server.listening_tests import service
from codec_superb.server.listening_tests.service import advance
from codec_superb.server.settings import Settings

LISTENERS, CLICKERS = 4, 2


@pytest.fixture
def settings(database_url: str, tmp_path: Any) -> Settings:
    """Give settings under which a crowd behind one address may answer."""
    return Settings(
        database=database_url, storage=tmp_path / "storage", secret_key="x" * 40, computations_per_minute=100_000
    )


@pytest.fixture(autouse=True)
def _known_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same orders every time: of the clickers of some orders one would guess every gold question."""
    seeds = itertools.count(1)
    monkeypatch.setattr(service, "draw_seed", lambda: next(seeds))


def crowd(client: TestClient, database: Database, test: str) -> dict[str, Any]:
    """Let listeners and clickers take a test and one more begin it; close it and return the results."""
    for number in range(LISTENERS + CLICKERS):
        random = np.random.default_rng(number)
        take(client, test, fair(random) if number < LISTENERS else clicker(random))
    take(client, test, fair(np.random.default_rng(99)), most=1)
    assert client.get(f"/api/v1/listening-tests/{test}/results").status_code == 404
    with database.transaction(write=True) as session:
        advance(session, test, "closed", actor="tests")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    found = client.get(f"/api/v1/listening-tests/{test}/results")
    assert found.status_code == 200
    results: dict[str, Any] = found.json()
    assert (results["started"], results["finished"]) == (LISTENERS + CLICKERS + 1, LISTENERS + CLICKERS)
    assert results["counted"] == LISTENERS
    assert {"reason": "did not finish", "participants": 1} in results["left_out"]
    return results


@pytest.mark.sample(1, among="listeners find what is true")
def test_mushra_finds_the_order_and_leaves_clickers_out(client: TestClient, database: Database) -> None:
    """The hidden reference is on top and the codecs stand in their order, with intervals that hold the means."""
    with database.transaction(write=True) as session:
        test = add_test(session, "mushra", clips=2, training=1)
    results = crowd(client, database, test)
    found = {entry["condition"]: entry for entry in results["conditions"]}
    order = sorted(found, key=lambda name: -found[name]["mean"])
    assert order[0] == "reference"
    assert [name for name in order if name in NOISE] == list(NOISE)
    for entry in found.values():
        assert (entry["n"], entry["listeners"]) == (2 * LISTENERS, LISTENERS)
        assert entry["n_before"] == 2 * (LISTENERS + CLICKERS)  # whoever stopped did so in the training
        assert entry["low"] <= entry["mean"] <= entry["high"]
        assert entry["lower_quartile"] <= entry["median"] <= entry["upper_quartile"]
    assert any("hidden reference below 90" in left["reason"] for left in results["left_out"])
    page = client.get(f"/listening/{test}/results").text
    assert "4 listeners of 7 that began" in page
    assert " could answer within a day; " in page  # more may begin
    assert 'href="/codecs/' not in page  # none of them is on the board
    check_csv(client, database, test)


def check_csv(client: TestClient, database: Database, test: str) -> None:
    """Every rating is a line, with the reason where its participant is left out; nobody can be told by it."""
    text = client.get(f"/api/v1/listening-tests/{test}/ratings.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    with database.transaction() as session:
        assert len(rows) == len(session.scalars(select(Rating.id)).all())
        assert all(person.token_sha256 not in text for person in session.scalars(select(Participant)))
    left = {row["participant"] for row in rows if row["left_out"]}
    assert len(left) == CLICKERS + 1
    assert {float(row["seconds"]) for row in rows} == {3.5}


PAIRS = {"ab": [["fine_24k", "poor_6k"]], "abx": [["poor_6k", "reference"]]}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["ab", "abx", "acr", "dcr"])
@pytest.mark.sample(1, among="listeners find what is true")
def test_the_other_kinds_do_too(client: TestClient, database: Database, kind: str) -> None:
    """Gold questions find the clickers; the better codec is preferred, told apart, rated higher."""
    with database.transaction(write=True) as session:
        test = add_test(session, kind, clips=4, **({"pairs": PAIRS[kind]} if kind in PAIRS else {}))
    results = crowd(client, database, test)
    assert any("gold questions" in left["reason"] for left in results["left_out"])
    if kind in {"acr", "dcr"}:
        means = {entry["condition"]: entry["mean"] for entry in results["conditions"]}
        assert [name for name in sorted(means, key=lambda name: -means[name]) if name in NOISE] == list(NOISE)
        return
    for pair in results["pairs"]:
        assert pair["n"] == 4 * LISTENERS
        assert pair["share"] > 0.9  # the first of a pair is the better codec; X is told from the other
        assert pair["low"] > 0.5
        assert (pair["p"] is None) == (kind == "ab")
    if kind == "abx":
        assert all(pair["p"] < 0.001 for pair in results["pairs"])
