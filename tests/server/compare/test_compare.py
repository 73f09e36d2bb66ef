"""Comparing by address: known answers, what is refused and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.pipeline.stats import sha
from support.server.compare import rows_of, running_board, shifted, store
from support.server.people import counted_requests

from codec_superb.server.database.models import Submission
from codec_superb.server.database.session import Database, bump_revision
from codec_superb.server.settings import Settings

API = "/api/v1/compare"


def compare(client: TestClient, *names: str, expect: int = 200, **more: str) -> dict[str, Any]:
    """Ask the API; answer with its JSON."""
    answer = client.get(API, params={"codec": list(names), **more})
    assert answer.status_code == expect, answer.text
    found: dict[str, Any] = answer.json()
    return found


def fill(session: Session, settings: Settings) -> None:
    """Store codecs with known relations."""
    rows = rows_of()
    store(session, "opus_12k", rows, title="Opus 12")
    store(session, "opus_same", rows)
    store(session, "opus_better", shifted(rows, "pesq", 0.25))
    store(session, "other_clips", rows_of(dataset="another"))
    store(session, "other_state", rows, hashes={"mini": sha("other")})
    store(session, "other_version", rows, versions={"pesq": "0"})
    store(session, "hidden", rows, status="pending")


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Run the service for all tests that only read."""
    with running_board(request, tmp_path_factory.mktemp("board"), fill) as client:
        yield client


def metric(pair: dict[str, Any], category: str, key: str) -> dict[str, Any]:
    """Find one metric of the dataset ``mini``."""
    (part,) = [part for part in pair["datasets"] if part["category"] == category]
    (found,) = [entry for entry in part["metrics"] if entry["metric"] == key]
    result: dict[str, Any] = found
    return result


