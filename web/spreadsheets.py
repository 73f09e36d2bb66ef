"""Protect CSV exports against formula injection (CWE-1236): an apostrophe before texts that begin like a formula."""

from __future__ import annotations

import re

FORMULA_SIGNS = r"=+\-@\t\r"
"""First characters of formulas, for a character class of a regular expression."""
_BEGINS = re.compile(f"[{FORMULA_SIGNS}]")


def escape_formula(text: str) -> str:
    """Return a text that spreadsheet programs do not evaluate as a formula."""
    # OWASP, CSV injection: programs run a cell that begins with one of these as a formula
    return f"'{text}" if _BEGINS.match(text) else text
