"""No cell of an export begins as a formula, whatever a codec is called."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from codec_superb.web.spreadsheets import BEGINS_FORMULA, escape_formula

SIGNS = [
    chr(code) for code in range(0x30000) if unicodedata.normalize("NFKC", chr(code)).startswith(("=", "+", "-", "@"))
]  # fmt: skip
"""Of the first three planes: no character of the others is changed by NFKC."""


def test_every_form_of_a_sign_is_one() -> None:
    """Programs may normalise what they read: full-width, small, raised and lowered signs are signs (NFKC)."""
    assert len(SIGNS) > 15
    assert [hex(ord(sign)) for sign in SIGNS if escape_formula(f"{sign}1") != f"'{sign}1"] == []


@pytest.mark.parametrize(
    "text", ["=1", "\t=1", "\r1", "\n=1", "\ufeff=1", "\u200b＋1", "\u3000=1", "−1", " @x",
             "x=1", "opus_6k", "", "’=", "5 - 3"],
)  # fmt: skip
def test_columns_and_cells_are_treated_alike(text: str) -> None:
    """Python and Arrow use one expression; what begins otherwise stays as it is."""
    escaped = escape_formula(text)
    assert escaped == (text if text[:1] in {"x", "o", "", "’", "5"} else f"'{text}")
    assert pc.replace_substring_regex(pa.array([text]), BEGINS_FORMULA, r"'\0").to_pylist() == [escaped]
