"""From run folders to what a paper needs: one call writes table, figure, ranks and checklist; `cite` the references."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, failed, stamp, write_run

from codec_superb.cli.commands.report import load, rank
from codec_superb.cli.main import call
from codec_superb.cli.paper.blocks import paper_blocks, ranks_over_datasets
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.errors import PipelineError
from codec_superb.web.quantity import SCORE

BIBTEX = "@misc{books,\n  title = {Books},\n}"
NAMES = ("opus_16k", "opus_24k", "opus_32k", "opus_48k")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write four codecs on three datasets: the last failed on a clip, the first is probed and under a condition."""
    root = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(NAMES):
        for dataset in ("one", "two_2", "three"):
            rows = draw_rows(seed, 6, quality=0.3 * seed, dataset=dataset, categories=["speech"])
            if (seed, dataset) == (3, "one"):
                rows[0] = failed(rows[0].clip, dataset=dataset)
            run = write_run(root, rows, card=card(name, title=f"{name} 100 %"), citation=BIBTEX)
            if (seed, dataset) == (0, "one"):
                probe_run(run, ["asr"], backend="faster-whisper:tiny.en")
    rows = draw_rows(9, 6, dataset="one", categories=["speech"])
    write_run(root, rows, card=card(NAMES[0], title=f"{NAMES[0]} 100 %"), condition=parse_condition("loss:10"))
    return root


@pytest.fixture(scope="module")
def results(runs: Path) -> list[Results]:
    """Load them."""
    return load([runs])


@pytest.mark.sample(3, among="outputs for a paper")
def test_one_call_writes_everything(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are where they were asked for, and their numbers are those of the results."""
    names = {
        "latex": "t.tex",
        "csv": "t.csv",
        "markdown": "t.md",
        "figure": "f.pdf",
        "ranks": "r.md",
        "checklist": "c.md",
    }
    options = [part for name, file in names.items() for part in (f"--{name}", str(tmp_path / file))]
    keys = "name,kbps,score,pesq,asr_wer_pct"
    call(["report", str(runs), *options, "--columns", keys, "--uncertainty", "interval", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": None, **{name: str(tmp_path / file) for name, file in names.items()}, "codecs": list(NAMES)}
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["condition"] for row in rows] == [""] * 4 + ["loss:10"]
    entry = next(entry for entry in load([runs]) if entry.title == NAMES[1])
    found = next(row for row in rows if row["name"] == NAMES[1])
    assert float(found["score"]) == entry.aggregates.categories[0].score.value
    assert found["datasets"] == "one;three;two_2"
    assert [row["failed_clips"] for row in rows if row["name"] == NAMES[3]] == ["1"]
    assert rows[0]["asr_wer_pct"] or rows[3]["asr_wer_pct"]
    latex = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert r"opus\_32k" in latex
    assert r"\emph{Speech, one, under loss:10}" in latex
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert r"Left out: opus\_48k (clips failed on one)" in (tmp_path / "r.md").read_text(encoding="utf-8")
    checklist = (tmp_path / "c.md").read_text(encoding="utf-8")
    for part in (
        "6 of 6 clips",
        "x86\\_64",
        "Were people asked",
        "*not stated*",
        "1 of 18 clips failed",
        "cluster-jackknife",
    ):
        assert part.replace("\\", "") in checklist.replace("\\", ""), part


def test_blocks_are_datasets_where_asked_for(results: list[Results]) -> None:
    """A block has the aggregate of its dataset, clean ones first; figures stand with the dataset that they are of."""
    blocks = paper_blocks(results, rank(results), "dataset")
    assert [(block.datasets, block.condition) for block in blocks] == [
        (("one",), ""), (("three",), ""), (("two_2",), ""), (("one",), "loss:10"),
    ]  # fmt: skip
    assert {row.numbers.dataset for row in blocks[0].applications} == {"one"}
    assert not blocks[1].applications
    parts = {part.dataset: part for part in results[0].aggregates.datasets}
    assert blocks[1].results[0].summary.score == parts["three"].score


def test_a_condition_on_fewer_clips_puts_no_clean_run_apart(results: list[Results]) -> None:
    """Which clips are the usual ones is asked among the runs that stand in one block."""
    clean, under = (entry for entry in results if entry.card.name == NAMES[0])
    few = [replace(of, info=of.info.model_copy(update={"selected": 3})) for of in under.datasets]
    blocks = paper_blocks([clean, replace(under, datasets=tuple(few))], {})
    assert [(block.condition, block.apart) for block in blocks] == [("", frozenset()), ("loss:10", frozenset())]


def test_ranks_over_datasets(results: list[Results]) -> None:
    """The better codec ranks first on each dataset; the one with a failed clip is left out with the reason."""
    found = ranks_over_datasets(results, SCORE)
    assert [row.codec for row in found.rows] == ["opus_32k", "opus_24k", "opus_16k"]
    assert found.datasets == ("one", "three", "two_2")
    assert found.kendall_w == pytest.approx(1.0)
    assert found.left_out == ("opus_48k (clips failed on one)",)


def test_bitrates_that_nobody_states_have_no_rank_among_declared_ones(results: list[Results]) -> None:
    """As in the ranking of the report: measured ones are ranked, else declared ones, else those of which nothing is."""
    clean = [entry for entry in results if entry.condition is None and entry.card.name != NAMES[3]]
    sources = ["declared", "declared", "unknown"]
    changed = [
        replace(entry, card=entry.card.model_copy(update={"bit_source": source}))
        for entry, source in zip(clean, sources, strict=True)
    ]
    with pytest.raises(PipelineError, match=r"got 2 on 3.*left out: opus_32k \(its bitrate is not stated\)"):
        ranks_over_datasets(changed, SCORE)


@pytest.mark.sample(3, among="outputs for a paper")
def test_one_that_cannot_be_written_stops_no_other(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder's name, a contradicting ending and a figure without values fail; the table beside them is written."""
    (tmp_path / "page.html").mkdir()
    files = {"out": "page.html", "latex": "t.md", "figure": "f.pdf", "csv": "t.csv"}
    options = [part for name, file in files.items() for part in (f"--{name}", str(tmp_path / file))]
    assert call(["report", str(runs), *options, "--metric", "f0corr_praat"]) == 2
    assert (tmp_path / "t.csv").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "t.csv"}
    told = capsys.readouterr().err
    assert "--out was not written: cannot write " in told
    assert "--latex was not written: t.md: expected a file that ends in .tex or .ltx, got .md" in told
    assert (
        "--figure was not written: expected a codec with a bitrate and a value of f0corr_praat, got none: score" in told
    )
    assert "--csv" not in told


