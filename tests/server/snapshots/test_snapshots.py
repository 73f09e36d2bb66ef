"""States of the board at an address that stays: what they hold, their hash and citation, where none is recorded."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy import select
from starlette.testclient import TestClient
from support.server.board import make_submission

from codec_superb.server.database.migrate import downgrade, upgrade
from codec_superb.server.database.models import BoardChange, Codec, Revision, Submission
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.moderation.service import decide, transfer
from codec_superb.server.names.upgrading import ensure_names
from codec_superb.server.people.tokens import account_of


def snapshot(client: TestClient, revision: int) -> dict[str, Any]:
    """Ask for a state."""
    answer = client.get(f"/api/v1/snapshots/{revision}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def codecs(state: dict[str, Any], category: str = "speech") -> list[tuple[str, Any]]:
    """Name codecs and ranks of a category."""
    return [(row["codec"], row["rank"]) for row in state["categories"][category]]


def test_a_state_stays_as_it_was_whatever_happens_later(client: TestClient, database: Database) -> None:
    """Each revision has what was public then: older versions, former statuses, results that were taken back."""
    with database.transaction(write=True) as session:
        opus = make_submission(session, "opus_12k", 12.0, 0.7)  # revision 1
        old = make_submission(session, "mp3_32k", 32.0, 0.8)  # 2
        new = make_submission(session, "mp3_32k", 32.0, 0.6)  # 3
        bump_revision(session)  # 4: a dataset, say
        decide(session, opus, "verify", "", actor="m")  # 5
        decide(session, new, "withdraw", "a mistake", actor="m")  # 6
        make_submission(session, "hidden", 3.0, 0.9, status="held")
    board = client.app.state.board  # type: ignore[attr-defined]  # Starlette's application
    assert board.refresh().revision == 6
    assert codecs(snapshot(client, 1)) == [("opus_12k", [1, 1])]
    assert codecs(snapshot(client, 2)) == [("mp3_32k", [1, 1]), ("opus_12k", [2, 2])]
    assert codecs(snapshot(client, 3)) == codecs(snapshot(client, 4)) == [("opus_12k", [1, 1]), ("mp3_32k", [2, 2])]
    third, last = snapshot(client, 3), snapshot(client, 6)
    held = {entry["codec"]: (entry["submission"], entry["status"], entry["today"]) for entry in third["submissions"]}
    assert held == {
        "mp3_32k": (new, "self-reported", "withdrawn"),
        "opus_12k": (opus, "self-reported", "verified"),
    }
    assert {entry["submission"] for entry in last["submissions"]} == {opus, old}
    for state in (third, last):
        assert hashlib.sha256(state["canonical"].encode()).hexdigest() == state["sha256"]
        assert json.loads(state["canonical"])["revision"] == state["revision"]
        assert state["sha256"] in state["bibtex"].replace("\n", "")
        assert f"/snapshots/{state['revision']}" in state["bibtex"]
    kept = third["sha256"]
    with database.transaction(write=True) as session:
        decide(session, new, "accept", "it was right", actor="m")
    board.refresh()
    assert snapshot(client, 3)["sha256"] == kept
    # what is public now is the board's own ranking
    rows = client.get("/api/v1/leaderboard").json()["rows"]
    assert codecs(snapshot(client, 7)) == [(row["codec"], row["rank"]) for row in rows]


def test_what_stood_in_front_then_stands_in_front(client: TestClient, database: Database) -> None:
    """Verified results of a name that nobody owns stay in front of what came later, in states as on the board."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", 12.0, 0.7, owner=None)  # revision 1
        decide(session, first, "verify", "", actor="m")  # 2
        later = make_submission(session, "opus_12k", 12.0, 0.8, owner=None)  # 3
        decide(session, first, "withdraw", "a mistake", actor="m")  # 4
    board = client.app.state.board  # type: ignore[attr-defined]  # Starlette's application
    assert board.refresh().revision == 4
    assert [snapshot(client, n)["submissions"][0]["submission"] for n in (2, 3, 4)] == [first, first, later]


