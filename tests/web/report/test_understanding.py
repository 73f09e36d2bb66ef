"""Understanding in the report: a section of its own with ceiling, chance and a table a task."""

from __future__ import annotations

import re
from dataclasses import replace

from support.web.report import TABLE, WHISPER, make_applications, make_report
from support.web.results import changed_numbers, score

from codec_superb.web.report import render
from codec_superb.web.report.understanding import understanding_panel
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.theme import family_styles

TASK = "und_mini_animals"
VALUES = {
    "accuracy_pct": (40.0, 25.0),
    "above_chance_pct": (100 / 3, 50 / 3),
    "agreement_pct": (100.0, 60.0),
}


def rows_of_task(rows: list[ApplicationRow]) -> list[ApplicationRow]:
    """Return the figures of a task of ten options for two codecs."""
    alike = [row for row in rows if (row.numbers.dataset, row.model) == ("mini", WHISPER)]
    return [
        changed_numbers(row, probe=TASK, figure=f"{TASK}_{end}", reference=score(before), resynthesis=score(after))
        for row in alike[:2]
        for end, (before, after) in VALUES.items()
    ]


def test_tasks_have_a_section_with_chance_and_are_no_super_tasks() -> None:
    """The heading tells task, dataset and what guessing gives; the chart has both lines; MSEB is another section."""
    data = make_report()
    speech = [row for row in data.results if row.summary.category == "speech"]
    recognition = make_applications(speech)
    data = replace(data, applications=[*recognition, *rows_of_task(recognition)])
    page = render(data, TABLE)
    section = page[page.index('<section class="panel" id="understanding"') :]
    headings = re.findall(r'<h3 id="understanding-\d+-title">([^<]+)', section)
    assert headings == ["Animal – mini; chance 10.00 %"]
    assert 'id="mseb"' not in page
    assert "Animal" not in page[page.index('id="applications"') : page.index('id="understanding"')]
    panel = understanding_panel(data.applications, data.results, family_styles(row.family for row in data.results))
    assert panel is not None
    (figure,) = panel.figures.values()
    texts = str(figure)
    assert "original: 40.00" in texts
    assert "chance: 10.00" in texts


def test_a_codec_of_tokens_gives_the_chart_a_second_axis() -> None:
    """Against tokens a second stand the codecs that have some, below the same two lines; the page offers both."""
    data = make_report(6, ["speech"])
    of_tokens = {row.codec: row.summary.tokens_per_second for row in data.results if row.summary.tokens_per_second}
    recognition = [row for row in make_applications(data.results) if row.codec in {*of_tokens, "opus_6k"}]
    rows = [
        row
        for codec in (*of_tokens, "opus_6k")
        for row in rows_of_task([of for of in recognition if of.codec == codec])
    ]
    panel = understanding_panel(rows, data.results, family_styles(row.family for row in data.results))
    assert panel is not None
    bits, tokens = (panel.figures[f"understanding-rate-0{axis}"] for axis in ("", "-tokens"))
    places = [{x for trace in figure["data"] for x in trace["x"]} for figure in (bits, tokens)]
    assert len(places[0]) == 3
    assert places[1] == set(of_tokens.values())
    assert tokens["layout"]["shapes"] == bits["layout"]["shapes"]
    page = render(replace(data, applications=rows), TABLE)
    assert page.count('id="understanding-rate-across"') == 1


def test_without_tasks_there_is_no_section() -> None:
    """Other applications alone make none."""
    assert 'id="understanding"' not in render(make_report(), TABLE)