class TestCompare:
    """``GET /api/v1/compare``."""

    def test_a_constant_difference_is_found_exactly(self, board: TestClient) -> None:
        """The difference is the constant, its interval has no width, every clip is a win."""
        (pair,) = compare(board, "opus_12k", "opus_better")["pairs"]
        assert (pair["codec"], pair["baseline"]) == ("opus_better", "opus_12k")
        found = metric(pair, "speech", "pesq")
        assert (found["wins"], found["losses"], found["ties"], found["n"]) == (10, 0, 0, 10)
        for name in ("difference", "low", "high"):
            assert found["gap"][name] == pytest.approx(0.25, abs=1e-9)
        assert (found["gap"]["share_better"], found["gap"]["verdict"]) == (1.0, "better")
        assert metric(pair, "speech", "stoi")["gap"]["verdict"] == "unclear"

    def test_the_baseline_decides_the_sign(self, board: TestClient) -> None:
        """With the better codec as baseline the other one is worse by the same amount."""
        (pair,) = compare(board, "opus_better", "opus_12k")["pairs"]
        gap = metric(pair, "music", "pesq")["gap"]
        assert gap["difference"] == pytest.approx(-0.25)
        assert gap["verdict"] == "worse"

    def test_identical_codecs_tie_everywhere(self, board: TestClient) -> None:
        """No difference, no width, no win, and no clip to show."""
        (pair,) = compare(board, "opus_12k", "opus_same")["pairs"]
        for part in pair["datasets"]:
            assert part["score"]["difference"] == part["score"]["low"] == part["score"]["high"] == 0
            assert part["score"]["share_better"] == 0.5
            for entry in part["metrics"]:
                assert (entry["wins"], entry["losses"], entry["ties"]) == (0, 0, 10)
                assert entry["gap"]["verdict"] == "unclear"
            assert all(not entry["gains"] and not entry["losses"] for entry in part["extremes"])

    def test_the_largest_gains_and_losses_are_named(self, client: TestClient, database: Database) -> None:
        """Sorted by size, of the right sign, and lower is better where it is."""
        rows = rows_of(clips=3, categories=("speech",))
        changed = [shifted([row], "stft", by)[0] for row, by in zip(rows, (0.5, -0.25, -0.75), strict=True)]
        with database.transaction(write=True) as session:
            store(session, "one", rows)
            store(session, "two", changed)
        (pair,) = compare(client, "one", "two")["pairs"]
        (found,) = [entry for entry in pair["datasets"][0]["extremes"] if entry["metric"] == "stft"]
        assert [(entry["clip"], entry["difference"]) for entry in found["gains"]] == [
            ("mini/clip002", pytest.approx(-0.75)),
            ("mini/clip001", pytest.approx(-0.25)),
        ]
        assert [entry["clip"] for entry in found["losses"]] == ["mini/clip000"]

    def test_disjoint_datasets_are_said_and_not_scored(self, board: TestClient) -> None:
        """Nothing is shared: the reason names both sides."""
        (pair,) = compare(board, "opus_12k", "other_clips")["pairs"]
        assert pair["datasets"] == pair["categories"] == []
        assert "another: only the first, other_clips, was run on it" in pair["reason"]

    def test_another_state_of_a_dataset_is_not_compared(self, board: TestClient) -> None:
        """The manifest hash decides, not the name."""
        (pair,) = compare(board, "opus_12k", "other_state")["pairs"]
        assert "manifest hashes differ" in pair["reason"]

    def test_another_version_of_a_metric_is_left_out(self, board: TestClient) -> None:
        """The metric is named with both versions, and the overall score that needs it is missing."""
        (pair,) = compare(board, "opus_12k", "other_version")["pairs"]
        assert pair["left_out"] == [{"what": "pesq", "reason": "defined differently: version 0 and version 1"}]
        scores = {part["category"]: part["score"] for part in pair["datasets"]}
        assert scores["speech"] is None
        assert scores["audio"] is not None

    def test_the_newest_public_version_stands_for_a_codec(self, client: TestClient, database: Database) -> None:
        """A pending version changes nothing; once published it replaces what was kept in memory."""
        rows = rows_of()
        with database.transaction(write=True) as session:
            store(session, "opus_12k", rows)
            store(session, "opus_same", rows)
            newer = store(session, "opus_same", shifted(rows, "pesq", 0.5), status="pending").id
        (pair,) = compare(client, "opus_12k", "opus_same")["pairs"]
        assert metric(pair, "speech", "pesq")["gap"]["difference"] == 0
        with database.transaction(write=True) as session:
            session.get_one(Submission, newer).status = "verified"
            bump_revision(session)
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        found = compare(client, "opus_12k", "opus_same")
        assert found["codecs"][1]["version"] == 2
        assert metric(found["pairs"][0], "speech", "pesq")["gap"]["difference"] == pytest.approx(0.5)

    def test_an_unknown_name_answers_with_near_ones(self, board: TestClient) -> None:
        """A slip of the finger is met with what was meant."""
        body = compare(board, "opus_12k", "opus_beter", expect=404)
        assert body["problems"][0]["how_to_fix"].startswith("did you mean opus_better")

    def test_a_hidden_codec_is_unknown(self, board: TestClient) -> None:
        """What is not public is not told apart from what does not exist, nor suggested."""
        body = compare(board, "opus_12k", "hidden", expect=404)
        assert "did you mean hidden" not in body["detail"]

    @pytest.mark.parametrize(
        "name",
        ["\x00", "a\x00b", "\ud7ff\u202e", "'; DROP TABLE codecs; --", "../../etc/passwd", "x" * 5000, "%s%n", "😀"],
    )
    def test_odd_names_are_unknown(self, board: TestClient, name: str) -> None:
        """Whatever is asked for, on either database."""
        assert compare(board, "opus_12k", name, expect=404)["error"] == "NotFound"
        where = {"codec": ["opus_12k"], "dataset": name[:200], "clip": name[:200]}
        assert board.get("/api/v1/compare/clip", params=where).status_code == 404

    @pytest.mark.parametrize("names", [(), ("opus_12k",), ("opus_12k", "opus_12k", " ")])
    def test_fewer_than_two_are_refused(self, board: TestClient, names: tuple[str, ...]) -> None:
        """Repetitions and blanks do not count."""
        assert compare(board, *names, expect=400)["error"] == "BadRequest"

    def test_more_than_six_are_refused(self, board: TestClient) -> None:
        """The answer says how many must go."""
        body = compare(board, *(f"codec_{number}" for number in range(8)), expect=400)
        assert body["detail"] == "expected 2 to 6 codecs, got 8; leave out 2"

    def test_six_are_compared_with_the_first(self, board: TestClient) -> None:
        """Five pairs, all against the baseline."""
        names = ("opus_12k", "opus_same", "opus_better", "other_clips", "other_state", "other_version")
        found = compare(board, *names)
        assert [(pair["codec"], pair["baseline"]) for pair in found["pairs"]] == [
            (name, "opus_12k") for name in names[1:]
        ]


