"""Tables for a paper: columns by key, the best value marked as printed, and three ways to write them."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples
from support.web.report import make_points, make_results
from support.web.results import application_row, changed, estimate, score

from codec_superb.metrics.results import BitSource
from codec_superb.metrics.table import METRICS
from codec_superb.web.errors import PaperError
from codec_superb.web.figures.pareto import contenders, measured_of
from codec_superb.web.paper.columns import Block
from codec_superb.web.paper.figure import rate_figure
from codec_superb.web.paper.latex import latex_comment, latex_table, latex_text
from codec_superb.web.paper.plain import csv_table, markdown_table, markdown_text
from codec_superb.web.paper.table import Choices, PaperTable, paper_table
from codec_superb.web.quantity import from_metric
from codec_superb.web.rows import CodecResult, ProbeModel

RESULTS = make_results(make_points("speech", 6))
KEYS = ("codec", "kbps", "score", "pesq", "mel")


def block(results: list[CodecResult] | None = None, **fields: object) -> Block:
    """Make a block of speech."""
    return Block("speech", ("mini", "librispeech"), RESULTS if results is None else results, **fields)  # type: ignore[arg-type]


def with_pesq(values: dict[str, float]) -> list[CodecResult]:
    """Take a lossy codec of the results for each value of PESQ."""
    lossy = [row for row in RESULTS if not row.lossless]
    return [
        changed(
            replace(row, codec=name, title=name),
            metrics={"pesq": estimate(n=10, mean=mean, low=mean - 0.1, high=mean + 0.3)}, failed=0,
        )
        for row, (name, mean) in zip(lossy, values.items(), strict=False)
    ]  # fmt: skip


def marks(table: PaperTable, key: str) -> dict[str, str]:
    """Return the mark of each codec in a column."""
    (place,) = [n for n, column in enumerate(table.columns) if column.key == key]
    return {row.result.codec: row.cells[place].mark for of in table.blocks for row in of.rows}


def test_the_best_is_marked_as_it_is_printed() -> None:
    """2.514 and 2.511 are both 2.51 on paper, and both best; the second best is the next printed value."""
    rows = with_pesq({"a": 2.514, "b": 2.511, "c": 2.49, "d": 1.0})
    table = paper_table([block(rows)], Choices(("codec", "pesq"), second=True), METRICS)
    assert marks(table, "pesq") == {"a": "best", "b": "best", "c": "second", "d": ""}
    assert set(marks(table, "codec").values()) == {""}


def test_only_what_rests_on_the_same_clips_is_marked() -> None:
    """A ceiling, failed clips, other datasets or clips have better values here, and a sign in place of a mark."""
    ceiling, failing, elsewhere, other, usual, last = with_pesq(dict.fromkeys("abcdef", 4.0))
    rows = [
        replace(ceiling, lossless=True), changed(failing, failed=2), changed(elsewhere, datasets=("mini",)), other,
        changed(usual, metrics={"pesq": estimate(n=10, mean=2.0)}),
        changed(last, metrics={"pesq": estimate(n=10, mean=1.0)}),
    ]  # fmt: skip
    table = paper_table([block(rows, apart=frozenset({"d"}))], Choices(("codec", "pesq")), METRICS)
    assert {codec: mark for codec, mark in marks(table, "pesq").items() if mark} == {"e": "best"}
    signs = {row.result.codec: row.cells[0].note for row in table.blocks[0].rows}
    assert signs == {"a": "‡", "b": "†", "c": "§", "d": "§", "e": "", "f": ""}
    assert [note[0] for note in table.notes if note[0] in "†‡§"] == ["‡", "†", "§"]


def test_of_as_many_codecs_the_datasets_are_those_of_the_front() -> None:
    """A table marks no codec that the figure beside it leaves off the Pareto front."""
    rows = with_pesq({"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0})
    rows[2:] = [changed(row, datasets=("animals", "birds")) for row in rows[2:]]
    assert contenders([True] * 4, [True] * 4, [measured_of(row, "pesq") for row in rows]) == [2, 3]
    table = paper_table([block(rows)], Choices(("codec", "pesq")), METRICS)
    assert {codec for codec, mark in marks(table, "pesq").items() if mark} == {"c"}


@pytest.mark.parametrize(("source", "words"), [("declared", "declared"), ("unknown", "not stated")])
def test_a_bitrate_that_nobody_counted_is_no_best(source: BitSource, words: str) -> None:
    """The best value of a declared bitrate is neither bold nor second; sign, footnote and CSV say why."""
    best, *others = with_pesq({"a": 4.0, "b": 3.0, "c": 2.0})
    rows = [replace(best, bit_source=source), *others]
    table = paper_table([block(rows)], Choices(("codec", "pesq"), second=True), METRICS)
    assert marks(table, "pesq") == {"a": "", "b": "best", "c": "second"}
    assert [row.cells[0].note for row in table.blocks[0].rows if row.result.codec == "a"] == ["¶"]
    note = f"¶: bitrate {words}, not measured: never ranked with measured ones, and not marked."
    assert note in table.notes
    assert r"a\P{}" in latex_table(table)
    assert note in markdown_table(table)
    data = {row["codec"]: row for row in csv.DictReader(io.StringIO(csv_table(table)))}
    assert {name: row["bit_source"] for name, row in data.items()} == {"a": source, "b": "measured", "c": "measured"}


def test_a_distance_is_best_when_it_is_smallest() -> None:
    """The lossy codec with the smallest distance is marked, and sorting by it puts it first."""
    lossy = [row for row in RESULTS if not row.lossless and not row.summary.failed]
    table = paper_table([block(lossy)], Choices(("name", "mel"), sort="mel"), METRICS)
    least = min(lossy, key=lambda row: row.summary.metrics["mel"].mean or 0)
    assert marks(table, "mel")[least.codec] == "best"
    assert table.blocks[0].rows[0].result.codec == least.codec
    for key, first in (
        ("score", max(lossy, key=lambda row: row.summary.score.value or 0)),
        ("kbps", min(lossy, key=lambda row: row.kbps)),
    ):
        ordered = paper_table([block(lossy)], Choices(("name", "mel"), sort=key), METRICS)
        assert ordered.blocks[0].rows[0].result.codec == first.codec


def test_uncertainty() -> None:
    """Ends of the interval, or its longer arm; in CSV with all digits in columns of their own."""
    rows = with_pesq({"a": 2.5, "b": 2.0})
    spreads = {}
    for kind in ("none", "interval", "pm"):
        table = paper_table([block(rows)], Choices(("name", "pesq"), uncertainty=kind), METRICS)  # type: ignore[arg-type]
        spreads[kind] = {row.result.codec: row.cells[1].spread for row in table.blocks[0].rows}["a"]
        data = {row["name"]: row for row in csv.DictReader(io.StringIO(csv_table(table)))}
        assert float(data["a"]["pesq"]) == 2.5
        if kind == "interval":
            assert (float(data["a"]["pesq_low"]), float(data["a"]["pesq_high"])) == (2.4, 2.8)
        if kind == "pm":
            assert float(data["a"]["pesq_pm"]) == pytest.approx(0.3)
    assert spreads == {"none": "", "interval": "[2.40, 2.80]", "pm": "± 0.30"}


def test_applications_have_a_column_a_dataset_and_model() -> None:
    """One figure by two models becomes two columns, each with its own values."""
    rows = with_pesq({"a": 2.5, "b": 2.0})
    one, two = (ProbeModel(name, "a" * 64) for name in ("one", "two"))
    figures = [
        application_row("a", "mini", "asr_wer_pct", model, 1.0, score(5.0), score(10.0), score(5.0), n=3)
        for model in (one, two)
    ]
    table = paper_table([block(rows, applications=figures)], Choices(("codec", "asr_wer_pct")), METRICS)
    assert [column.key for column in table.columns[1:]] == [f"asr_wer_pct:{model.name}" for model in (one, two)]
    assert all(row.cells[1].value.number is None for row in table.blocks[0].rows if row.result.codec == "b")
    single = paper_table([block(rows, applications=figures[:1])], Choices(("codec", "asr_wer_pct=WER")), METRICS)
    assert [column.label for column in single.columns] == ["Codec", "WER"]


def test_latex_is_as_booktabs_has_it() -> None:
    """Rules, as many cells in each row as columns, bold and underlined values, arrows to the better end."""
    table = paper_table([block(), block()], Choices(KEYS, uncertainty="interval", second=True), METRICS)
    text = latex_table(table, ["mini: 6 clips"])
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[:2] == [r"\begin{tabular}{@{}lrrrr@{}}", r"\toprule"]
    assert body[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [line for line in body if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {len(KEYS) - 1}
    assert len(rows) == 2 + 2 * len(RESULTS)
    assert text.count(r"\textbf{") == text.count(r"\underline{") == 2 * 3
    assert r"MOS-LQO $\uparrow$ & $\downarrow$" in text
    assert "% mini: 6 clips\n" in text
    assert latex_text('12" mix') == "12'' mix"  # OT1, the encoding of a document that says none, has no straight one


def test_a_wrong_column_and_one_without_values() -> None:
    """The message names what is meant, or what to do."""
    with pytest.raises(PaperError, match="got 'pesk'; did you mean pesq"):
        paper_table([block()], Choices(("pesk",)), METRICS)
    with pytest.raises(PaperError, match="expected a value of asr_wer_pct in the results, got none"):
        paper_table([block()], Choices(("codec", "asr_wer_pct")), METRICS)
    undefined = [changed(row, metrics={"pesq": estimate(undefined=10, mean=None)}) for row in RESULTS]
    with pytest.raises(PaperError, match="got none: it is undefined on every clip: leave the column out"):
        paper_table([block(undefined)], Choices(("codec", "pesq")), METRICS)
    with pytest.raises(PaperError, match="a value of pesq, got none: it is undefined on every clip"):
        rate_figure([block(undefined)], from_metric(METRICS["pesq"]), "one", "pdf")
    with pytest.raises(PaperError, match="expected a value of at least one codec"):
        paper_table([], Choices(), METRICS)


@given(st.text(max_size=30))
@examples(200)
def test_any_name_is_text(name: str) -> None:
    """No name is a command, a comment, a cell, a line or a formula, whatever it holds."""
    made = re.sub(
        r"\\(?:[%&#_{}$SP]|text\w+\{\}|ldots\{\})|\$[\\^\w-]+\$|\{[-\[*]\}", "", latex_text(name).replace(r"$-$", "")
    )
    assert not set(made.replace("{}", "")) & set("\\%&#_$^{}\n\r")
    assert "--" not in made
    assert "\n" not in latex_comment(name)[:-1]
    assert not re.search(r"(?<!\\)(?:\\\\)*[|*_`<>\[\]]", markdown_text(name))
    row = replace(RESULTS[0], title=name)
    table = paper_table([block([row])], Choices(("codec", "score")), METRICS)
    (cell,) = [line["codec"] for line in csv.DictReader(io.StringIO(csv_table(table), newline=""))]
    seen = (each for each in name if unicodedata.category(each) not in {"Cc", "Cf", "Zs"})
    begins = name[:1] in "\t\r\n" or unicodedata.normalize("NFKC", next(seen, " "))[0] in "=+-@\u2212"
    assert cell == name or (cell == f"'{name}" and begins)
    assert markdown_table(table).count("\n| ") + 1 >= 3
