"""From probed runs to the report: every figure arrives with its model, its counts and its bitrate."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, write_run

from codec_superb.cli.application_metrics import measured_metrics, metrics_as_data, short_notes
from codec_superb.cli.commands.report import load, rank, write
from codec_superb.cli.report_data import codec_results, report_data
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.runs.outcome import ProbeCounts, RunOutcome
from codec_superb.web.figures.pareto import contenders, measured_of
from codec_superb.web.report.application_details import numbers_table


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Results]:
    """Load two probed codecs, the second by another recogniser, and one that nobody probed."""
    root = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("opus_16k", "opus_24k", "opus_32k")):
        run = write_run(root, draw_rows(seed, 15), card=card(name))
        if seed < 2:
            probe_run(run, ["asr", "aec"], seed, backend=f"model:{seed}")
    return load([root])


def test_every_figure_arrives_whole(results: list[Results]) -> None:
    """Value, ceiling, loss, counts and model are those of the aggregates and of the run."""
    rows = report_data(results, rank(results), "Test").applications
    found = {(row.codec, row.numbers.figure): row for row in rows}
    assert {codec for codec, _ in found} == {"opus_16k", "opus_24k"}
    for entry in results:
        for aggregate in entry.aggregates.applications:
            row = found[entry.card.name, aggregate.figure]
            assert row.numbers == aggregate
            assert (row.value.mean, row.value.n) == (aggregate.resynthesis.value, aggregate.n)
    assert found["opus_16k", "asr_wer_pct"].model.backend == "model:0"
    assert found["opus_24k", "asr_wer_pct"].model.sha256 == "a" * 64


def test_the_bitrate_is_that_of_the_sound_the_probe_looks_at(results: list[Results]) -> None:
    """Speech alone for a recogniser, audio and music together for events; not known where nothing is."""
    found = {
        row.numbers.probe: row
        for row in report_data(results, rank(results), "Test").applications
        if row.codec == "opus_16k"
    }
    parts = {part.category: part for part in results[0].aggregates.datasets}
    assert found["asr"].kbps == pytest.approx(parts["speech"].kbps)
    bits = parts["audio"].bits + parts["music"].bits
    seconds = parts["audio"].seconds + parts["music"].seconds
    assert found["aec"].kbps == pytest.approx(bits / seconds / 1000)


def test_clips_below_two_seconds_are_marked_where_the_model_repeats_them(tmp_path: Path) -> None:
    """The report's details count them and `probe --json` names them; not for a model that takes them as they are."""
    rows = draw_rows(0, 6, categories=["speech"])
    rows[0] = rows[0].model_copy(update={"samples": 32000})
    for name, settings in (("opus_16k", {"short_clips": "doubled"}), ("opus_24k", {})):
        run = write_run(tmp_path, rows, card=card(name))
        probe_run(run, ["dnsmos"], settings=settings)
    results = load([tmp_path])
    (row,) = [row for row in report_data(results, rank(results), "").applications if row.short][:1]
    # the fifth is left out, the first lasts 2 s
    assert (row.codec, row.short, row.numbers.n) == ("opus_16k", 4, 5)
    table = numbers_table([row], {row.codec: ""})
    assert table.rows[0][table.heads.index("Below 2 s, repeated")] == "4"
    outcomes = [RunOutcome(of, of.parent.name, "mini", "probe", 6) for of in sorted(tmp_path.glob("*/mini"))]
    for outcome in outcomes:
        outcome.probes["dnsmos"] = ProbeCounts()
    figures = measured_metrics(outcomes)
    named = {of["codec"]: of["short_clips"] for of in metrics_as_data(figures)}
    assert named == {"opus_16k": [f"mini/clip{number:03}" for number in (1, 2, 3, 5)], "opus_24k": []}
    assert [note.split(":")[0] for note in short_notes(figures)] == ["dnsmos on mini"]


def test_models_stand_in_the_provenance(results: list[Results]) -> None:
    """Both recognisers are named, with the hash of their files."""
    provenance = dict(report_data(results, rank(results), "Test").provenance)
    assert provenance["model of asr"] == " | ".join(f"model:{n}, SHA-256 {'a' * 64}, definition 1" for n in (0, 1))


def test_the_page_has_them(results: list[Results], tmp_path: Path) -> None:
    """The command writes a page with the section, a column for each model."""
    write(results, rank(results), tmp_path / "report.html", listening=0)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="applications"' in page
    assert page.count('<span class="unit">model:0</span>') == page.count('<span class="unit">model:1</span>') > 0


def test_charts_of_many_clips_are_of_some_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both codecs have the same four clips in the charts, all twelve in the table, and the page says which."""
    for name in ("one", "two"):
        write_run(tmp_path, draw_rows(1, 12, categories=("speech",)), card=card(name))
    results = load([tmp_path])
    whole = report_data(results, rank(results), "all")
    monkeypatch.setattr("codec_superb.cli.report_data.POINTS", 4)
    some = report_data(results, rank(results), "some")
    assert some.results == whole.results
    drawn = {codec: [point.clip for point in some.clips if point.codec == codec] for codec in ("one", "two")}
    assert drawn["one"] == drawn["two"]
    assert len(drawn["one"]) == 4
    assert {point.clip for point in whole.clips} > set(drawn["one"])
    write(results, rank(results), tmp_path / "some.html")
    assert "Drawn are 4 clips, chosen by a hash of their names" in (tmp_path / "some.html").read_text()
    monkeypatch.undo()
    write(results, rank(results), tmp_path / "all.html")
    assert "Drawn are" not in (tmp_path / "all.html").read_text()


def test_a_front_is_of_one_state_of_a_dataset(tmp_path: Path) -> None:
    """Clips of a later one, under the same name, may be easier."""
    for seed, name in enumerate(("opus_16k", "opus_24k", "opus_32k")):
        later = {"manifest_hash": "b" * 64} if seed == 2 else {}
        write_run(tmp_path, draw_rows(seed, 15), card=card(name), **later)
    found = load([tmp_path])
    rows = [row for row in codec_results(found, rank(found)) if row.summary.category == "speech"]
    measured = [measured_of(row, "score") for row in rows]
    in_front = [rows[place].codec for place in contenders([True] * 3, [True] * 3, measured)]
    assert sorted(in_front) == ["opus_16k", "opus_24k"]
