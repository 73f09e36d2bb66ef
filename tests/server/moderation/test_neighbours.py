"""Which results a submission is compared with, of all that are public."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session
from support.server.board import make_submission

from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database
from codec_superb.server.moderation import neighbours
from codec_superb.server.moderation.neighbours import neighbours_of


def found(session: Session, identity: str) -> dict[str, float]:
    """Name the neighbours on speech of the dataset mini, with their bitrates."""
    submission = session.get_one(Submission, identity)
    return {other.codec: round(other.kbps, 2) for other in neighbours_of(session, submission)["speech", "mini"]}


@pytest.mark.parametrize("named", [500, 0])
def test_the_band_and_the_family_are_enough(database: Database, monkeypatch: pytest.MonkeyPatch, named: int) -> None:
    """Codecs of about the same bitrate and of the same family are there, the newest public version of each.

    The rest may be there too, where too many submissions would have to be named.
    """
    monkeypatch.setattr(neighbours, "_MOST_NAMED", named)
    monkeypatch.setattr(neighbours, "CROWD", 1)  # no more are asked than these
    with database.transaction(write=True) as session:
        mine = make_submission(session, "opus_12k", 12.0, owner="me")
        make_submission(session, "opus_64k", 64.0)
        make_submission(session, "aac_16k", 16.0)
        make_submission(session, "aac_128k", 128.0)
        make_submission(session, "moved", 12.0)
        make_submission(session, "moved", 96.0, card={"family": "moving"})
        make_submission(session, "waiting", 12.0, status="pending")
        make_submission(session, "elsewhere", 12.0, datasets={"other": ["speech"]})
    with database.transaction() as session:
        near = found(session, mine)
    assert {name: near.get(name) for name in ("opus_64k", "aac_16k", "moved")} == {
        "opus_64k": 64.64, "aac_16k": 16.16, "moved": 96.96,
    }  # fmt: skip
    assert set(near) <= {"opus_64k", "aac_16k", "moved", "aac_128k"}
    assert ("aac_128k" in near) == (named == 0)


def test_many_of_one_account_hide_nobody(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an account a few results above are read, so that those of the next senders are among the first that are."""
    monkeypatch.setattr(neighbours, "_MOST_NAMED", 3)
    monkeypatch.setattr(neighbours, "CROWD", 2)
    with database.transaction(write=True) as session:
        mine = make_submission(session, "lone_2k", 2.0, owner="me")
        for number in range(4):
            make_submission(session, f"bad{number}", 5.0 + number, owner="mallory")
        make_submission(session, "good", 24.0, owner="ann")
    with database.transaction() as session:
        assert set(found(session, mine)) == {"bad0", "bad1", "good"}
