"""The overall score, and the evidence from the published tables that it is the published one.

The two CSV files of figures are the benchmark's tables 3 and 6 to 8, and the published per-metric re-run on a smaller
sample.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.metrics.errors import MetricError, MissingMetric
from codec_superb.metrics.overall import category_score, dataset_score, normalise
from codec_superb.metrics.table import CATEGORIES, METRICS, Category, overall_metrics

DATA = Path(__file__).parent / "data"
ENCODEC = {"E1": "1_5bps", "E2": "3bps", "E3": "6bps", "E4": "12bps", "E5": "24bps"}
"""The codec whose sampling-rate handling is the same in both sources."""
WITHIN: dict[Category, float] = {"speech": 0.007, "audio": 0.005, "music": 0.016}


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of one of the published tables."""
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def published(identifier: str, category: Category) -> float:
    """Return an overall score of Table 3."""
    row = next(row for row in rows("codec_superb_table3.csv") if row["id"] == identifier)
    return float(row[f"overall_{category}"])


def re_run(identifier: str, category: Category) -> dict[str, np.ndarray]:
    """Return the per-metric means of the published re-run."""
    codec = f"encodec_24k_{ENCODEC[identifier]}"
    found = rows("codec_superb_tiny_upstream.csv")
    row = next(row for row in found if row["codec"] == codec and row["category"] == category)
    return {key: np.array(float(row[key])) for key in ("stft", "mel", "pesq", "stoi", "f0corr")}


def largest_miss(category: Category, score: Callable[[dict[str, np.ndarray], Category], float]) -> float:
    """Return the largest difference from Table 3 over the five bitrates."""
    return max(abs(float(score(re_run(name, category), category)) - published(name, category)) for name in ENCODEC)


def other_reading(distance_to_score: Callable[[float], float]) -> Callable[[dict[str, np.ndarray], Category], float]:
    """Return the dataset score with another normalisation of the distances."""

    def score(means: dict[str, np.ndarray], category: Category) -> float:
        parts = [
            distance_to_score(float(means[key])) if key in ("stft", "mel") else float(normalise(key, means[key]))
            for key in overall_metrics(category)
        ]
        return len(parts) / sum(1 / part for part in parts)

    return score


def sigmoid(value: float) -> float:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-value))


@pytest.mark.parametrize("category", CATEGORIES)
def test_five_bitrates_of_encodec_come_back(category: Category) -> None:
    """Evidence 1: from per-metric means of another sample of clips the published scores come back."""
    assert largest_miss(category, dataset_score) <= WITHIN[category]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize(
    "reading",
    [
        lambda d: 1.5 - sigmoid(d),
        lambda d: 1 - sigmoid(d),
        lambda d: 2 * (1 - sigmoid(d)),
        lambda d: np.exp(-d),
        lambda d: 1 / (1 + d),
    ],
    ids=["1.5-sigmoid", "1-sigmoid", "2(1-sigmoid)", "exp(-d)", "1/(1+d)"],
)
def test_every_other_reading_misses_by_more(category: Category, reading: Callable[[float], float]) -> None:
    """Evidence 1: the nearest other readings of the paper's words are all further away."""
    assert largest_miss(category, other_reading(reading)) > max(largest_miss(category, dataset_score), WITHIN[category])


def by_codec(category: Category) -> dict[str, dict[str, float]]:
    """Return Tables 6 to 8 as codec -> dataset -> score."""
    table: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows("codec_superb_tables6_to_8.csv"):
        if row["category"] == category:
            table[row["id"]][row["dataset"]] = float(row["overall_score"])
    return table


@pytest.mark.parametrize(("category", "datasets", "within"), [("speech", 10, 0.0007), ("audio", 4, 0.0006)])
def test_harmonic_mean_over_datasets_gives_the_published_categories(
    category: Category, datasets: int, within: float
) -> None:
    """Evidence 2: all nineteen category scores of the speech and audio tables come back to rounding."""
    table = by_codec(category)
    assert len(table) == 19
    for scores in table.values():
        overall = scores.pop("overall")
        assert len(scores) == datasets
        assert float(category_score([np.array(score) for score in scores.values()])) == pytest.approx(
            overall, abs=within
        )


