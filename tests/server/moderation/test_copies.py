"""Who had values first is no copy of who sent them later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.server.board import make_submission
from support.server.warned import SPEECH, publish, warned

from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.models import Submission, now
from codec_superb.server.database.session import Database

VALUES: dict[str, Any] = {"score": 0.8, "metrics": {"pesq": 2.987654321}}


def copied(database: Database, codec: str, owner: str | None, **made: Any) -> list[bool]:
    """Whether each warning of a copy holds."""
    found = warned(database, codec, owner=owner, **(VALUES | made))
    return [each["holds"] for each in found if each["kind"] == "copied"]


def test_a_copy_does_not_hold_its_original(database: Database) -> None:
    """The next version, and other codecs of the account, get a remark; the copier's next ones and a third's wait."""
    publish(database, "nova_net", 12.0, owner="ann", **VALUES)
    publish(database, "opus_16k", 12.0, owner="mallory", **VALUES)
    assert copied(database, "nova_net", "ann") == [False]
    assert copied(database, "nova_next", "ann") == [False]
    assert copied(database, "mine", "mallory") == [True]
    assert copied(database, "also_mine", "bob") == [True]
    assert copied(database, "nameless", None) == [True]
    # the name may go to another account, with what it had
    assert copied(database, "nova_net", "bea") == [False]


def test_whose_name_was_first_is_not_held_by_who_ran_its_code(database: Database) -> None:
    """Under a condition first, or complete where the other has a part: by its word alone another name holds nobody."""
    noise = parse_condition("noise:white:20")
    publish(database, "nova_net", 12.0, 0.5, owner="ann")
    for status, holds in (("self-reported", False), ("verified", True)):
        made = {"condition": noise, "owner": "mallory", "status": status}
        publish(database, f"zulu_{status[:4]}", 12.0, **(VALUES | made))
        assert copied(database, "nova_net", "ann", condition=noise) == [holds]
    assert copied(database, "nova_new", "ann", condition=noise) == [True]  # this name is younger
    assert copied(database, "nova_net", "bob", condition=noise) == [True]  # nor had he any under it


@pytest.mark.parametrize(
    ("status", "decided_by", "holds"),
    [("withdrawn", "ann", False), ("withdrawn", "a moderator", True), ("held", "a moderator", True),
     ("verified", "a moderator", False)],
)  # fmt: skip
def test_what_counts_as_first(database: Database, status: str, decided_by: str, *, holds: bool) -> None:
    """What was public and its account took back; not what a moderator holds or took back."""
    with database.transaction(write=True) as session:
        first = make_submission(session, "nova_net", owner="ann", datasets=SPEECH, **VALUES)
        make_submission(session, "opus_16k", owner="mallory", datasets=SPEECH, **VALUES)
        found = session.get_one(Submission, first)
        found.status, found.decided_by = status, decided_by
    assert copied(database, "nova_next", "ann") == [holds]


def test_what_was_never_public_later_or_of_other_values_is_not_first(database: Database) -> None:
    """A file that nobody saw, one under a condition, one that came later, or half of the values: copies all."""
    publish(database, "nova_net", 12.0, owner="ann", received=now() - timedelta(days=1), **VALUES)
    before = {"received": now() - timedelta(days=2)}
    publish(database, "unseen", 12.0, owner="mallory", status="held", **before, **VALUES)
    publish(database, "lost", 12.0, owner="mallory", condition=parse_condition("loss:10"), **before, **VALUES)
    publish(database, "half", 12.0, owner="mallory", **before, **(VALUES | {"metrics": {"pesq": 2.99}}))
    publish(database, "accepted", 12.0, owner="mallory", **VALUES)
    assert copied(database, "mine", "mallory") == [True]
    # another copy of the first makes it no original
    publish(database, "opus_16k", 12.0, owner="bob", **VALUES)
    assert copied(database, "mine", "mallory") == [True]
