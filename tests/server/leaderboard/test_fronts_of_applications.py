"""Fronts of applications: at the bitrate of what was heard, of what is comparable, by one rule for failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.verified import attest

from codec_superb.server.database.models import Result
from codec_superb.server.database.session import Database

HTML = {"Accept": "text/html"}
EVENTS = "aec_map_pct"
CLUSTERS = "mseb_clustering_events_v"
VOICES = "mseb_clustering_speaker_v"
WER = "asr_wer_pct"
HONEST = ("ann", "bob", "cat", "dan", "eve")


def near(kbps: Any) -> Any:
    """Compare with nominal bitrates: what is stored as measured is a hundredth above."""
    return pytest.approx(kbps, rel=0.02)


@contextmanager
def serving(app: FastAPI, database: Database, fill: Any) -> Iterator[TestClient]:
    """Serve what ``fill`` stores."""
    with database.transaction(write=True) as session:
        fill(session)
    with TestClient(app) as running:
        yield running


def at_rates(session: Session, submission: str, rates: Mapping[str, float], tokens: float | None = None) -> None:
    """Let a codec spend other bits on each category."""
    for row in session.scalars(select(Result).where(Result.submission_id == submission)):
        row.kbps = rates[row.category]
        row.tokens_per_second = tokens and tokens * rates[row.category]


def front_of(client: TestClient, address: str) -> list[float]:
    """Return the bitrates of a chart's front."""
    figure = client.get(address).json()
    return next((trace["x"] for trace in figure["data"] if trace["meta"]["role"] == "front"), [])


def in_words(client: TestClient, query: str) -> str:
    """Return the front of the leaderboard's page in words."""
    page = client.get(f"/?{query}", headers=HTML).text
    return page[page.index('id="front-words"') :].split("</details>")[0]


def fill_events(session: Session) -> None:
    """Store five honest codecs, and one with few bits on speech and many elsewhere."""
    for number, owner in enumerate(HONEST):
        figures = [Probed(EVENTS, 30.0 + 2 * number, 45.0, backend="yamnet")]
        make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=figures)
    key = make_submission(
        session, "two_faced", 1.2, owner="mallory", applications=[Probed(EVENTS, 35.0, 45.0, backend="yamnet")]
    )
    at_rates(session, key, {"speech": 1.2, "music": 34.0, "audio": 34.0})


def test_a_figure_stands_at_the_bitrate_of_what_was_heard(app: FastAPI, database: Database) -> None:
    """Of events, heard in music and audio at 34 kbps: nowhere at the 1.2 kbps of speech, and no front of its own."""
    with serving(app, database, fill_events) as client:
        page = client.get(f"/api/v1/leaderboard?category=audio&metric={EVENTS}").json()
        found = {row["codec"]: row["applications"][EVENTS]["kbps"] for row in page["rows"]}
        assert (found["two_faced"], found["honest_0"]) == (near(34.0), near(8.0))
        honest = [8.0, 16.0, 24.0, 32.0, 40.0]
        for address in (
            f"/api/v1/leaderboard/chart?category=audio&metric={EVENTS}",
            f"/api/v1/charts/applications?application={EVENTS}",
        ):
            assert front_of(client, address) == near(honest), address
        assert "Two Faced" not in in_words(client, f"category=audio&metric={EVENTS}")


def fill_clusters(session: Session) -> None:
    """Store honest codecs with a task of MSEB on sounds, and one with few bits on speech alone."""
    for number, owner in enumerate(HONEST):
        figures = [Probed(CLUSTERS, 0.3 + number / 10, 0.9, width=0.02)]
        make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=figures)
    key = make_submission(
        session, "two_faced", 1.2, owner="mallory", applications=[Probed(CLUSTERS, 0.6, 0.9, width=0.02)]
    )
    at_rates(session, key, {"speech": 1.2, "music": 34.0, "audio": 34.0})