@pytest.mark.parametrize(
    ("category", "harmonic", "geometric", "arithmetic"),
    [("speech", 0.00066, 0.00228, 0.00420), ("audio", 0.00058, 0.00054, 0.00050)],
)
def test_only_the_speech_table_tells_the_means_apart(
    category: Category, harmonic: float, geometric: float, arithmetic: float
) -> None:
    """Evidence 2: other means miss the speech table by several times as much, and fit the audio table as well."""
    means: dict[Callable[[np.ndarray], float], float] = {
        lambda scores: float(category_score(list(scores))): harmonic,
        lambda scores: float(np.exp(np.log(scores).mean())): geometric,
        lambda scores: float(scores.mean()): arithmetic,
    }
    for mean, miss in means.items():
        misses = [
            abs(mean(np.array([score for name, score in scores.items() if name != "overall"])) - scores["overall"])
            for scores in by_codec(category).values()
        ]
        assert max(misses) == pytest.approx(miss, abs=5e-6)


def test_table_3_and_the_tables_by_dataset_differ_once() -> None:
    """The category scores that are printed twice agree, but for the audio score of F2."""
    twice = {
        (name, category): (scores["overall"], published(name, category))
        for category in CATEGORIES
        for name, scores in by_codec(category).items()
    }
    assert len(twice) == 57
    assert {key: pair for key, pair in twice.items() if pair[0] != pair[1]} == {("F2", "audio"): (0.583, 0.582)}


def test_the_music_table_lacks_one_dataset() -> None:
    """Evidence 2: five of the six music datasets are printed, so that their mean misses the published overall."""
    misses = []
    for scores in by_codec("music").values():
        overall = scores.pop("overall")
        assert len(scores) == 5
        misses.append(abs(float(category_score([np.array(score) for score in scores.values()])) - overall))
    assert len(misses) == 19
    assert max(misses) > 0.005


def test_worked_numbers() -> None:
    """The numbers of the docstrings hold, and the ends of each range."""
    assert normalise("stft", np.array(2.0)) == pytest.approx(0.6225, abs=1e-4)
    assert normalise("mel", np.array(0.0)) == 1.0
    assert normalise("mel", np.array(1e12)) == pytest.approx(0.5)
    assert normalise("pesq", np.array(2.0)) == 0.5
    assert normalise("pesq", np.array(4.6438885)) == 1.0
    assert normalise("f0corr", np.array(-0.3)) == 0.0
    assert normalise("stoi", np.array(0.7)) == 0.7


def test_a_missing_metric_is_never_averaged_away() -> None:
    """Without one of the category's metrics there is no score; the text names the missing one."""
    with pytest.raises(MissingMetric, match=r"music needs stft, mel, pesq, stoi, f0corr; f0corr missing"):
        dataset_score({key: np.array(1.0) for key in ("stft", "mel", "pesq", "stoi")}, "music")


def test_metrics_without_a_part_change_nothing() -> None:
    """Further metrics in the mapping are ignored."""
    means = {"stft": np.array(2.0), "mel": np.array(1.0)}
    assert dataset_score({**means, "sdr": np.array(9.0)}, "audio") == dataset_score(means, "audio")


def test_what_cannot_be_normalised_is_an_error() -> None:
    """A metric without a normalisation, a negative distance and an empty list of datasets are refused."""
    with pytest.raises(MetricError, match="si_sdr"):
        normalise("si_sdr", np.array(3.0))
    with pytest.raises(MetricError, match="never negative; got -1"):
        normalise("stft", np.array([1.0, -1.0]))
    with pytest.raises(MetricError, match="at least one"):
        category_score([])


def test_replicates_go_through_at_once() -> None:
    """Arrays of bootstrap replicates give what each replicate gives alone; a zero makes its mean zero."""
    means = {"stft": np.array([1.0, 2.0]), "mel": np.array([0.5, 3.0]), "pesq": np.array([2.0, -0.5])}
    means["stoi"] = np.array([0.9, 0.5])
    together = dataset_score(means, "speech")
    alone = [dataset_score({key: value[i] for key, value in means.items()}, "speech") for i in range(2)]
    np.testing.assert_array_equal(together, alone)
    assert together[1] == 0.0


def test_an_undefined_mean_stays_undefined() -> None:
    """NaN in gives NaN out: no mean is no score."""
    assert np.isnan(dataset_score({"stft": np.array(np.nan), "mel": np.array(1.0)}, "audio"))


@given(st.sampled_from([key for key, row in METRICS.items() if row.overall]), st.floats(-2, 60), st.floats(-2, 60))
def test_normalised_scores_are_ordered_and_bounded(key: str, first: float, second: float) -> None:
    """Every normalised value lies in [0, 1], and the better value never scores less."""
    row = METRICS[key]
    values = np.clip([first, second], row.minimum, row.maximum)
    scores = normalise(key, values)
    assert ((scores >= 0) & (scores <= 1)).all()
    if (values[0] < values[1]) == row.higher_is_better:
        scores = scores[::-1]
    assert scores[0] >= scores[1]