class TestRates:
    """Bjøntegaard deltas between families."""

    def test_half_the_bits_for_the_same_score(self, client: TestClient, database: Database) -> None:
        """A family with the scores of another at half the bitrate needs 50 % fewer bits, over all its codecs."""
        with database.transaction(write=True) as session:
            for step, quality in enumerate((0.0, 0.3, 0.6)):
                rows = rows_of(quality=quality)
                twice = [row.model_copy(update={"bits": 2 * (row.bits or 0) * 2**step}) for row in rows]
                once = [row.model_copy(update={"bits": (row.bits or 0) * 2**step}) for row in rows]
                store(session, f"big_{step}", twice, family="big")
                store(session, f"small_{step}", once, family="small")
        found = compare(client, "big_0", "small_2")
        rates = {(rate["category"], rate["family"]): rate for rate in found["rates"]}
        assert rates["speech", "small"]["rate_percent"] == pytest.approx(-50)
        assert rates["speech", "big"]["rate_percent"] == pytest.approx(100)
        assert rates["music", "small"]["points"] == [3, 3]

    def test_a_pair_without_a_number_has_a_reason(self, client: TestClient, database: Database) -> None:
        """One codec a family makes no curve."""
        with database.transaction(write=True) as session:
            store(session, "one", rows_of(1), family="one")
            store(session, "two", rows_of(2), family="two")
        found = compare(client, "one", "two")
        assert {rate["rate_percent"] for rate in found["rates"]} == {None}
        assert "expected at least 2 rising points" in found["rates"][0]["reason"]

    def test_codecs_on_other_datasets_are_on_no_curve(self, client: TestClient, database: Database) -> None:
        """They are named with the reason."""
        with database.transaction(write=True) as session:
            store(session, "one", rows_of(1), family="one")
            store(session, "two", rows_of(2), family="two")
            store(session, "two_elsewhere", rows_of(2, dataset="another"), family="two")
        notes = compare(client, "one", "two")["rates_left_out"]
        assert {note["codec"] for note in notes} == {"two_elsewhere"}
        assert notes[0]["reason"] == "not on the datasets that most senders have: mini"


class TestFigure:
    """``GET /api/v1/compare/figure``."""

    def test_shows_what_the_comparison_says(self, board: TestClient) -> None:
        """The marks of a metric stand at the differences."""
        answer = board.get(f"{API}/figure", params={"codec": ["opus_12k", "opus_better"], "metric": "pesq"})
        (trace,) = answer.json()["data"]
        assert trace["x"] == [pytest.approx(0.25)] * 3

    def test_an_unknown_metric_lists_those_there_are(self, board: TestClient) -> None:
        """Instead of an empty figure."""
        answer = board.get(f"{API}/figure", params={"codec": ["opus_12k", "opus_better"], "metric": "nonsense"})
        assert answer.status_code == 404
        assert "there are score, stft, mel, pesq, stoi, f0corr" in answer.json()["detail"]


class TestLimit:
    """Computations are counted, kept answers are not."""

    def test_only_misses_count(self, client: TestClient, database: Database) -> None:
        """A thousand repetitions of one question cost one computation."""
        with database.transaction(write=True) as session:
            store(session, "one", rows_of(1))
            store(session, "two", rows_of(2))
        client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
        limiter_hits = []
        for _ in range(3):
            compare(client, "one", "two")
            limiter_hits.append(counted_requests(client))
        assert limiter_hits == [1, 1, 1]
