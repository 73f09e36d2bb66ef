"""Tables and sentences of a codec's page, from typed rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.web.report import make_points, make_results
from support.web.results import changed, estimate, score

from codec_superb.metrics.results import Operations, StepOperations
from codec_superb.web.figures.distribution import Quantiles
from codec_superb.web.rows import CodecResult
from codec_superb.web.site.codec.tables import (
    band_sentence,
    efficiency_table,
    headline,
    metric_choices,
    operations_table,
    result_table,
    spread_table,
)
from codec_superb.web.site.codec.view import BandNeighbour, BandView, CategoryView, CodecView, DatasetResult, Spread


def result(**changes: object) -> CodecResult:
    """Make the results of one codec in speech."""
    found = next(row for row in make_results(make_points("speech", 12)) if row.codec == "opus_12k")
    return changed(found, **changes)


def category(overall: CodecResult, *parts: CodecResult, band: BandView | None = None) -> CategoryView:
    """Make the view of a category."""
    datasets = [DatasetResult(f"set{at}", f"Set {at}", part) for at, part in enumerate(parts)]
    return CategoryView("speech", overall, datasets, axes=(), band=band, spreads=())


def words(rows: object) -> str:
    """Write a table's cells in a line."""
    return " | ".join(f"{cell.text} {cell.small} {cell.warning}" for row in rows for cell in row)  # type: ignore[attr-defined]  # rows of a table


class TestResults:
    """A row per metric."""

    def test_one_dataset_is_not_repeated(self) -> None:
        """Its column is that over all datasets; with two, both and their mean are shown."""
        one, two = result(), result()
        assert [head.text for head in result_table(category(one, one)).heads] == ["Metric", "Set 0"]
        heads = [head.text for head in result_table(category(one, one, two)).heads]
        assert heads == ["Metric", "All datasets", "Set 0", "Set 1"]

    def test_what_gave_no_value_is_counted(self) -> None:
        """Undefined and failed clips stand beside the mean, and a metric that was not computed says so."""
        metrics = {"pesq": estimate(2.5, 2.4, 2.6, n=7, undefined=1, failed=2), "stoi": estimate(None, undefined=10)}
        text = words(result_table(category(result(metrics=metrics, complete=False, clips=10, failed=2))).rows)
        assert "2.50 [2.40, 2.60] n = 7 1 clip undefined, 2 clips failed" in text
        assert "– n = 0 10 clips undefined" in text
        assert "8 of 10  partial: 2 clips failed" in text
        other = words(result_table(category(result(metrics=metrics), result(metrics={}), result())).rows)
        assert "– not computed" in other

    def test_says_which_metrics_make_the_score(self) -> None:
        """F0 correlation takes no part in the score of speech."""
        rows = {row[0].text: row[0].small for row in result_table(category(result())).rows}
        assert rows["PESQ"] == "MOS-LQO, higher is better; in the overall score"
        assert rows["STFT distance"].startswith("lower is better; in the")


ENDS = "within 8.00 to 18.0 kbps measured (a factor of 1.5 either way)"
MEDIAN = "the dotted line their median, where an account has one vote for what nobody ran again."
RING = f"The grey ring is their range, {MEDIAN}"


ELSEWHERE = "measured on other datasets or clips, by other definitions, or without counted bits"


@pytest.mark.parametrize(
    ("members", "elsewhere", "sentence"),
    [
        (0, 0, f"No other codec with public results on the same datasets lies {ENDS}."),
        (1, 0, f"The band: 1 other codec {ENDS}, on the same datasets. {RING}"),
        (2, 6, f"The band: 2 other codecs {ENDS}, on the same datasets; 6 more {ELSEWHERE}. {RING}"),
    ],
)
def test_band_in_a_sentence(members: int, elsewhere: int, sentence: str) -> None:
    """Who is compared with, and who is not."""
    near = [BandNeighbour(f"c{at}", f"C {at}", 12.0, "verified") for at in range(members)]
    assert band_sentence(BandView(8.0, 18.0, 1.5, near, elsewhere)) == sentence