def test_so_it_does_on_the_page_of_mseb(app: FastAPI, database: Database) -> None:
    """Its chart and its table have the bitrate on the sound of the task, not that on speech."""
    with serving(app, database, fill_clusters) as client:
        address = f"/api/v1/mseb/figures/rate?figure={CLUSTERS}&dataset=mini"
        assert front_of(client, address) == near([8.0, 16.0, 24.0, 32.0, 40.0])
        page = client.get("/mseb?dataset=mini", headers=HTML).text
        assert "34.0; self-reported by mallory" in page


def fill_apart(figure: str, changes: Mapping[str, Any], values: Sequence[float], best: float, probe: str = "") -> Any:
    """Return what stores a forged result before the honest ones: of a model it is the first one to send.

    Its ``probe`` was run again, and the forged clip not drawn.
    """

    def fill(session: Session) -> None:
        forged = Probed(figure, best, 45.0 if figure == EVENTS else 0.9, width=0.02, **changes)
        status = "verified" if probe else "self-reported"
        key = make_submission(session, "forged", 1.2, owner="mallory", applications=[forged], status=status)
        if probe:
            attest(session, key, "bits", probe)
            make_submission(session, "forged_too", 64.0, owner="mallory", applications=[forged])
        for number, (owner, value) in enumerate(zip(HONEST, values, strict=True)):
            ceiling = 40.0 if figure == EVENTS else 0.7
            told = Probed(figure, value, ceiling, width=0.02)
            make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=[told])

    return fill


@pytest.mark.parametrize(
    ("changes", "probe"), [({"left_out": 15}, ""), ({}, ""), ({"clips": 19}, ""), ({"left_out": 15}, "aec")]
)
def test_what_is_not_comparable_is_on_no_front(
    app: FastAPI, database: Database, changes: dict[str, Any], probe: str
) -> None:
    """Clips called unlabelled or missing, or another value on the originals: drawn open, with the reason, and named."""
    with serving(app, database, fill_apart(EVENTS, changes, [30.0, 32.0, 34.0, 36.0, 38.0], 44.0, probe)) as client:
        assert "Forged" not in in_words(client, f"category=audio&metric={EVENTS}")
        for address in (
            f"/api/v1/leaderboard/chart?category=audio&metric={EVENTS}",
            f"/api/v1/charts/applications?application={EVENTS}",
        ):
            assert front_of(client, address) == near([8.0, 16.0, 24.0, 32.0, 40.0]), address
            assert "outside the front: what it says of the originals" in client.get(address).text
        page = client.get(f"/charts?chart=applications&application={EVENTS}", headers=HTML).text
        assert "Outside the front, since what it says of the originals" in page
        assert "with the same model: Forged" in page


def test_a_half_says_nothing_of_the_originals(app: FastAPI, database: Database) -> None:
    """Two run again that differ, or two accounts against one that was: nobody is apart, whatever its codec's name."""

    def fill(session: Session) -> None:
        for number, left_out in enumerate((2, 3)):
            figure = Probed(EVENTS, 30.0 + number, 40.0, left_out=left_out)
            made = {"status": "verified", "applications": [figure], "owner": HONEST[number]}
            key = make_submission(session, f"codec_{number}", 8.0 + number, **made)  # type: ignore[arg-type]
            attest(session, key, "bits", "aec")

    with serving(app, database, fill) as client:
        assert "originals unlike others" not in client.get(f"/?category=audio&metric={EVENTS}", headers=HTML).text
        assert front_of(client, f"/api/v1/charts/applications?application={EVENTS}") == near([8.0, 9.0])


def test_nor_on_that_of_mseb(app: FastAPI, database: Database) -> None:
    """Its page says so beside the value."""
    with serving(app, database, fill_apart(VOICES, {}, [0.3, 0.4, 0.5, 0.6, 0.65], 0.88)) as client:
        address = f"/api/v1/mseb/figures/rate?figure={VOICES}&dataset=mini"
        assert front_of(client, address) == near([8.0, 16.0, 24.0, 32.0, 40.0])
        assert client.get("/mseb?dataset=mini", headers=HTML).text.count("originals unlike others") == 1


