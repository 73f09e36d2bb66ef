"""Which texts hold an answer."""

from __future__ import annotations

import pytest

from codec_superb.applications.text.answers import INVALID, NO_ANSWER, answer_of_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": "1 km"}', "1 km"),
        ('{"answer": "No Answer", "reason": "x"}', NO_ANSWER),
        (' "No Answer" ', NO_ANSWER),
        ('"1 km"', INVALID),
        ("1 km", INVALID),
        ("", INVALID),
        ('{"answer": 1}', INVALID),
        ('{"answer": ""}', INVALID),
        ("[" * 100_000, INVALID),
    ],
)
def test_an_answer_is_json(text: str, expected: str) -> None:
    """What does not parse, or holds no text, is invalid; so is a text that is not told to be the answer."""
    assert answer_of_json(text) == expected
