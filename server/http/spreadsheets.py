"""Texts of strangers in CSV: a cell that begins like a formula is computed, unless an apostrophe is in front."""

from __future__ import annotations

import re

FORMULA_SIGNS = r"=+\-@\t\r"
"""How formulas begin, for a class of a regular expression."""
_BEGINS = re.compile(f"[{FORMULA_SIGNS}]")


def escape_formula(text: str) -> str:
    """Return a text that is one for a spreadsheet too."""
    return f"'{text}" if _BEGINS.match(text) else text
