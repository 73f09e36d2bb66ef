"""Protect CSV exports against formula injection (CWE-1236): an apostrophe before texts that begin like a formula."""

from __future__ import annotations

import re

_SIGNS = r"=+\-@\t\r\n" + "＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋﬩⩵⩶−"
"""First characters of formulas (OWASP: CSV injection), what NFKC makes one of, and the minus sign U+2212."""
_UNSEEN = "\\s\u00a0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u3000\ufeff"
"""Spaces, and format characters without a shape, which programs skip."""
BEGINS_FORMULA = f"^[{_UNSEEN}]*[{_SIGNS}]"
"""Regular expression of the beginning of a formula, for ``re`` and RE2."""
_BEGINS = re.compile(BEGINS_FORMULA)


def escape_formula(text: str) -> str:
    """Return a text that spreadsheet programs do not evaluate as a formula."""
    return f"'{text}" if _BEGINS.match(text) else text
