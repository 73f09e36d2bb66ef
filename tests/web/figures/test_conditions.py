"""Charts and tables of conditions: what stands where, and that nothing hides another."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.profile import examples
from support.web.results import estimate, score, summary

from codec_superb.web.conditions import by_category, condition_parts
from codec_superb.web.figures.conditions import Series, Value, multiple
from codec_superb.web.quantity import SCORE, Quantity
from codec_superb.web.rows import CodecResult, ConditionInfo, ConditionResult
from codec_superb.web.theme import family_styles

ERRORS = Quantity("wer", "Word errors", "%", higher_is_better=False, decimals=1)


def info(strength: float, kind: str = "loss", *, grows: bool = True, reference: str = "clean") -> ConditionInfo:
    """Describe a condition."""
    return ConditionInfo(
        name=f"{kind}:{strength:g}", kind=kind, label=f"{kind} label", place="payload", axis=f"{kind} (%)",
        strength=strength, grows=grows, definition="what is done", reference=reference,
    )  # fmt: skip


def row(codec: str, value: float, of: ConditionInfo | None = None, *, failed: int = 0) -> ConditionResult:
    """Make a result of a codec; clean without ``of``."""
    its = summary(score=score(value, value - 0.05, value + 0.05), clips=10, failed=failed, complete=not failed)
    result = CodecResult(codec, codec.title(), codec.partition("_")[0], 12.0, lossless=False, summary=its)
    return ConditionResult(result, of or ConditionInfo())


def of(codec: str, value: float, where: str, sender: str, strength: float = 5, *, failed: int = 0) -> ConditionResult:
    """Make a result of a sender on a dataset."""
    made = row(codec, value, info(strength), failed=failed)
    its = made.result.summary.model_copy(update={"datasets": (where,)})
    return replace(made, result=replace(made.result, summary=its, sender=sender, states={where: "aa"}))


def otherwise(row: ConditionResult, **changes: Any) -> ConditionResult:
    """Return the same, measured otherwise."""
    return replace(row, result=replace(row.result, **changes))


def test_values_stand_by_strength_with_the_clean_one_first() -> None:
    """From weak to strong: a loss grows, a signal-to-noise ratio falls; each has its bar and its line in the table."""
    rows = [row("opus_12k", 0.9 - share / 100, info(share)) for share in (20, 1, 5)]
    rows += [row("opus_12k", 0.5 + ratio / 100, info(ratio, "noise", grows=False)) for ratio in (5, 20, 10)]
    loss, noise = condition_parts([row("opus_12k", 0.95)], rows, family_styles(["opus"]))
    assert [text for _, text in loss.charts[0].columns] == ["clean", "1", "5", "20"]
    assert [text for _, text in noise.charts[0].columns] == ["clean", "20", "10", "5"]
    for part in (loss, noise):
        (line,) = part.charts[0].lines
        heights = [mark.y for mark in line.marks]
        assert heights == sorted(heights)
        assert all(left.x < right.x for left, right in pairwise(line.marks))
        assert all(mark.top < mark.y < mark.bottom for mark in line.marks if mark.top and mark.bottom)
    assert [line.condition for line in loss.lines] == ["clean", "loss:1", "loss:5", "loss:20"]
    assert [line.cells[0].text for line in loss.lines] == ["0.950", "0.890", "0.850", "0.700"]
    assert loss.charts[0].lines[0].marks[1].title == "opus_12k, 1: 0.890 [0.840, 0.940]"


def test_a_few_clips_are_no_whole_result_in_the_table() -> None:
    """A line that does not rest on all clips says on how many, beside whose it is."""
    few = row("odd", 0.9, info(5))
    its = few.result.summary.model_copy(update={"complete": False, "ok": 3, "clips": 3})
    few = replace(few, result=replace(few.result, summary=its))
    (part,) = condition_parts([], [replace(few, source="self-reported by eve"), row("opus_12k", 0.9, info(5))],
                              family_styles(["odd", "opus"]))  # fmt: skip
    assert [line.source for line in part.lines] == ["self-reported by eve, incomplete: 3 clips", ""]


def test_odd_strengths_leave_room_for_the_usual_ones() -> None:
    """However many one sender has: what fits is drawn, the usual first, then those of most; the table has all."""
    rows = [row("odd", 0.8, info(10 + share / 7)) for share in (*range(1, 30), 40.6)]
    rows += [row("opus_12k", 0.7, replace(info(share), usual=True)) for share in (1, 5, 20)]
    rows += [row(codec, 0.6, info(33.3)) for codec in ("opus_12k", "gsm")]
    (part,) = condition_parts([], rows, family_styles(["odd", "opus", "gsm"]))
    columns = [text for _, text in part.charts[0].columns]
    assert columns == ["clean", "1", "5", "11", "12", "13", "20", "33.3"]
    assert part.note == "what is done; Overall score on mini; 27 unusual strengths in the numbers alone"
    assert len(part.lines) == 35
    (alone,) = condition_parts([], [row("odd", 0.8, info(10.1234567))], family_styles(["odd"]))
    assert [text for _, text in alone.charts[0].columns] == ["clean", "10.1235"]


def test_a_codec_that_was_not_run_under_a_condition_is_not_drawn_there() -> None:
    """Nor is its clean value; one without a clean value begins at its first strength."""
    rows = [row("opus_12k", 0.8, info(5)), row("gsm", 0.4, info(9, "bits"))]
    parts = condition_parts([row("opus_12k", 0.9), row("mp3_64k", 0.9)], rows, family_styles(["opus", "gsm", "mp3"]))
    names = {part.title: [(line.name, len(line.marks)) for line in part.charts[0].lines] for part in parts}
    assert names == {"bits label": [("gsm", 1)], "loss label": [("opus_12k", 2)]}


def test_failures_are_told_and_the_reference_too() -> None:
    """A result with failed clips is an open mark, counted in the table; comparing with the input is another part."""
    rows = [row("opus_12k", 0.8, info(5), failed=3), row("opus_12k", 0.9, info(5, reference="input"))]
    clean, given_input = condition_parts([row("opus_12k", 0.9)], rows, family_styles(["opus"]))
    assert [mark.complete for mark in clean.charts[0].lines[0].marks] == [True, False]
    assert [line.failed for line in clean.lines] == ["", "3 of 10"]
    assert given_input.title == "loss label (against the input)"
    assert given_input.note == "what is done; compared with the sound that the codec was given; Overall score on mini"


def test_a_chart_holds_equal_measurements_alone() -> None:
    """What most senders have, however many one has; others are in the numbers, with why; nothing of them stretches."""
    honest = [of("opus_12k", 0.7, "mini", "ann"), of("gsm", 0.5, "mini", "bob")]
    many = [of(f"eve_{n}", 0.99, "easy", "eve", strength=n + 1) for n in range(9)]
    (part,) = condition_parts([row("eve_1", 0.9)], [*honest, *many], family_styles(["opus", "gsm", "eve"]))
    (chart,) = part.charts
    assert [line.name for line in chart.lines] == ["opus_12k", "gsm"]
    assert [text for _, text in chart.columns] == ["clean", "5"]
    assert {text for _, text in chart.ticks}.isdisjoint({"0.80", "0.800", "0.90", "0.900"})
    assert part.note == "what is done; Overall score on mini; what was measured otherwise is in the numbers alone"
    told = {
        line.name: line.cells[0].small.partition("not drawn: ")[2] for line in part.lines if line.condition != "clean"
    }
    assert told == {"opus_12k": "", "gsm": "", **{f"eve_{n}": "on easy" for n in range(9)}}
    other = [otherwise(of("flac", 0.9, "mini", "cat"), states={"mini": "bb"})]
    other += [otherwise(of("lyra", 0.9, "mini", "dan"), definitions={"pesq": "2"})]
    (part,) = condition_parts([], [*honest, *other], family_styles(["opus", "gsm", "flac", "lyra"]))
    assert [line.name for line in part.charts[0].lines] == ["opus_12k", "gsm"]
    why = [line.cells[0].small.partition("not drawn: ")[2] for line in part.lines]
    assert why == ["", "", "on another state of a dataset", "by another version of its definition"]


def drawn(*rows: ConditionResult) -> set[str]:
    """Name the codecs of the one chart."""
    (part,) = condition_parts([], rows, family_styles(row.result.family for row in rows))
    return {line.name for line in part.charts[0].lines}


def test_one_sender_takes_nobody_out_of_a_chart() -> None:
    """Incomplete results vote too, since clips fail under bit errors; of as many senders the complete one is drawn."""
    failing = [of(f"codec_{n}", 0.6, "mini", f"account_{n}", failed=3) for n in range(5)]
    whole = of("codec2_1200", 0.7, "easy", "mallory")
    assert drawn(*failing, whole) == {f"codec_{n}" for n in range(5)}
    few = [of(f"few_{n}", 0.9, "easy", "mallory", failed=1) for n in range(3)]
    assert drawn(*few, of("opus_12k", 0.7, "mini", "ann")) == {"opus_12k"}
    assert drawn(*few) == {"few_0", "few_1", "few_2"}


@pytest.mark.parametrize(("sender", "source"), [("ann", "self-reported by ann"), ("young", "verified")])
def test_one_result_takes_nobodys_off_the_codecs_page(sender: str, source: str) -> None:
    """Of two senders the oldest account's results are drawn, or those that were run again, whatever its dataset."""
    own = [replace(of("opus_12k", 0.6, "mini", sender, strength), source=source) for strength in (1, 3, 10)]
    theirs = [of("opus_12k", 0.9, "a_dataset", "mallory", strength) for strength in range(4, 9)]
    (part,) = condition_parts([], [*theirs, *own], family_styles(["opus"]))
    assert [text for _, text in part.charts[0].columns] == ["clean", "1", "3", "10"]


