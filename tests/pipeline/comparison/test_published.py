"""``compare --published``: a codec's own results beside the published figures of the same configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import KEYS, card, draw_rows, write_run

from codec_superb.base_codec import registry
from codec_superb.cli.main import call
from codec_superb.metrics.table import Category
from codec_superb.pipeline.comparison.published import compare_published
from codec_superb.pipeline.comparison.results import Results, combine, load_results
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.records import PublishedTable
from codec_superb.pipeline.literature.tables import literature, published_as

CODEC = "encodec_24k_6bps"


def results(root: Path, *datasets: str, name: str = CODEC, category: Category = "speech", clips: int = 0) -> Results:
    """Write runs with drawn scores on datasets of one category, and load them as one codec's results."""
    parts = []
    for seed, dataset in enumerate(datasets):
        rows = draw_rows(seed, 12, dataset=dataset, categories=(category,))
        folder = write_run(root, rows, card=card(name), name=dataset, clips=clips or len(rows))
        parts.append(load_results(folder.path))
    return combine(parts)[0]


def test_every_codec_that_a_table_names_is_in_the_catalogue() -> None:
    """A name that does not exist would never be compared, and of each table at most one row is the same codec."""
    names = [(table.name, name) for table in literature() for row in table.codecs for name in row.runs_as]
    assert {name for _, name in names} <= set(registry.names())
    assert len(set(names)) == len(names)
    assert all(name.startswith(registry.card(name).family) for _, name in names)


@pytest.mark.parametrize("table", literature(), ids=lambda table: table.name)
def test_a_stated_bitrate_is_that_of_the_card(table: PublishedTable) -> None:
    """The same configuration has the same bitrate, but for rounding (7.75 is printed as 8)."""
    for row in table.codecs:
        assert not row.runs_as or row.family in {registry.card(name).family for name in row.runs_as}
        for name in row.runs_as:
            own = registry.card(name)
            if row.kbps is not None:
                assert own.nominal_kbps == pytest.approx(row.kbps, rel=0.04)


def test_the_score_of_a_dataset_stands_beside_the_published_one(tmp_path: Path) -> None:
    """EnCodec at 6 kbps on Quesst: ours, the number of Table 3, and ours minus that one are given."""
    mine = results(tmp_path, "quesst2014")
    report = compare_published(mine)
    (figure,) = report.figures
    published = dict(published_as(CODEC)[0][1].dataset_scores["speech"])["quesst2014"]
    assert (figure.table, figure.row, figure.where, figure.figure) == (
        "Codec-SUPERB, Table 3", "E3", "quesst2014", "score",
    )  # fmt: skip
    assert figure.published == published
    assert figure.difference == pytest.approx(mine.aggregates.datasets[0].score.value - published)  # type: ignore[operator]
    assert figure.low is not None
    assert figure.low <= figure.ours
    assert [entry.what for entry in report.left_out] == ["Codec-SUPERB, re-run on codec-superb-tiny, encodec_24k_6bps"]


def test_metrics_are_compared_where_a_table_rests_on_one_dataset(tmp_path: Path) -> None:
    """codec_superb_tiny has means of metrics; the published F0 correlation is Praat's, so ours has no counterpart."""
    report = compare_published(results(tmp_path, "codec_superb_tiny"))
    assert {entry.figure for entry in report.figures} == {"score", *KEYS} - {"f0corr"}
    assert all(entry.where == "codec_superb_tiny" for entry in report.figures)


def test_an_incomplete_run_is_not_set_beside_a_whole_one(tmp_path: Path) -> None:
    """A part of a dataset says nothing about the published mean over all of it."""
    report = compare_published(results(tmp_path, "quesst2014", clips=99))
    assert report.figures == ()
    assert "no complete run" in report.left_out[0].reason


def test_a_category_is_compared_on_the_very_same_datasets(tmp_path: Path) -> None:
    """All datasets of the table give a score of the category; one less gives none."""
    names = published_as(CODEC)[0][0].datasets["audio"]
    whole = compare_published(results(tmp_path / "all", *names, category="audio"))
    less = compare_published(results(tmp_path / "less", *names[1:], category="audio"))
    assert [entry.where for entry in whole.figures].count("audio") == 1
    assert "audio" not in [entry.where for entry in less.figures]


def test_a_codec_without_published_figures_is_told_which_have_some(tmp_path: Path) -> None:
    """The error names codecs of the catalogue."""
    with pytest.raises(PipelineError, match="encodec_24k_6bps"):
        compare_published(results(tmp_path, "quesst2014", name="opus_16k"))


class TestCommand:
    """``codec-superb compare A --published``."""

    def test_prints_both_numbers_and_what_differs(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A table of the paper with its reservations."""
        mine = results(tmp_path, "quesst2014")
        assert call(["compare", str(mine.datasets[0].source), "--published"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "encodec_24k_6bps and Codec-SUPERB, Table 3" in out
        assert "published, not re-run here" in out
        assert "not compared: Codec-SUPERB, re-run on codec-superb-tiny" in out

    def test_takes_either_a_second_codec_or_the_option(self, tmp_path: Path) -> None:
        """Both or neither is a mistake of the command line."""
        path = str(results(tmp_path, "quesst2014").datasets[0].source)
        assert call(["compare", path]) == 2
        assert call(["compare", path, path, "--published"]) == 2

    def test_a_card_shows_what_was_published(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`codecs show` has a row a table."""
        assert call(["codecs", "show", CODEC]) == 0
        assert "published: Codec-SUPERB, Table 3, E3" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({}, []),
        ({"weights": {"source": "random"}}, [r"its weights are untrained \(random\)"]),
        (
            {"weights": {"source": "local:mine", "revision": None}},
            [r"its weights are local:mine.*; the published ones"],
        ),
        ({"weights": {"revision": "0" * 40}}, ["its weights are facebook/encodec_24khz, commit 000000000000"]),
        ({"weights": {"sha256": "1" * 64}}, []),
        ({"settings": {"dtype": "bfloat16"}}, ["it was run with dtype bfloat16; the usual is none"]),
    ],
)
def test_what_was_run_otherwise_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], sentences: list[str]
) -> None:
    """Weights that are not the card's and settings that are not usual stand above the figures."""
    usual = registry.card(CODEC)
    assert usual.weights is not None
    weights = usual.weights.model_copy(update=changes.get("weights", {}))
    own = usual.model_copy(update={"weights": weights, "settings": usual.settings | changes.get("settings", {})})
    run = write_run(tmp_path, draw_rows(1, 12, dataset="esc50", categories=("audio",)), card=own, name="esc50")
    unlike = compare_published(load_results(run.path)).unlike
    assert len(unlike) == len(sentences)
    assert all(re.match(sentence, said) for said, sentence in zip(unlike, sentences, strict=True))
    assert call(["compare", str(run.path), "--published"]) == 0
    assert capsys.readouterr().out.count("not as published: ") == len(sentences)
