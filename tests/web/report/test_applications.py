"""Applications in the report: what may stand in one order, and that every number can be traced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.web.report import OTHER_WHISPER, RESEMBLYZER, TABLE, WHISPER, make_applications, make_points, make_report
from support.web.report import make_results as results_of
from support.web.results import changed_numbers, score

from codec_superb.applications.table import PROBE_METRICS, PROBES
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.errors import ReportError
from codec_superb.web.report import render
from codec_superb.web.report.application_details import numbers_table, signed
from codec_superb.web.report.applications import ApplicationsPanel, applications_panel, group_application_rows
from codec_superb.web.rows import ApplicationRow, ProbeModel
from codec_superb.web.theme import family_styles

RESULTS = results_of(make_points("speech", 8))
ROWS = make_applications(RESULTS)
WER = APPLICATIONS["asr_wer_pct"]


def panel(rows: list[ApplicationRow] = ROWS) -> ApplicationsPanel:
    """Make the section of all codecs."""
    return applications_panel(rows, RESULTS, family_styles(row.family for row in RESULTS))


class TestGroups:
    """Only what one model answered in one way is put into one order."""

    def test_models_and_datasets_stay_apart(self) -> None:
        """Each figure, dataset and model is a group, the ones with most codecs first."""
        found = [
            (group.quantity.key, group.dataset, group.model, len(group.rows)) for group in group_application_rows(ROWS)
        ]
        assert found == [
            ("asr_wer_pct", "mini", WHISPER, 14),
            ("asr_wer_pct", "librispeech", WHISPER, 1),
            ("asr_wer_pct", "mini", OTHER_WHISPER, 1),
            ("sim_pct", "mini", RESEMBLYZER, 14),
        ]

    @pytest.mark.parametrize(
        "change",
        [{"sha256": "0" * 64}, {"version": "2"}, {"settings": (("beam", "5"),)}, {"random": True}, {"remote": True}],
    )
    def test_another_way_of_asking_is_another_group(self, change: dict[str, object]) -> None:
        """Model hash, definition and settings tell groups apart, as the name of the model does."""
        odd = replace(ROWS[0], codec="mp3_32k", model=replace(WHISPER, **change))  # type: ignore[arg-type]
        assert ("(remote, " in odd.model.name) == odd.model.remote
        assert sorted(len(group.rows) for group in group_application_rows([ROWS[0], odd])) == [1, 1]

    def test_best_first(self) -> None:
        """The least error and the greatest similarity come first, codecs without a value last."""
        nothing = replace(changed_numbers(ROWS[0], resynthesis=score(None)), codec="nothing")
        on_mini = [row for row in ROWS if row.numbers.dataset == "mini"]
        errors, similarities = group_application_rows([nothing, *on_mini])[::2]
        values = [row.numbers.resynthesis.value for row in errors.rows]
        assert values[-1] is None
        assert values[:-1] == sorted(value for value in values if value is not None)
        greatest = [row.numbers.resynthesis.value or 0 for row in similarities.rows]
        assert greatest == sorted(greatest, reverse=True)


class TestPlugIns:
    """A probe that joins the table after the pages have read it."""

    def test_its_figures_are_in_the_report_last_and_custom(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page has them under their own name; the tables of the site never do."""
        figure = replace(PROBE_METRICS["utmos"], key="a_loudness", label="Loudness")
        row = replace(PROBES["utmos"], key="loudness", metrics=(figure,), origin="garden 1.2")
        mine = changed_numbers(ROWS[0], figure=figure.key, probe=row.key)
        data = replace(make_report(), applications=[mine, *ROWS])
        with pytest.raises(ReportError, match="no figure 'a_loudness'"):
            render(data, TABLE)
        monkeypatch.setitem(PROBES, row.key, row)
        monkeypatch.setitem(PROBE_METRICS, figure.key, figure)
        assert group_application_rows([mine, *ROWS])[-1].quantity.title == "Loudness (custom)"
        assert "Loudness (custom)" in render(data, TABLE)
        assert figure.key not in APPLICATIONS