def test_strengths_are_those_of_most_senders() -> None:
    """Six codecs of one account under an odd strength leave that of five accounts where it is."""
    honest = [of(f"codec_{n}", 0.5, "mini", f"account_{n}", strength) for n in range(5) for strength in (0.5, 10)]
    odd = [of(f"odd_{n}", 0.5, "mini", "mallory", 12.3457) for n in range(6)]
    more = [of("odd_0", 0.5, "mini", "mallory", strength) for strength in (1, 2, 3, 4)]
    (part,) = condition_parts([], [*honest, *odd, *more], family_styles(["codec", "odd"]))
    assert {"0.5", "10"} <= {text for _, text in part.charts[0].columns}


def test_the_note_says_whose_all_is_that_is_drawn() -> None:
    """The clean value of a line may be of another account; what is not drawn has its source in the numbers."""
    rows = [replace(row("opus_12k", 0.8, replace(info(share), usual=True)), source="verified") for share in (1, 5)]
    rows += [replace(row("gsm", 0.5, info(10 + share / 7)), source="self-reported by eve") for share in range(9)]
    clean = [replace(row("opus_12k", 0.9), source="self-reported by mallory")]
    (part,) = condition_parts(clean, rows[:2], family_styles(["opus"]))
    assert part.note.endswith("; results self-reported by mallory, verified")
    own = [replace(rows[-1], source="self-reported by bob")]
    (part,) = condition_parts(clean, [*rows, *own], family_styles(["opus", "gsm"]))
    assert part.note.count("self-reported by") == 2, part.note
    assert part.lines[-1].source == "self-reported by bob"


