"""Names that an older version folded otherwise are folded anew when the service starts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from support.logged import Logged
from support.server.board import make_submission

from codec_superb.server.database.models import Codec, Family
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import transfer
from codec_superb.server.names import upgrading
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.names.upgrading import ensure_names
from codec_superb.server.people.tokens import account_of

TITLES = {"lark_3k": "Лакмус", "wren_3k": "Lark", "owl_3k": "ʟark"}
"""An older version took the small capital of the last for a letter of its own."""
OLDER = {"lark_3k": "лaкmyc", "wren_3k": "lark", "owl_3k": "ʟark"}


def test_looks_of_an_older_version_are_folded_anew(database: Database) -> None:
    """Each codec has its look of today; of two that look alike by now the older one has it, and neither is lost."""
    with database.transaction(write=True) as session:
        for day, (codec, title) in enumerate(TITLES.items(), start=1):
            when = datetime(2026, 1, day, tzinfo=UTC)
            make_submission(session, codec, 3.0, owner=codec, card={"title": title}, received=when)
        ensure_names(session)
        for codec in session.scalars(select(Codec)):
            codec.title_skeleton = OLDER[codec.name]
    for _ in range(2):  # a service that starts again changes nothing
        with database.transaction(write=True) as session:
            ensure_names(session)
            looks = {codec.name: codec.title_skeleton for codec in session.scalars(select(Codec))}
        assert looks["lark_3k"] == skeleton(TITLES["lark_3k"]) != OLDER["lark_3k"]
        assert looks["wren_3k"] == skeleton("Lark") == skeleton("ʟark")
        assert looks["owl_3k"] == OLDER["owl_3k"]


def test_looks_of_names_that_were_given_are_registered_again(database: Database) -> None:
    """An older version freed them for everybody until the next version, though the results were public."""
    with database.transaction(write=True) as session:
        make_submission(session, "heron_3k", 3.0, owner="heron", card={"title": "Heron"})
        ensure_names(session)
        account_of(session, "lab")
        session.flush()
        transfer(session, "codec", "heron_3k", "lab", actor="moderator")
        session.flush()
        codec = session.scalars(select(Codec).where(Codec.name == "heron_3k")).one()
        assert codec.title_skeleton == skeleton("Heron")  # free for the lab alone
        codec.skeleton = codec.title_skeleton = None
    with database.transaction(write=True) as session:
        ensure_names(session)
        codec = session.scalars(select(Codec).where(Codec.name == "heron_3k")).one()
        assert (codec.skeleton, codec.title_skeleton) == (skeleton("heron_3k"), skeleton("Heron"))


def test_families_are_folded_anew_with_all_else(database: Database) -> None:
    """A family that an older version folded otherwise keeps its row, and what else was to be done is done too."""
    with database.transaction(write=True) as session:
        for codec, family in {"heron_3k": "1ark", "wren_3k": "finch_0", "owl_3k": "finch_o"}.items():
            make_submission(session, codec, 3.0, owner=codec, card={"title": codec, "family": family})
        session.add_all(Family(name=name, skeleton=look) for name, look in FAMILIES.items())
    for _ in range(2):
        with database.transaction(write=True) as session:
            ensure_names(session)
            looks = {family.name: family.skeleton for family in session.scalars(select(Family))}
            titles = {codec.name: codec.title_skeleton for codec in session.scalars(select(Codec))}
        assert looks == FAMILIES | {"1ark": "lark"}
        assert titles["heron_3k"] == skeleton("heron_3k")


FAMILIES = {"1ark": "1ark", "finch_0": skeleton("finch_0"), "finch_o": "finch_o"}
"""An older version took digits of the first and letters of the last for themselves."""


@pytest.mark.parametrize("faults", [1, 2])
def test_what_does_not_fit_is_never_passed_over(
    database: Database, faults: int, monkeypatch: pytest.MonkeyPatch, logged: Logged
) -> None:
    """It is logged and tried again, since another process may have done it; what fails then is raised."""
    left = [IntegrityError("insert", None, ValueError("UNIQUE constraint failed: families.name"))] * faults
    ensure = upgrading._ensure

    def failing(*given: object) -> None:
        if left:
            raise left.pop()
        ensure(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrading, "_ensure", failing)
    with database.transaction(write=True) as session:
        make_submission(session, "lark_3k", 3.0, owner="lark", card={"family": "larks"})
        if faults == 1:
            ensure_names(session)
            assert session.scalars(select(Family.name)).all() == ["larks"]
        else:
            with pytest.raises(IntegrityError):
                ensure_names(session)
    assert "families.name" in logged.text
