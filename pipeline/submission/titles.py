"""What a title or a name may be on a board: one line of visible text that keeps to its own row."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

TITLE_LIMIT = 80
"""Characters of a title."""
MARKS = 2
"""Combining marks in a row after composition (NFC): scripts that write vowel and tone signs need two, such as Thai."""
_PLAIN_SIGNS = frozenset("°№©®™♩♪♫♬♭♮")
"""Symbols of Unicode's category So, of which the others are emoji, stars, ticks, medals and the like."""
_LIKE_MARKS = frozenset("√⋆٭꙳𐄂\uaa9c")
"""Ticks and stars of other categories."""
_LINES = str.maketrans("\n\r\t", "   ")
_UNSEEN = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Letters and marks without a shape: joiners, fillers and variation selectors (Unicode's property
Default_Ignorable_Code_Point), and the empty pattern of Braille."""


def title_fault(title: str, limit: int = TITLE_LIMIT) -> tuple[str, str] | None:
    """Return what is expected of a title and what came, where it cannot be shown; None where it can.

    ``limit`` is its length in characters; names of models have a longer one.
    """
    rules = (
        (not title.strip(), "a text with letters", "a blank one"),
        (len(title) > limit, f"at most {limit} characters", f"{len(title)}"),
        *_of_letters(title, "one line of visible characters"),
        (title.split(" ") != title.split(), "a text without spaces at its ends or two in a row", f"{title!a}"),
        *_of_marks(title),
        (title != unicodedata.normalize("NFC", title), "text composed as Unicode's form NFC has it", f"{title!a}"),
    )
    return next(((expected, got) for fault, expected, got in rules if fault), None)


def text_fault(text: str) -> tuple[str, str] | None:
    """Return the same of a text of several lines: a letter that is not seen, or that leaves its line."""
    rules = _of_letters(text.translate(_LINES), "visible characters")
    return next(((expected, got) for fault, expected, got in rules if fault), None)


def as_seen(text: str) -> str:
    """Replace what :func:`text_fault` would find hidden, in a text that a program puts together."""
    return "".join(letter if letter in "\n\r\t" or _is_visible(letter) else "\ufffd" for letter in text)


def _of_letters(text: str, what: str) -> Iterator[tuple[bool, str, str]]:
    hidden = next((letter for letter in text if not _is_visible(letter)), None)
    yield bool(hidden), f"{what} and plain spaces", f"{_name(hidden)} in {text[:TITLE_LIMIT]!a}"
    marks = _longest_stack(text)
    yield marks > MARKS, f"at most {MARKS} combining marks on a letter", f"{marks} in {text[:TITLE_LIMIT]!a}"


def badge_like(text: str) -> str:
    """Return the name of the first tick, star, medal or other emoji of a text, '' for none."""
    marks = {letter for letter in set(text) if _is_mark(letter)}  # each once: a file may have a megabyte of settings
    return _name(next((letter for letter in text if letter in marks), None) if marks else None)


def _of_marks(title: str) -> Iterator[tuple[bool, str, str]]:
    mark = badge_like(title)
    yield bool(mark), "no ticks, stars, medals or other emoji, which look like badges", f"{mark} in {title!a}"


def _is_mark(letter: str) -> bool:
    kind = unicodedata.category(letter)
    numbered = kind == "No" and "CIRCLED" in unicodedata.name(letter, "")  # ① reads as a rank
    # Me: a circle or a key around the letter before
    return (kind == "So" and letter not in _PLAIN_SIGNS) or letter in _LIKE_MARKS or kind == "Me" or numbered


def _is_visible(letter: str) -> bool:
    if letter in _UNSEEN:
        return False
    # C: control, format, surrogate, private, unassigned; Zl, Zp: ends of lines; Zs: spaces of other widths
    return letter == " " or unicodedata.category(letter)[0] not in "CZ"


def _name(letter: str | None) -> str:
    return f"U+{ord(letter):04X} {unicodedata.name(letter, '')}".strip() if letter else ""


def _longest_stack(title: str) -> int:
    longest = stack = 0
    for letter in title:
        stack = stack + 1 if unicodedata.category(letter)[0] == "M" else 0
        longest = max(longest, stack)
    return longest