def test_a_name_that_gets_an_owner_changes_no_earlier_state(client: TestClient, database: Database) -> None:
    """Whose a name is decides what stands in front: states before a transfer keep their hash, later ones follow it."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "gull_1k", 3.0, 0.7, owner=None)  # revision 1
        decide(session, first, "verify", "", actor="m")  # 2
        later = make_submission(session, "gull_1k", 3.0, 0.8, owner=None)  # 3
        account_of(session, "bob")
    board = client.app.state.board  # type: ignore[attr-defined]  # Starlette's application
    board.refresh()
    cited = snapshot(client, 3)["sha256"]
    with database.transaction(write=True) as session:
        transfer(session, "codec", "gull_1k", "bob", actor="m")  # 4
    assert board.refresh().revision == 4
    assert snapshot(client, 3)["sha256"] == cited
    assert [snapshot(client, n)["submissions"][0]["submission"] for n in (3, 4)] == [first, later]


def test_an_upgrade_whose_catalogue_has_a_name_changes_no_earlier_state(client: TestClient, database: Database) -> None:
    """A name that an account owned is the account's in states before a release put it into the catalogue."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "opus_12k", 12.0, 0.7, owner="ann")  # revision 1
        decide(session, first, "verify", "", actor="m")  # 2
        later = make_submission(session, "opus_12k", 12.0, 0.8, owner="ann")  # 3
    board = client.app.state.board  # type: ignore[attr-defined]  # Starlette's application
    board.refresh()
    cited = snapshot(client, 3)["sha256"]
    with database.transaction(write=True) as session:
        ensure_names(session)
        bump_revision(session)  # 4
        owner = session.scalars(select(Codec.owner_id).where(Codec.name == "opus_12k")).one()
    assert board.refresh().revision == 4
    assert owner is None
    assert snapshot(client, 3)["submissions"][0]["submission"] == later
    assert snapshot(client, 3)["sha256"] == cited


def test_the_page_cites_and_says_what_is_no_longer_public(client: TestClient, database: Database) -> None:
    """Of results that were taken back the name stays, without sender and their words; others have badge and account."""
    with database.transaction(write=True) as session:
        taken = make_submission(session, "opus_12k", 12.0, 0.6, card={"title": "A title to regret"})
        decide(session, taken, "withdraw", "spam", actor="m")
        make_submission(session, "mp3_32k", 32.0, 0.8, owner="lab")
    client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
    page = client.get("/snapshots/1?category=music").text
    assert "self-reported</span><small>opus_12k</small>" in page  # nor who that was
    assert "self-reported</span><small>by lab</small>" in client.get("/snapshots/3").text
    told = [(row["source"], row["submitter"]) for at in (1, 3) for row in snapshot(client, at)["categories"]["music"]]
    assert told == [("self-reported", ""), ("self-reported", "lab")]
    assert "no longer public" in page
    assert "regret" not in page
    assert f"/submissions/{taken}" not in page
    assert "@misc{codec-superb-leaderboard-r1," in page
    assert snapshot(client, 1)["sha256"] in page
    assert "No results in this category" in client.get("/snapshots/2").text


def test_states_that_are_not_recorded_are_not_found(client: TestClient, database: Database) -> None:
    """Neither of the future, nor of an empty board, nor numbers that no database holds."""
    assert "nothing is public yet" in client.get("/api/v1/snapshots/0").json()["detail"]
    with database.transaction(write=True) as session:
        bump_revision(session)
        make_submission(session, "opus_12k", 12.0, 0.6)
    client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
    for path in ("/api/v1/snapshots/", "/snapshots/"):
        assert client.get(f"{path}2").status_code == 200
        for revision, says in ((1, "recorded are those from 2 to 2"), (3, "up to 2")):
            answer = client.get(f"{path}{revision}")
            assert answer.status_code == 404
            assert says in answer.text
        assert client.get(f"{path}99999999999999999999").status_code == 400
        assert client.get(f"{path}-1").status_code == 400


def test_an_older_database_is_recorded_as_it_stands(database: Database, database_url: str) -> None:
    """Its revision now is the first one; the time is that of the last decision, or of the arrival."""
    with database.transaction(write=True) as session:
        opus = make_submission(session, "opus_12k")
        verified = make_submission(session, "opus_6k")
        decide(session, verified, "verify", "", actor="m")
        make_submission(session, "hidden", status="pending")
        received = session.get_one(Submission, opus).received
        decided = session.get_one(Submission, verified).decided
    downgrade(database_url, "0008")
    with database.engine.connect() as connection:
        assert "board_changes" not in sa.inspect(connection).get_table_names()
    upgrade(database_url)
    with database.transaction() as session:
        now = session.scalars(select(Revision.number)).one()
        rows = session.execute(
            select(BoardChange.revision, BoardChange.submission_id, BoardChange.status, BoardChange.at)
        )
        assert {tuple(row) for row in rows} == {
            (now, opus, "self-reported", received), (now, verified, "verified", decided),
        }  # fmt: skip
