"""Too good where fewer than ten other senders are: published results are the measure, of a score and of each metric."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select
from support.server.warned import publish, warned

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.server.database.models import Codec
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.score_envelope import ComparedResult, crowd, likely, published_results


@pytest.mark.parametrize(
    ("metric", "mean", "too_good"),
    [("pesq", 4.62, True), ("pesq", 3.5, False), ("mel", 0.026, True), ("mel", 0.5, False), ("stft", 0.025, True),
     ("stoi", 0.999, True), ("stoi", 0.9, False)],
)  # fmt: skip
def test_one_metric_too_good(database: Database, metric: str, mean: float, *, too_good: bool) -> None:
    """First by one metric, whatever the score: no codec of 3.2 kbps has PESQ of 4.6 or such a distance."""
    found = warned(
        database, "mine", 3.2, score=0.6, card={"nominal_kbps": 3.2}, metrics={metric: mean},
        datasets={"mini": ["music"]},
    )  # fmt: skip
    label = METRICS[metric].label
    assert any(each["kind"] == "too good" and each["text"].startswith(label) for each in found) == too_good


@pytest.mark.parametrize(
    ("kbps", "score", "too_good"),
    [(0.05, 0.959, True), (3.2, 0.96, True), (3.2, 0.8, False), (12.0, 0.85, False), (64.0, 0.95, False)],
)
def test_too_good_on_a_young_board(database: Database, kbps: float, score: float, *, too_good: bool) -> None:
    """The first of all are measured by what was published: eight codecs of six accounts leave any score unlikely."""
    for number in range(8):
        publish(database, f"other{number}_x", 6.0 * 1.5**number, 0.60 + 0.03 * number, owner=f"lab {number % 6}")
    found = warned(database, "mine", kbps, score=score, card={"nominal_kbps": kbps}, owner="mallory")
    assert ("too good" in {each["kind"] for each in found}) == too_good


def test_ten_classical_codecs_are_no_neural_one(database: Database) -> None:
    """A crowd of codecs with fewer bits, or of another kind, leaves what was published likely, and no more.

    The first rows of a board are classical codecs of its maintainers, verified; DAC at 6 kbps has 0.833.
    """
    for number in range(10):
        publish(database, f"old{number}_x", 5.0 + 0.4 * number, 0.5, owner="ann", status="verified")
    for kbps, score, too_good in ((6.0, 0.83, False), (0.5, 0.8, True), (0.1, 0.6, True), (1.0, 0.7, False)):
        found = warned(database, f"nac{1000 * kbps:.0f}", kbps, score=score, owner="bob")
        texts = [each["text"] for each in found if each["kind"] == "too good"]
        assert any(text.startswith("scores") for text in texts) == too_good, (kbps, texts)


def test_telephone_codecs_at_many_bits_are_no_measure(database: Database) -> None:
    """Above the published bitrates the best published stand beside a crowd, and more bits bring nothing."""
    for number in range(10):
        publish(database, f"tel{number}_x", 60.0 + number, 0.5, owner=f"lab {number}")
    for kbps, score, too_good in ((57.0, 0.95, False), (57.0, 0.999, True), (110.0, 0.95, False)):
        found = warned(database, f"mdct{1000 * kbps * score:.0f}", kbps, score=score, owner="bob")
        texts = [each["text"] for each in found if each["kind"] == "too good"]
        assert any(text.startswith("scores") for text in texts) == too_good, (kbps, texts)


@pytest.mark.parametrize("kbps", [0.1, 0.5, 1.0, 2.0, 6.0, 24.0])
@pytest.mark.parametrize("category", CATEGORIES)
def test_published_results_do_not_exceed_themselves(category: Category, kbps: float) -> None:
    """A crowd that is the tables lifts no limit of a metric: both are measured by the same slopes."""
    known = published_results(category)
    here = [replace(each, sender=each.codec, kind="neural") for each in known]
    assert likely(kbps, crowd(kbps, here), category) <= likely(
        kbps, [replace(each, kind="") for each in known], category
    )


def test_one_account_makes_nobody_too_good(database: Database) -> None:
    """Low results under ten names of the catalogue are of one sender, so that honest ones are measured by others."""
    for number in range(11):
        publish(database, f"name{number}_x", 18.0 + number, 0.42, owner="mallory")
    with database.transaction(write=True) as session:
        for codec in session.scalars(select(Codec)):
            codec.owner = None  # a name of the catalogue has none
    found = warned(database, "honest", 24.0, score=0.84, card={"nominal_kbps": 24.0}, owner="ann")
    assert "too good" not in {each["kind"] for each in found}


def test_ones_own_codecs_are_nobodys_measure() -> None:
    """Nine others and one's own are no crowd, wherever they lie: a ladder of one's own would lift itself."""

    def result(kbps: float, sender: str) -> ComparedResult:
        return ComparedResult(f"{sender}_{kbps}", "", "classical", kbps, 0.6, None, None, sender == "own", sender)

    nine = [result(3.0 + number, f"lab {number}") for number in range(9)]
    own = [result(4.0, "own"), result(0.5, "own")]
    assert crowd(3.0, [*nine, *own]) == []
    below = [result(0.5, f"small {number}") for number in range(5)]
    assert not any(other.own for other in crowd(3.0, [*nine, *own, *below]))
    assert len(crowd(3.0, [*nine, *own, *below])) >= 10
