"""The published boards of models, and the two averages that they are ordered by."""

from __future__ import annotations

import numpy as np
import pytest

from codec_superb.applications.ultra.further_averages import generation, understanding
from codec_superb.pipeline.literature.uea import BOARDS, BoardName, average_of, contradictions, uea_about, uea_board


@pytest.mark.parametrize(("board", "rows"), [("understanding", 12), ("generation", 6)])
def test_every_published_average_reproduces(board: BoardName, rows: int) -> None:
    """The average of each row's figures is the printed one to rounding."""
    models = uea_board(board)
    assert len({model.model for model in models}) == len(models) == rows
    for model in models:
        assert model.computed(board) == pytest.approx(model.average, abs=0.00501), model.model


def test_an_error_rate_above_100_is_not_cut() -> None:
    """Gemini 1.5 Flash has an error rate of 279.9 %: cut at 100 %, its average would be 21 points higher."""
    (model,) = (model for model in uea_board("understanding") if model.model == "Gemini-1.5-Flash")
    cut = {key: min(value, 100.0) for key, value in model.figures.items()}
    assert average_of("understanding", cut) - model.average > 20.0


def test_the_two_figures_of_the_readme_contradict_its_averages() -> None:
    """CMMLU of 49.22 and 66.98 give averages that differ from the printed ones by more than rounding."""
    assert [(of.model, of.printed) for of in contradictions()] == [("MiniCPM-o 2.6", 49.22), ("Kimi-Audio", 66.98)]
    rows = {model.model: model for model in uea_board("generation")}
    for of in contradictions():
        row = rows[of.model]
        assert abs(average_of("generation", {**row.figures, of.figure: of.printed}) - row.average) > 0.3


def test_the_averages_take_draws_and_refuse_other_numbers() -> None:
    """A bootstrap is one call; a figure too few is an error; NaN stays."""
    rates = [np.array([10.0, 20.0])] * 10
    assert understanding(rates, [30.0, 30.0], 50.0) == pytest.approx([1010 / 13, 910 / 13])
    assert float(generation([40.0] * 5, [4.0] * 3)) == pytest.approx(280 / 6)
    assert np.isnan(generation([float("nan")] * 5, [4.0] * 3))
    with pytest.raises(ValueError, match="10 error rates, got 9"):
        understanding(rates[:9], [30.0, 30.0], 50.0)
    with pytest.raises(ValueError, match="3 opinion scores, got 2"):
        generation([40.0] * 5, [4.0] * 2)


def test_the_source_says_that_they_are_no_codecs() -> None:
    """Citation, date and mark are there for both boards."""
    about = uea_about()
    assert about["statement"] == "Published, not re-run here."
    assert set(about["boards"]) == set(BOARDS)
    assert all(sentence.endswith(".") for sentence in about["differs"])
