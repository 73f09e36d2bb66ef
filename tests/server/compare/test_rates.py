"""Which codecs make the curves of Bjøntegaard deltas: what most senders have, complete results first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import sha
from support.server.compare import rows_of, store

from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.database.session import Database

CLIPS = 30
Change = Callable[[list[ClipRow]], list[ClipRow]]


def rows(step: int, change: Change | None = None, by: int = 1) -> list[ClipRow]:
    """Make rows of a codec whose bits double, and whose quality grows, with each step."""
    found = rows_of(clips=CLIPS, quality=0.3 * step)
    found = [row.model_copy(update={"bits": by * (row.bits or 0) * 2**step}) for row in found]
    return change(found) if change else found


def family(
    session: Session, name: str, senders: Sequence[str], by: int = 1, change: Change | None = None, **more: Any
) -> None:
    """Store a codec of a family for each sender, at rising bitrates."""
    for step, sender in enumerate(senders):
        store(session, f"{name}_{step}", rows(step, change, by), family=name, sender=sender, **more)


def last(count: int) -> Change:
    """Take the last clips alone: those of all others are the first ones."""
    return lambda found: found[-count:]


def first(count: int) -> Change:
    """Take the first clips alone, as ``--limit`` does."""
    return lambda found: found[:count]


def fails_but(count: int) -> Change:
    """Let all clips but the first ones fail."""
    return lambda found: [
        row if place < count else row.model_copy(update={"status": "failed", "bits": None, "metrics": {}})
        for place, row in enumerate(found)
    ]


def speech(client: TestClient) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Compare both families in speech: small against big where there is a curve, and why codecs are on none."""
    found = client.get("/api/v1/compare", params={"codec": ["big_0", "small_0"]}).json()
    rates = [rate for rate in found["rates"] if (rate["category"], rate["family"]) == ("speech", "small")]
    return rates, {note["codec"]: note["reason"] for note in found["rates_left_out"] if note["category"] == "speech"}


def honest(session: Session) -> None:
    """Two families by three accounts, of which one needs half the bits."""
    family(session, "big", ["ann", "bob", "cat"], by=2)
    family(session, "small", ["ann", "bob", "cat"])


def test_many_partial_results_of_one_account_change_nothing(client: TestClient, database: Database) -> None:
    """More codecs than the others have together, on a few clips, are on no curve; the reason says what they lack."""
    with database.transaction(write=True) as session:
        honest(session)
        for step in range(8):
            store(
                session, f"few_{step}", rows(step, last(6), by=9), family="small", sender="eve", whole={"mini": CLIPS}
            )
    (rate,), left = speech(client)
    assert round(rate["rate_percent"], 6) == -50
    assert rate["points"] == [3, 3]
    assert left == {
        f"few_{step}": "incomplete: not all clips of the datasets were run, or a metric failed on some"
        for step in range(8)
    }


def test_a_result_whose_clips_failed_is_on_no_curve_beside_complete_ones(
    client: TestClient, database: Database
) -> None:
    """As many clips were asked for: nothing but the failures tells it from others."""
    with database.transaction(write=True) as session:
        honest(session)
        store(session, "fails", rows(4, fails_but(6)), family="small", sender="eve")
    (rate,), left = speech(client)
    assert rate["points"] == [3, 3]
    assert left == {"fails": "incomplete: 8 of 10 clips failed"}


def test_senders_choose_the_state_and_not_codecs(client: TestClient, database: Database) -> None:
    """One account with more complete codecs on another state throws out nobody; each account has one voice."""
    with database.transaction(write=True) as session:
        honest(session)
        for step in range(8):
            more = {"family": "small", "sender": "eve"}
            store(session, f"state_{step}", rows(step), hashes={"mini": sha("other")}, **more)
        store(session, "defined", rows(1), family="small", sender="eve", versions={"pesq": "0"})
        store(session, "elsewhere", rows_of(dataset="another"), family="small", sender="eve")
    (rate,), left = speech(client)
    assert rate["points"] == [3, 3]
    assert left["state_7"] == "on another state of a dataset than most senders have"
    assert left["defined"] == "scored by another version of a definition than most senders have"
    assert left["elsewhere"] == "not on the datasets that most senders have: mini"


def test_each_verified_codec_has_a_voice_of_its_own(client: TestClient, database: Database) -> None:
    """What was run again stands for itself, whoever sent it."""
    with database.transaction(write=True) as session:
        family(session, "big", ["eve"] * 3, hashes={"mini": sha("other")})
        family(session, "small", ["ann"] * 3, status="verified")
    _, left = speech(client)
    assert set(left) == {"big_0", "big_1", "big_2"}


def test_where_all_were_cut_short_to_the_same_clips_they_are_compared(client: TestClient, database: Database) -> None:
    """A board of a lab's short runs; what has as many other clips, or failed on some, is on no curve."""
    with database.transaction(write=True) as session:
        short: dict[str, Any] = {"change": first(12), "whole": {"mini": CLIPS}}
        family(session, "big", [""] * 3, by=2, **short)
        family(session, "small", [""] * 3, **short)
        store(session, "others", rows(3, last(12)), family="small", whole={"mini": CLIPS})
        fails = fails_but(3)(rows(3, first(12)))
        store(session, "fails", fails, family="small", whole={"mini": CLIPS})
    (rate,), left = speech(client)
    assert round(rate["rate_percent"], 6) == -50
    assert rate["points"] == [3, 3]
    assert left == {
        "others": "incomplete: run on other clips than most senders have",
        "fails": "incomplete: 3 of 4 clips failed",
    }


def test_where_nothing_can_be_compared_there_is_no_curve(client: TestClient, database: Database) -> None:
    """Nor an error: all codecs are named with the reason."""
    with database.transaction(write=True) as session:
        family(session, "big", [""], change=fails_but(6))
        family(session, "small", [""], change=fails_but(6))
    rates, left = speech(client)
    assert rates == []
    assert set(left.values()) == {"incomplete: 8 of 10 clips failed"}


def test_it_is_said_whose_points_make_a_curve(client: TestClient, database: Database) -> None:
    """One good codec at few bits throws the others off: it is named with its sender, and so are they."""
    with database.transaction(write=True) as session:
        honest(session)
        store(session, "great", rows(4, by=0.02), family="small", sender="eve")
    (rate,), left = speech(client)
    assert rate["points"] == [1, 3]
    assert rate["sources"] == [f"self-reported by {name}" for name in ("ann", "bob", "cat", "eve")]
    why = "great scores as high at no more bits (self-reported by eve)"
    assert left == {f"small_{step}": why for step in range(3)}
    page = client.get("/compare", params={"codec": ["big_0", "small_0"]}, headers={"Accept": "text/html"}).text
    assert "1 and 3, self-reported by ann, self-reported by bob, self-reported by cat" in page


def test_a_family_with_enough_verified_codecs_has_its_curve_of_them(client: TestClient, database: Database) -> None:
    """A claim under a free name throws no honest point off its curve; one verified codec alone decides nothing."""
    with database.transaction(write=True) as session:
        family(session, "big", ["ann", "bob", "cat"], by=2)
        family(session, "small", ["ann"] * 3, status="verified")
        store(session, "claim", rows(8), family="small", sender="eve")
        store(session, "big_checked", rows(1, by=2), family="big", sender="dan", status="verified")
    (rate,), left = speech(client)
    assert rate["points"][0 if rate["family"] == "small" else 1] == 3
    assert left["claim"] == "nobody ran it again, and others of its family were"
    assert not {"big_0", "small_0"} & {name for name, why in left.items() if "nobody ran it again" in why}
