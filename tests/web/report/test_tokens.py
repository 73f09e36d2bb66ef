"""The report's tables of tokens: a row a disturbance, a column a codebook, and metrics by codings."""

from __future__ import annotations

from codec_superb.metrics.results import Score
from codec_superb.web.report.tokens import token_tables
from codec_superb.web.rows import CountRow


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