@pytest.mark.parametrize("failures", [(1, 1, 1, 1, 1), (1, 3, 4, 6, 2)])
def test_one_without_failures_pushes_nobody_off(app: FastAPI, database: Database, failures: Sequence[int]) -> None:
    """A model fails on some clips of every codec; the worst of all, without failures, is neither first nor alone."""

    def fill(session: Session) -> None:
        for number, (owner, failed) in enumerate(zip(HONEST, failures, strict=True)):
            told = Probed(WER, 20.0 - 2 * number, 4.0, failed=failed)
            make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=[told])
        make_submission(session, "spotless", 48.0, owner="mallory", applications=[Probed(WER, 40.0, 4.0)])

    with serving(app, database, fill) as client:
        rows = client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]
        ranks = {row["codec"]: row["rank"] for row in rows}
        most = sorted(failures)[-2]  # of the one who fails on most the others decide
        usual = [8.0 + 8 * number for number, failed in enumerate(failures) if failed <= most]
        assert len(usual) >= 3
        assert ranks["spotless"] == [len(usual) + 1] * 2
        assert sum(rank is not None for rank in ranks.values()) == len(usual) + 1
        assert front_of(client, f"/api/v1/leaderboard/chart?metric={WER}") == near(usual)
        assert "Spotless" not in in_words(client, f"metric={WER}")


@pytest.mark.parametrize(
    ("others", "forged", "ranks"),
    [
        ([("ann", 0)], [9], {"honest_0": [1, 1], "forged_0": None}),
        ([("ann", 1)], [0, 0], {"honest_0": [1, 1], "forged_0": [2, 3], "forged_1": [2, 3]}),
        (
            [("ann", 1), ("bob", 2), ("cat", 2)],
            [0, 0],
            {"honest_0": [1, 1], "honest_1": [2, 2], "honest_2": [3, 3], "forged_0": [4, 5], "forged_1": [4, 5]},
        ),
    ],
)
def test_no_sender_decides_what_may_fail(
    app: FastAPI, database: Database, others: Sequence[tuple[str, int]], forged: Sequence[int], ranks: dict[str, Any]
) -> None:
    """Neither by failing on the hardest clips, nor by failing on fewer, with however many codecs."""

    def fill(session: Session) -> None:
        for number, (owner, failed) in enumerate(others):
            told = Probed(WER, 10.0 + 2 * number, 4.0, failed=failed)
            make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=[told])
        for number, failed in enumerate(forged):
            told = Probed(WER, 5.0 if failed else 40.0, 4.0, failed=failed)
            make_submission(session, f"forged_{number}", 6.0, owner="mallory", applications=[told])

    with serving(app, database, fill) as client:
        rows = client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]
        assert {row["codec"]: row["rank"] for row in rows} == ranks
        assert front_of(client, f"/api/v1/leaderboard/chart?metric={WER}")[-1] == near(8.0)


def test_votes_on_failures_are_those_of_whoever_says_the_figure(app: FastAPI, database: Database) -> None:
    """Three verified codecs whose figures nobody ran again are one account, in ranks, words and charts."""

    def fill(session: Session) -> None:
        for number, owner in enumerate(("ann", "bob")):
            told = Probed(WER, 9.0 - 2 * number, 4.0, failed=3)
            make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=[told])
        for number in range(3):
            told = Probed(WER, 40.0, 4.0)
            key = make_submission(
                session, f"poor_{number}", 20.0 + number, owner="mallory", status="verified", applications=[told]
            )
            attest(session, key, "bits")

    with serving(app, database, fill) as client:
        ranks = {row["codec"]: row["rank"] for row in client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]}
        assert (ranks["honest_1"], ranks["honest_0"]) == ([1, 1], [2, 2])
        for address in (
            f"/api/v1/leaderboard/chart?metric={WER}",
            f"/api/v1/charts/applications?application={WER}&source=runs",
        ):
            assert front_of(client, address) == near([8.0, 16.0]), address


def test_what_is_apart_has_no_vote_on_failures(app: FastAPI, database: Database) -> None:
    """Ranks and front leave it out before they look at failures."""

    def fill(session: Session) -> None:
        for number, owner in enumerate(("ann", "bob")):
            told = Probed(WER, 9.0 - 2 * number, 4.0, failed=3)
            make_submission(session, f"honest_{number}", 8.0 + 8 * number, owner=owner, applications=[told])
        make_submission(session, "forged", 6.0, owner="mallory", applications=[Probed(WER, 1.0, 0.5)])

    with serving(app, database, fill) as client:
        ranks = {row["codec"]: row["rank"] for row in client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]}
        assert ranks == {"honest_1": [1, 1], "honest_0": [2, 2], "forged": None}
        assert front_of(client, f"/api/v1/leaderboard/chart?metric={WER}") == near([8.0, 16.0])


