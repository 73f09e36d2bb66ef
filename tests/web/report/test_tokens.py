"""The report's tables of tokens: a row a disturbance, a column a codebook, and metrics by codings."""

from __future__ import annotations

from dataclasses import replace

from support.web.report import TABLE, make_report
from support.web.results import application_row, score

from codec_superb.metrics.results import NO_SCORE, Score
from codec_superb.web.report import render
from codec_superb.web.report.tokens import token_tables, tokens_panel
from codec_superb.web.rows import CountRow, ProbeModel


def count(name: str, value: float) -> CountRow:
    """Make a count with an interval of two."""
    return CountRow("mine", "mini", name, Score(value=value, low=value - 1, high=value + 1))


def test_counts_stand_by_codebook_and_drift_by_coding() -> None:
    """In the order of the disturbances; what was not counted is missing and no row is empty."""
    rows = [
        count("match:shift_1:all", 40.0), count("match:shift_1:1", 50.0), count("match:shift_1:2", 30.0),
        count("match:recode_2:all", 80.0), count("match:recode_2:1", 90.0), count("match:recode_2:2", 70.0),
        count("chance:all", 10.0), count("chance:1", 12.0), count("chance:2", 8.0),
        count("edits:recode_2", 11.0), count("drift:pesq:1", 3.2), count("drift:pesq:25", 1.1),
        count("bits:unigram:1", 87.5), count("bias:unigram:1", 0.002),
    ]  # fmt: skip
    books, drift = token_tables(rows, [])
    assert (books.title, books.heads) == ("mine – mini", ("", "all", "1", "2"))
    assert [label for label, _ in books.rows] == [
        "same: coded 2 times", "same: shifted by a sample", "same: by chance", "entropy, of log2 K",
        "entropy: too low by", "edits: coded 2 times",
    ]  # fmt: skip
    assert books.rows[0][1] == (("80.0 %", "[79.0, 81.0]"), ("90.0 %", "[89.0, 91.0]"), ("70.0 %", "[69.0, 71.0]"))
    assert [text for text, _ in books.rows[3][1]] == ["–", "87.5 %", "–"]
    assert drift.heads == ("", "1 ×", "25 ×")
    assert drift.rows[0][0] == "PESQ"
    assert token_tables([], []) == []


def test_contents_and_the_language_model_stand_by_codebook_too() -> None:
    """A run that was asked about these alone has tables of them, and none without a row."""
    rows = [count("bits:lm:all", 80.0), count("bits:lm:1", 60.0)]
    rows += [count("mi:phone:1", 20.0), count("control:phone:1", 1.0), count("pure:phone:all", 15.0)]
    books, contents = token_tables([*rows, count("abx:within", 20.0), count("edit:voices", 40.0)], [])
    assert [label for label, _ in books.rows] == ["to a language model, of log2 K"]
    assert contents.title == "mine – mini: what they carry"
    assert [label for label, _ in contents.rows] == ["phones told", "phones told by chance", "phone purity"]
    assert [text for text, _ in contents.rows[0][1]] == ["–", "20.0 %"]
    assert token_tables([count("abx:within", 20.0)], []) == []


def test_the_picture_of_contents_has_a_point_a_codec_and_one_picture_a_dataset() -> None:
    """Speakers to the right and phones up, for the codecs that have both; a page without any has no picture."""
    data = make_report(6, ["speech"])
    named = list(dict.fromkeys(result.codec for result in data.results))
    told = {"tokens_phone_pnmi_pct": 20.0, "tokens_speaker_pnmi_pct": 5.0, "tokens_phone_pnmi_all_pct": 8.0,
            "tokens_speaker_pnmi_all_pct": 2.0}  # fmt: skip
    dataset = data.results[0].summary.datasets[0]
    rows = [
        application_row(codec, dataset, key, ProbeModel("codec-contents"), 6.0, NO_SCORE, score(value + at), NO_SCORE)
        for at, codec in enumerate(named[:2])
        for key, value in told.items()
    ]
    rows.append(replace(rows[0], codec=named[2]))  # phones alone: no place to the right
    panel = tokens_panel(rows, [], data.results)
    assert panel is not None
    assert panel.contents == (("tokens-contents-0", dataset),)
    drawn = panel.figures["tokens-contents-0"]["data"]
    points = [(of["x"], of["y"]) for of in drawn if of["mode"] == "markers+text"]
    assert sorted(points) == [([5.0], [20.0]), ([6.0], [21.0])]
    assert sorted(of["y"] for of in drawn if of["mode"] != "markers+text") == [[20.0, 8.0], [21.0, 9.0]]
    nested = [row if row.codec == named[0] else replace(row, numbers=own.numbers)
              for row, own in zip(rows[:8], rows[:4] * 2, strict=True)]  # fmt: skip
    same = tokens_panel(nested, [], data.results)
    assert same is not None
    corners = [of["textposition"] for of in same.figures["tokens-contents-0"]["data"] if "textposition" in of]
    assert corners == ["top right", "bottom right"]
    page = render(replace(data, applications=rows), TABLE)
    assert 'data-figure="tokens-contents"' in page
    assert 'id="tokens"' not in render(replace(data, applications=()), TABLE)
    assert tokens_panel([], [], data.results) is None
