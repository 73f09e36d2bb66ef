"""Formats numbers and names for people, and escapes names for Plotly's mark-up."""

from __future__ import annotations

import unicodedata
from math import isnan
from urllib.parse import quote

MISSING = "–"
_MINUS = "−"  # U+2212, as wide as the plus sign


def number(value: float | None, decimals: int) -> str:
    """Write ``value`` with fixed ``decimals`` and a true minus sign; a dash for None. ``-0.4, 0`` gives ``0``."""
    if value is None:
        return MISSING
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", _MINUS)


def signed(value: float | None, decimals: int) -> str:
    """Write a difference as ``number`` does, with a sign before all but 0; a dash for None."""
    text = number(value, decimals)
    return f"+{text}" if value is not None and value > 0 and float(text) > 0 else text


def percent(share: float | None) -> str:
    """Write a share of 1 in whole per cent: ``97 %``; a dash for None."""
    return MISSING if share is None else f"{100 * share:.0f} %"


def significant(value: float | None, digits: int = 2) -> str:
    """Write ``value`` with significant ``digits`` and no exponent; a dash for None. ``0.00417`` gives ``0.0042``."""
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    magnitude = int(f"{value:.{digits - 1}e}".split("e")[1])  # after rounding: 0.0999 is 0.10
    return number(value, max(0, digits - 1 - magnitude))


_LEAST_KBPS = 0.0001
"""A bit in ten seconds; a card may state less, with hundreds of digits."""


def kbps(value: float) -> str:
    """Write a bitrate in kbps with two or three digits: ``0.00052``, ``0.70``, ``12.8``, ``128``; a dash for NaN."""
    if isnan(value):
        return MISSING
    if value >= 99.95:  # noqa: PLR2004 - where rounding reaches three digits
        return number(value, 0)
    if 0 < value < _LEAST_KBPS:
        return f"< {_LEAST_KBPS}"
    if 0 < value < 0.0995:  # noqa: PLR2004 - where two decimals are one digit
        return significant(value)
    return number(value, 1 if value >= 9.995 else 2)  # noqa: PLR2004 - likewise two digits


def p_value(value: float | None) -> str:
    """Write a p-value with two digits, ``< 0.001`` below that; a dash for None."""
    least = 0.001
    return f"< {least}" if value is not None and value < least else significant(value)


def hertz(rate: int | None) -> str:
    """Write a sampling rate in kHz: ``44.1 kHz``, ``16 kHz``; a dash for None."""
    return MISSING if rate is None else f"{number(rate / 1000, 3).rstrip('0').rstrip('.')} kHz"


def interval(low: float | None, high: float | None, decimals: int) -> str:
    """Write an interval as ``[low, high]``, or nothing when one end is unknown."""
    if low is None or high is None:
        return ""
    return f"[{number(low, decimals)}, {number(high, decimals)}]"


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """Write an amount with its noun: ``1 clip``, ``2 clips``."""
    return f"{amount} {noun if amount == 1 else plural or noun + 's'}"


def rank(ranks: tuple[int, int] | None) -> str:
    """Write a range of ranks: ``2``, ``2–4``, or a dash."""
    if ranks is None:
        return MISSING
    best, worst = ranks
    return str(best) if best == worst else f"{best}–{worst}"


def shortened(name: str, length: int = 28) -> str:
    """Cut a long name and mark the cut."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def chart_text(name: str, length: int = 80) -> str:
    """Make any name plain text for Plotly, which reads tags and entities in labels; at most ``length`` characters.

    Control characters become spaces: a name comes from a file system and may hold anything.
    """
    visible = "".join(" " if unicodedata.category(letter) in {"Cc", "Cs"} else letter for letter in name)
    return shortened(visible, length).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def codec_address(codec: str) -> str:
    """Return the address of a codec's page; a published one, ``<table>:<id>``, has its page under its id."""
    name = codec.partition(":")[2] or codec
    return f"/codecs/{quote(name, safe='')}"