class TestPanel:
    """Tables and charts."""

    def test_a_table_for_each_dataset(self) -> None:
        """A row a codec, a column a group, the ceiling above, a dash where a model did not answer for a codec."""
        first, second = panel().parts
        assert (first.title, second.title) == ("On mini", "On librispeech")
        assert [cell.text for cell in first.ceilings] == ["4.00", "4.00", "100.00"]
        assert len(first.lines) == 14
        opus = next(line for line in first.lines if line.small == "opus_12k")
        assert opus.cells[1].text == "2.90"
        assert opus.cells[1].loss == "−1.10"
        assert {line.cells[1].text for line in first.lines} == {"2.90", "–"}
        assert [line.small for line in second.lines] == ["opus_12k"]

    def test_a_codec_with_failed_clips_is_marked(self) -> None:
        """The mark says how many, and the ceiling stays that of the codecs with all clips."""
        part = panel().parts[0]
        line = next(line for line in part.lines if line.small == "amrnb_12k2")
        assert [badge.text for badge in line.badges] == ["incomplete"]
        assert "2 clips failed" in line.badges[0].explanation
        assert part.ceilings[0].title == "Over 12 clips"

    def test_charts_have_the_ceiling(self) -> None:
        """One chart a group, its codecs at their bitrates, a dashed line at what the original sound gives."""
        made = panel()
        assert list(made.figures) == [f"application-{n}" for n in (0, 1, 2, 3)]
        first = made.figures[made.groups[0].key]
        drawn = [x for t in first["data"] if t["meta"]["role"] in {"family", "ceiling"} for x in t["x"]]
        assert len(drawn) == 14
        assert [(line["y0"], line["line"]["dash"]) for line in first["layout"]["shapes"]] == [(4.0, "dash")]

    def test_all_datasets_together_come_first(self) -> None:
        """A figure over several datasets names no dataset."""
        whole = changed_numbers(ROWS[0], dataset="")
        assert panel([*ROWS, whole]).parts[0].title == "All datasets together"


class TestNumbers:
    """What stands behind a figure."""

    def test_counts_of_both_sides(self) -> None:
        """Clips, left out, failed, words, and each kind of error on the original and on the resynthesis."""
        table = numbers_table([ROWS[0]], {ROWS[0].codec: "Codec2 700C"})
        heads = ("Clips", "Left out", "Failed", "Words", "Substitutions", "Deletions", "Insertions")
        assert table.heads == ("Codec", "Original", "Resynthesis", "Loss", *heads)
        assert table.rows[0][0] == "Codec2 700C"
        assert table.rows[0][1] == "4.00 [2.50, 5.75]"
        assert table.rows[0][4:8] == ("12", "3", "0", "400")
        assert table.rows[0][8].startswith("12 → ")

    def test_pairs_only_where_there_are_some(self) -> None:
        """Trials are counted for a figure of trials."""
        assert "Pairs" not in numbers_table([ROWS[0]], {ROWS[0].codec: ""}).heads
        trials = changed_numbers(ROWS[0], figure="asv_eer_pct", pairs=1225, totals={})
        table = numbers_table([trials], {trials.codec: ""})
        assert table.rows[0][table.heads.index("Pairs")] == "1,225"

    def test_a_loss_has_its_sign(self) -> None:
        """Plus where the codec lost, a true minus where it gained, nothing at zero, a dash for none."""
        losses = (score(2.1, 1.05, 3.2), score(-0.5), score(0.001), score(None))
        assert [signed(loss, WER) for loss in losses] == ["+2.10 [1.05, 3.20]", "−0.50", "0.00", "–"]


class TestPage:
    """The page as text."""

    def test_every_number_can_be_traced(self) -> None:
        """Model, hash, normaliser, version, what it means, and the counts stand on the page itself."""
        page = render(make_report(8, ["speech"]), TABLE)
        for words in (
            "faster-whisper:tiny.en", "ab" * 32, "English of Whisper", "Substitutions, deletions and insertions over",
            "version 1; A. Radford", "clips of speech, those with a transcript", "openai-whisper:large",
        ):  # fmt: skip
            assert words in page

    def test_a_report_without_applications_has_no_section(self) -> None:
        """Neither tab nor heading."""
        page = render(replace(make_report(8, ["speech"]), applications=()), TABLE)
        assert 'id="applications"' not in page
        assert "tab-applications" not in page

    def test_an_untrained_model_is_marked(self) -> None:
        """Nobody may take figures of random weights for results."""
        data = make_report(8, ["speech"])
        rows = [replace(row, model=replace(row.model, random=True)) for row in data.applications]
        assert "untrained (random) weights" in render(replace(data, applications=rows), TABLE)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (replace(ROWS[0], codec="gone"), "no result in any category"),
            (changed_numbers(ROWS[0], figure="asr_magic"), "the table of applications lacks it"),
            (ROWS[0], "comes twice with faster-whisper:tiny.en"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, row: ApplicationRow, message: str) -> None:
        """The error names the figure and the codec."""
        data = make_report(8, ["speech"])
        with pytest.raises(ReportError, match=message):
            render(replace(data, applications=[*make_applications(data.results), row]), TABLE)


def test_a_model_is_named_with_its_hash() -> None:
    """The beginning of the hash is enough to tell two apart."""
    assert WHISPER.name == "faster-whisper:tiny.en (abababababab)"
    assert ProbeModel("of the paper").name == "of the paper"
