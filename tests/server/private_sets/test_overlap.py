"""Two private sets that differ by a few clips would tell their score: such a second one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from support.server.ingest import categories, register
from support.server.people import ON_SQLITE

from codec_superb.server.database.models import PrivateDataset
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest
from codec_superb.server.private_sets import registry


def add(database: Database, name: str, speech: Iterable[int], music: Iterable[int] = ()) -> None:
    """Register a set of numbered clips."""
    clips = {"speech": list(speech), "music": list(music)}
    with database.transaction(write=True) as session:
        registry.add(
            session, name, f"/{name}", counts={each: len(its) for each, its in clips.items() if its},  # type: ignore[misc]
            seconds={"speech": 9.0, "music": 9.0}, salt=name * 8, manifest_hash="0" * 64, commitment="0" * 64,
            sounds={each: [f"{number:064x}" for number in its] for each, its in clips.items() if its},  # type: ignore[misc]
            compared_with="mini", rotates=None, actor="the test",
        )  # fmt: skip


@ON_SQLITE
def test_sets_that_share_most_clips_are_refused(database: Database) -> None:
    """On either side, in one category alone, under another, also of a retired set; equal, apart or half new is fine."""
    register(database, "mini", categories(63))
    add(database, "first", range(40), range(100, 140))
    with database.transaction(write=True) as session:
        registry.retire(session, "first", actor="the test")
    refused = (
        (range(39), ()), (range(41), ()), (range(21), ()), (range(19, 60), ()), ([*range(30), *range(50, 60)], ()),
        (range(200, 240), range(101, 141)), (range(200, 240), range(100, 160)),
        (range(200, 240), range(39)), (range(100, 141), ()),
    )  # fmt: skip
    for speech, music in refused:
        with pytest.raises(BadRequest, match="clips of first, all of them, or 20 or more that differ"):
            add(database, "second", speech, music)
    # few clips of a category have no score, and no overlap counts
    for name, speech, music in (
        ("same", range(40), ()),
        ("few", range(300, 340), range(100, 105)),
        ("half", range(20, 60), ()),
    ):
        add(database, name, speech, music)
    with database.transaction() as session:
        kept = json.dumps([row.sounds for row in session.query(PrivateDataset)])
    assert len(kept) > 5000
    assert f"{30:064x}" not in kept  # no hash that anybody could make


@ON_SQLITE
def test_a_sound_stands_once(database: Database) -> None:
    """The same clips with one of them many times are not the same again: the two scores would tell that of the one."""
    register(database, "mini", categories(63))
    add(database, "first", range(40))
    for speech, music in (([*range(40), *[7] * 400], ()), (range(40), [*range(100, 140), 139])):
        with pytest.raises(BadRequest, match=r"expected each sound of (speech|music) once, got (400|1) that another"):
            add(database, "second", speech, music)