@pytest.mark.sample(3, among="outputs for a paper")
def test_unscored_and_imported_runs(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unscored run is named with its command; a declared bitrate is not ranked; imported sound has no hardware."""
    rows = {
        name: draw_rows(7, 6, quality=3.0, dataset=name, categories=["speech"]) for name in ("one", "two_2", "three")
    }
    mine = card("mine", nominal_kbps=3.0, bit_source="declared")
    for of in rows.values():
        run = write_run(tmp_path, of, card=mine)
        taken = stamp("imported").model_copy(update={"processor": "My Processor", "platform": "MyOS"})
        run.write_info(run.info().model_copy(update={"provenance": (taken, stamp())}))
    late = write_run(tmp_path, rows["one"], card=card("late"), status="resynthesised")
    assert call(["report", str(late.path), "--csv", str(tmp_path / "no.csv")]) == 2
    assert "expected a scored run, got one that is resynthesised; call score first" in capsys.readouterr().err
    ranks, checklist = tmp_path / "r.md", tmp_path / "c.md"
    call(["report", str(runs), str(tmp_path), "--ranks", str(ranks), "--checklist", str(checklist)])
    told = capsys.readouterr().err
    assert f"left out, not scored (resynthesised): {late.path}; codec-superb score {late.path}" in told
    assert "left out of the ranks: mine (its bitrate is declared, not measured)" in told
    assert "mine (its bitrate is declared, not measured)" in ranks.read_text(encoding="utf-8")
    text = checklist.read_text(encoding="utf-8")
    assert "imported: resynthesised elsewhere" in text
    assert "My Processor" not in text
    assert "MyOS" not in text
    assert "mine: nominal 3.00 kbps, declared speech" in text
    wide = tmp_path / "w.tex"
    call(["report", str(runs), "--latex", str(wide), "--csv", str(tmp_path / "w.csv"), "--uncertainty", "interval"])
    assert "@{}lrrrrr@{}" in wide.read_text(encoding="utf-8")
    assert "left out of the LaTeX table, which intervals make wide: stoi" in capsys.readouterr().err
    assert "stoi_low" in (tmp_path / "w.csv").read_text(encoding="utf-8")
    call(["compare", str(tmp_path / "mine"), str(runs / NAMES[1]), "--table", str(tmp_path / "d.md")])
    assert "mine (first, imported, bitrate declared) against opus_24k (second);" in capsys.readouterr().out
    table = (tmp_path / "d.md").read_text(encoding="utf-8")
    assert r"First: mine (imported, bitrate declared); second: opus\_24k;" in table


@pytest.mark.sample(3, among="outputs for a paper")
def test_cite_names_what_was_used(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Codec, dataset, metrics, probe and model, each once; to a file where one is named."""
    call(["cite", str(runs)])
    text = capsys.readouterr().out
    assert text.count("@misc{books") == 1
    assert "% dataset one, dataset three, dataset two_2" in text
    for part in ("wu2024codecsuperb", "metric pesq", "model faster-whisper:tiny.en", "codec opus_16k", "2212.04356"):
        assert part in text
    call(["cite", str(runs / NAMES[1]), "-o", str(tmp_path / "refs.bib"), "--json"])
    assert {one["kind"] for one in json.loads(capsys.readouterr().out)} == {
        "benchmark", "program", "codec", "dataset", "metric"
    }  # fmt: skip
    assert "tiny.en" not in (tmp_path / "refs.bib").read_text(encoding="utf-8")


@pytest.mark.sample(3, among="outputs for a paper")
def test_comparison_is_a_table_too(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every metric of every dataset with p-value and effect, as `compare --json` has them; six clusters of one clip."""
    call(["compare", str(runs / NAMES[2]), str(runs / NAMES[1]), "--table", str(tmp_path / "d.csv"), "--json"])
    report = json.loads(capsys.readouterr().out)
    rows = list(csv.DictReader((tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()))
    found = {(row["dataset"], row["figure"]): row for row in rows}
    metrics = {(of["dataset"], one["metric"]): one for of in report["datasets"] for one in of["metrics"]}
    assert set(metrics) | {(name, "score") for name in ("one", "two_2", "three", "")} == set(found)
    for key, one in metrics.items():
        assert float(found[key]["p"]) == one["test"]["p"]
        assert float(found[key]["rank_biserial"]) == one["test"]["rank_biserial"]
    # the better codec is ahead on each of six clips: the smallest p-value there is
    assert metrics["one", "pesq"]["test"]["p"] == pytest.approx(2 / 2**6)
    assert metrics["one", "pesq"]["test"]["rank_biserial"] == metrics["one", "mel"]["test"]["rank_biserial"] == 1.0
    assert found["", "score"]["p"] == ""
    call(["compare", str(runs / NAMES[2]), str(runs / NAMES[1])])
    assert "Wilcoxon's signed-rank test, two-sided, over clusters" in capsys.readouterr().out


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say what to write"),
        (["--csv", "t.csv", "--columns", "codec,pesk"], "did you mean pesq"),
        (["--csv", "t.csv", "--sort", "pesk"], "did you mean pesq"),
        (["--figure", "f.eps"], "expected a figure's file to end in .pdf, .svg, .png"),
        (["--figure", "f.pdf", "--metric", "nothing"], "--metric: expected score, a metric of stft"),
        (["--ranks", "r.csv", "--metric", "asr_wer_pct"], "got 1 on 1"),
        (["--ranks", "r.csv", "--category", "music"], "got 0 on 0"),
    ],
)
def test_mistakes(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    options: list[str], message: str,
) -> None:  # fmt: skip
    """Each is one sentence and exit code 2, and no file is left."""
    monkeypatch.chdir(tmp_path)
    assert call(["report", str(runs), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert list(tmp_path.iterdir()) == []
