"""Application metrics in one table: what stands over its columns."""

from __future__ import annotations

import pytest

from codec_superb.cli.application_matrix import ORIGINAL, print_matrix


def test_columns_state_the_unit_of_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """Percent where it is percent; kbps and bits are in the names."""
    figures = {"tokens_recode_pct": 46.5, "tokens_entropy_kbps": 2.9, "tokens_coded_bits": 3.6}
    facts = {
        "codec": "lyra_3.2k",
        "dataset": "mini",
        "backend": "codec-codes",
        "reference": 4.0,
        "clips": 3,
        "failed": 0,
    }
    print_matrix([{**facts, "figure": key, "value": value} for key, value in figures.items()], ["lyra_3.2k"])
    printed = capsys.readouterr().out
    heads = next(line for line in printed.splitlines() if line.startswith("codec"))
    assert heads.split() == ["codec", "tokens_recode", "%", "↑", "tokens_entropy_kbps", "↓", "tokens_coded_bits", "↓"]
    assert ORIGINAL in printed