def test_quantiles_have_the_digits_of_their_metric() -> None:
    """STOI to three digits, PESQ to two; a dataset by its title."""
    summary = Quantiles(9, 0.1234, 0.2, 0.3, 0.4, 0.5, 0.6, 0.98765)
    table = spread_table([Spread("set0", "stoi", summary)], category(result(), result()).datasets)
    assert [cell.text for cell in table.rows[0]] == [
        "STOI", "9", "0.123", "0.200", "0.300", "0.400", "0.500", "0.600", "0.988",
    ]  # fmt: skip
    assert table.rows[0][0].small == "Set 0"


def test_efficiency_has_a_row_per_category_and_dataset() -> None:
    """Factors with three digits, a dash for what is not known."""
    row = result(encode_rtf=0.012345, decode_rtf=None, compression_ratio=21.3, largest_lag=2, clipped_samples=12345)
    ((head, *cells),) = efficiency_table([category(row, row)]).rows
    assert (head.text, head.small) == ("Speech", "Set 0")
    assert [cell.text for cell in cells][1:5] == ["0.0123", "–", "21.3", "0.0235"]
    assert [cell.text for cell in cells][6:8] == ["–", "–"]
    assert [cell.text for cell in cells][-2:] == ["2", "12,345"]


def test_operations_are_means_over_datasets_and_lower_bounds_are_marked() -> None:
    """A mean only where all datasets have a number; what was not counted, or could not be, is said."""
    known, partial = StepOperations(per_second=2e9), StepOperations(per_second=4e9, unseen=("_trilinear",))
    one = Operations(backend="torch.utils.flop_counter", clip="a.wav", seconds=5, encode=known, decode=known)
    two = one.model_copy(update={"encode": partial, "decode": StepOperations(reason="the codec only encodes")})
    row = replace(result(datasets=("set0", "set1")), operations={"set0": one, "set1": two})
    ((_, *cells),) = efficiency_table([category(row, row)]).rows
    assert [cell.text for cell in cells][6:8] == ["≥ 3.00", "–"]
    table = operations_table([category(row)])
    assert table is not None
    assert [[(cell.text, cell.small) for cell in line] for line in table.rows] == [
        [("set0", "a.wav, 5 s"), ("torch.utils.flop_counter", ""), ("2.00", ""), ("2.00", "")],
        [("set1", "a.wav, 5 s"), ("torch.utils.flop_counter", ""), ("≥ 4.00", "without _trilinear"),
         ("–", "undefined: the codec only encodes")],
    ]  # fmt: skip
    assert replace(row, operations={"set0": one}).flops("encode") is None
    assert operations_table([category(result())]) is None


def test_choices_are_addresses_of_figures() -> None:
    """A picker of charts takes addresses."""
    assert metric_choices(["pesq"], "/f?category=speech") == [("/f?category=speech&metric=pesq", "PESQ (MOS-LQO)")]


def test_sections_are_those_with_content_and_comparison_is_with_the_nearest() -> None:
    """Without results, samples or history there is nothing to lead to."""
    empty = CodecView("a b", "A", "f", "", (), None, ())
    assert (empty.sections, empty.compare_url) == ([], None)
    band = BandView(
        8.0,
        18.0,
        1.5,
        [BandNeighbour("far", "Far", 9.0, "verified"), BandNeighbour("n&r", "Near", 12.1, "verified")],
        0,
    )
    many = [BandNeighbour(f"c{n}", f"C{n}", 12.0 + n / 10, "verified") for n in range(-15, 16) if n]
    crowded = category(result(kbps=12.0), result(), band=replace(band, members=many))
    assert [each.kbps for each in crowded.nearest] == [12.0 + n / 10 for n in (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)]
    assert headline(category(result(kbps=12.04, score=score(0.8, 0.79, 0.81)))) == (
        "score 0.800 [0.790, 0.810], 12.0 kbps"
    )
    full = replace(empty, categories=(category(result(kbps=12.0), result(), band=band),))
    assert [anchor for anchor, _ in full.sections] == ["results", "efficiency"]
    assert full.compare_url == "/compare?codec=a+b&codec=n%26r"
