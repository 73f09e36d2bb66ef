"""Strict JSON: what other readers would take in another way is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.tables.strict_json import digest, dumps, loads
from codec_superb.strict_json import DEPTH_LIMIT

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
WHOLE = st.integers(-(2**53), 2**53)
DATA = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)


@given(DATA)
def test_data_come_back_bit_for_bit(data: Any) -> None:
    """Floats keep every bit, text every character; any JSON reader agrees."""
    written = dumps(data)
    assert loads(written) == data
    assert json.loads(written) == data


@given(st.dictionaries(TEXT, WHOLE, min_size=2))
def test_order_of_names_changes_nothing(data: dict[str, int]) -> None:
    """The same data give the same bytes, and so the same hash."""
    assert digest(dict(reversed(list(data.items())))) == digest(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": Infinity}', "Infinity"),
        (b"[-Infinity]", "-Infinity"),
        (b"[1e999]", "1e999"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a' twice"),
        (b'{"x": {"y": 1, "y": 1}}', "'y' twice"),
        (b'"\xff"', "UTF-8"),
        (b"\xef\xbb\xbf{}", "JSON"),
        (b"{} {}", "JSON"),
        (b"", "JSON"),
        (b"{'a': 1}", "JSON"),
        (b"[" + b"9" * 5000 + b"]", "whole numbers"),
        (b"[" * 100_000 + b"]" * 100_000, "nesting"),
        (b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1), "nesting"),
    ],
)
def test_what_is_not_strict_is_refused(text: bytes, message: str) -> None:
    """Not a number, a name twice, a bomb of brackets or digits: each is an error with its reason."""
    with pytest.raises(SubmissionError, match=message):
        loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_does_not_have_is_not_written(value: float) -> None:
    """Python would write NaN, which no strict reader takes."""
    with pytest.raises(SubmissionError, match="finite"):
        dumps({"a": [value]})


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 10**4000])
def test_integers_that_a_double_cannot_hold_are_refused(number: int) -> None:
    """Two to the 53rd comes back; beyond it, and of any length, a number is refused with its first digits."""
    assert loads(b"[%d, %d]" % (2**53, -(2**53))) == [2**53, -(2**53)]
    with pytest.raises(SubmissionError, match=r"whole numbers of at most 2\^53, got -?\d{16,40}$"):
        loads(b"[%d]" % number)