def test_a_clean_value_is_drawn_where_it_is_known_to_rest_on_the_same_clips() -> None:
    """Beside one strength of its chart at least; elsewhere the numbers say why it is not there."""
    partial = replace(row("opus_12k", 0.9, info(5)), clips=None)
    noise = row("opus_12k", 0.7, info(20, "noise"))
    for clean, marks in ((row("opus_12k", 0.8), [1, 2]), (replace(row("opus_12k", 0.8), clips=None), [1, 1])):
        parts = condition_parts([clean], [partial, noise], family_styles(["opus"]))
        assert [len(part.charts[0].lines[0].marks) for part in parts] == marks
        told = [part.lines[0].cells[0].small.endswith("not drawn: not known to be on the same clips") for part in parts]
        assert told == [count == 1 for count in marks]
    (part,) = condition_parts([row("opus_12k", 0.8)], [partial, row("opus_12k", 0.6, info(1))], family_styles(["opus"]))
    assert len(part.charts[0].lines[0].marks) == 3


def test_one_kind_does_not_squeeze_another() -> None:
    """Nor does a strength that is in the numbers alone: an axis goes as far as what its chart draws."""
    honest = [row("opus_12k", 0.7 + share / 100, replace(info(share), usual=True)) for share in range(1, 8)]
    (alone,) = condition_parts([], honest, family_styles(["opus"]))
    for odd in (row("odd", 0.05, info(20, "repeat")), row("odd", 0.05, info(20.1234))):
        part = condition_parts([], [*honest, odd], family_styles(["opus", "odd"]))[0]
        assert part.charts[0].ticks == alone.charts[0].ticks, odd.of.name


def test_categories_without_a_condition_are_left_out() -> None:
    """Clean rows alone make no part."""
    assert by_category([row("opus_12k", 0.9)]) == []
    (found,) = by_category([row("opus_12k", 0.9), row("opus_12k", 0.8, info(5))])
    assert found.category == "speech"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.booleans())
@example([0.9990, 0.9991, 0.9994], True)
@examples(60)
def test_names_never_cover_each_other_and_marks_stay_inside(values: list[float], higher: bool) -> None:
    """However near the values lie; up is better whichever direction the quantity has, and no two ticks read alike."""
    quantity = SCORE if higher else ERRORS
    series = [
        Series(f"codec_{n}", "opus", (Value(0, estimate(value, value - 9, value + 9), complete=True),))
        for n, value in enumerate(values)
    ]
    drawn = multiple("t", "loss (%)", ["clean"], series, quantity, (min(values), max(values)), {"opus": 0})
    places = sorted(line.label_y for line in drawn.lines)
    assert all(high - low >= 13.9 for low, high in pairwise(places))
    assert places[0] >= 0
    assert places[-1] <= drawn.bottom
    for line in drawn.lines:
        for mark in line.marks:
            assert 0 <= mark.y <= drawn.bottom
            assert mark.top is not None
            assert mark.bottom is not None
    best = max(values) if higher else min(values)
    top = min(line.marks[0].y for line in drawn.lines)
    assert drawn.lines[values.index(best)].marks[0].y == top
    assert 2 <= len(drawn.ticks) <= 13
    assert all(re.fullmatch(r"−?[0-9.]+", text) for _, text in drawn.ticks)
    assert len({text for _, text in drawn.ticks}) == len(drawn.ticks)


@pytest.mark.parametrize("count", [2, 5])
def test_lines_of_one_family_have_dashes_of_their_own(count: int) -> None:
    """Colour is the family's; names stand at the right end."""
    rows = [row(f"opus_{n}k", 0.5 + n / 20, info(5)) for n in range(count)]
    (part,) = condition_parts([], rows, family_styles(["opus"]))
    lines = part.charts[0].lines
    assert len({line.dash for line in lines}) == min(count, 4)
    assert {line.colour_index for line in lines} == {0}
