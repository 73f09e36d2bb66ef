"""Finds the letter of an option in an answer: what it states, not any letter inside a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from codec_superb.applications.task_definitions.definition import Argument

LETTERS = "ABCD"
_LATIN = r"A-Za-z\u00c0-\u024f0-9'’"
_BEFORE, _BEHIND = rf"(?<![{_LATIN}])", rf"(?![{_LATIN}])"
_OPEN, _CLOSE = r"[(\[{（【「《*\"'“$]{0,4}", r"[)\]}）】」》*\"'”$]{0,4}"
_STATES = (
    r"(?:\b(?:answer|choice|option|choose|chose|pick|select|selected|go\s+with)\b"
    r"|答案|选项|选择|应选|故选|选|應選|選擇|選項|選)"
)
_FILLER = (
    r"(?:\s|[:：=]|(?:\b(?:is|was|be|are|would|should|must|will|the|option|letter|choice|answer|correct|to|definitely)\b)"
    r"|应该|应当|应|是|为|该|就|項|项|為|應)*"
)
_ARTICLE = r"(?!\s+(?!(?:because|since|as|which|due|is|for|and|or)\b)[a-z])"
"""Behind a bare A, which may be the article: ``A dog`` is no answer, ``A because`` is."""
_ENDS = r"(?=\s*(?:$|[.,;:!?)\]}。，、；：！？）】*\n]))"
"""Behind a small letter, which may be a word: the end, or a mark."""


def first_option(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Return the letter among ``options`` (``ABCD``) that the answer states; else ``default`` ('').

    In this order: behind words such as *answer* or 答案 (the last such statement), in brackets or a box, at the
    beginning before a mark, alone on a line, and a capital that stands alone. From the second on it must be the only
    one of its kind. Letters inside words, the article and letters behind *not* are none.
    """
    found = letter(answer, str(arguments.get("options", LETTERS)))
    return found or str(arguments.get("default", ""))


def letter(answer: str, options: str) -> str:
    """Return the letter of ``options`` that an answer states, in upper case; '' where it states none."""
    options = "".join(dict.fromkeys(sign for sign in options.upper() if sign.isascii() and sign.isalnum()))
    if not options:
        return ""
    refused, states, *others = _patterns(options)
    text = refused.sub(" ", answer[:65_536])
    stated: list[str] = states.findall(text)
    if stated:
        return stated[-1].upper()
    for pattern in others:
        found = {sign.upper() for sign in pattern.findall(text)}
        if len(found) == 1:
            return str(found.pop())
        if found:
            return ""
    return ""


@lru_cache(maxsize=64)
def _patterns(options: str) -> tuple[re.Pattern[str], ...]:
    capitals, small = re.escape(options), re.escape(options.lower())
    article = "".join(sign for sign in options if sign in "AI")
    plain = "".join(sign for sign in options if sign not in "AI")
    forms = [f"[{article}]{_BEHIND}{_ARTICLE}"] if article else []
    capital = "|".join([*forms, *([f"[{plain}]{_BEHIND}"] if plain else [])])
    one = rf"(?:{capital})|[{small}]{_BEHIND}{_ENDS}"
    return (
        re.compile(
            rf"(?:\bnot\b|n't\b|不是|不选|并非)\s*(?:be|the|option|answer|选项|\s)*\s*{_OPEN}[{capitals}]{_CLOSE}{_BEHIND}",
            re.ASCII,
        ),
        re.compile(
            rf"(?i:{_STATES}){_FILLER_CASE}{_OPEN}{_BEFORE}({one}|[{small}](?=[)\]}}）】])|[{capitals}](?=[)\]}}）】]))"
        ),
        re.compile(
            rf"(?:\\boxed\{{\s*(?:\\text\{{)?|[(\[（【]\s*|\*\*)({_both(capitals, small)})"
            r"\s*(?:[)\]}）】]|\*\*|[.:]\s*)"
        ),
        re.compile(rf"^\s*{_OPEN}({_both(capitals, small)}){_CLOSE}\s*(?:[.:,)、。：，）]|$)"),
        re.compile(rf"(?m)^\s*{_OPEN}([{capitals}]){_CLOSE}\s*[.。:：]?\s*$"),
        re.compile(rf"{_BEFORE}({capital})"),
    )


def _both(capitals: str, small: str) -> str:
    return rf"[{capitals}{small}]"


_FILLER_CASE = rf"(?i:{_FILLER})"