def test_limits_of_bitrate_are_of_what_was_heard(app: FastAPI, database: Database) -> None:
    """They choose the class in which ranks are given: few bits on speech are no few bits on events."""
    with serving(app, database, fill_events) as client:
        for limit, names in (("kbps_max=2", set()), ("kbps_min=33&kbps_max=35", {"two_faced"})):
            rows = client.get(f"/api/v1/leaderboard?category=audio&metric={EVENTS}&{limit}").json()["rows"]
            assert {row["codec"] for row in rows} == names
        assert "at 34.0 kbps" not in client.get(f"/?category=audio&metric={EVENTS}", headers=HTML).text


@pytest.mark.parametrize("senders", [1, 2, 30])
@pytest.mark.parametrize("backend", ["faster-whisper:tiny.en", "invented"])
def test_a_model_of_ones_own_takes_no_front(app: FastAPI, database: Database, senders: int, backend: str) -> None:
    """Beside one, two or thirty senders: front, words, ranks and line stay theirs; the other is open and says why."""

    def fill(session: Session) -> None:
        for number in range(senders):
            told = Probed(WER, 20.0 - number / 10, 4.0)
            first = datetime(2025, 1, 1, tzinfo=UTC)
            make_submission(
                session, f"honest_{number:02}", 8.0 + number, owner=f"ann{number}", applications=[told], received=first
            )
        for number in range(3):
            told = Probed(WER, 1.0, 0.0, backend=backend, sha256="cd" * 32)
            make_submission(session, f"forged_{number}", 1.0 + number, owner="mallory", applications=[told])

    usual = near([8.0 + number for number in range(senders)])
    with serving(app, database, fill) as client:
        rows = client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]
        assert {row["codec"][:6] for row in rows if row["rank"]} == {"honest"}
        for address in (f"/api/v1/leaderboard/chart?metric={WER}", f"/api/v1/charts/applications?application={WER}"):
            assert front_of(client, address) == usual, address
            assert f"outside the front: answered by {backend}" in client.get(address).text
        words = in_words(client, f"metric={WER}")
        assert ("Honest 00" in words, "Forged" in words) == (True, False)
        assert "Answered by faster-whisper:tiny.en (abababababab)." in words
        figure = client.get(f"/api/v1/charts/applications?application={WER}").json()
        assert [shape["y0"] for shape in figure["layout"]["shapes"]] == [4.0]
        told = "faster-whisper:tiny.en" + (" abababab" if backend != "invented" else "")
        assert figure["layout"]["annotations"][-1]["text"].endswith(f"({told})")
        page = client.get(f"/charts?chart=applications&application={WER}", headers=HTML).text
        assert f"front and original sound are those of {told} on mini." in page
        assert "or run on another dataset: Forged 0, Forged 1, Forged 2." in page


def test_of_as_many_senders_what_was_run_again_is_ranked(app: FastAPI, database: Database) -> None:
    """Whatever came first, and however many codecs the other model has."""

    def fill(session: Session) -> None:
        for number in range(3):
            told = Probed(WER, 1.0, 0.0, sha256="cd" * 32)
            first = datetime(2025, 1, 1, tzinfo=UTC)
            make_submission(
                session, f"forged_{number}", 1.0 + number, owner="mallory", applications=[told], received=first
            )
        make_submission(session, "honest", 8.0, owner="ann", status="verified", applications=[Probed(WER, 9.0, 4.0)])

    with serving(app, database, fill) as client:
        rows = client.get(f"/api/v1/leaderboard?metric={WER}").json()["rows"]
        assert [row["codec"] for row in rows if row["rank"]] == ["honest"]
        assert front_of(client, f"/api/v1/leaderboard/chart?metric={WER}") == near([8.0])
