"""Strict JSON (RFC 8259): no NaN, no Infinity, no repeated name, bounded depth and integers; same data, same bytes."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from typing import Any, NoReturn

from codec_superb.pipeline.errors import SubmissionError

DEPTH_LIMIT = 16
"""Levels of nesting; a submission has seven."""
LARGEST_INTEGER = 2**53
"""Beyond it a reader with doubles alone, such as a browser, reads another number (RFC 8259, section 6)."""


def dumps(data: Any) -> bytes:
    """Write data as UTF-8 JSON with sorted names; SubmissionError for NaN or Infinity."""
    try:
        # sorted names and fixed spaces: a document has one form, and so one hash
        text = json.dumps(data, allow_nan=False, ensure_ascii=False, sort_keys=True, indent=1)
    except ValueError as error:
        raise SubmissionError(f"expected finite numbers only: {error}") from error
    return text.encode() + b"\n"


def loads(data: bytes) -> Any:
    """Read strict JSON; SubmissionError for anything that a strict reader elsewhere would read in another way."""
    try:
        found = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_exact,
            object_pairs_hook=_unique,
        )
    except UnicodeDecodeError as error:
        raise SubmissionError(f"expected UTF-8 text: {error}") from error
    # json.loads recurses for each level, and Python limits recursion
    except RecursionError:
        raise SubmissionError(f"expected at most {DEPTH_LIMIT} levels of nesting, got far more") from None
    except ValueError as error:
        raise SubmissionError(f"expected JSON: {error}") from error
    _check_depth(found)
    return found


def digest(data: Any) -> str:
    """SHA-256 of the data as :func:`dumps` writes them."""
    return hashlib.sha256(dumps(data)).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise SubmissionError(f"expected finite numbers only, got {name}; a value that does not exist is null")


def _finite(text: str) -> float:
    # 1e999 is valid JSON and infinity in Python
    value = float(text)
    if not math.isfinite(value):
        raise SubmissionError(f"expected finite numbers only, got {text[:40]}")
    return value


def _exact(text: str) -> int:
    # before int(), whose cost grows with the square of the digits
    if len(text) > len(str(-LARGEST_INTEGER)) or abs(value := int(text)) > LARGEST_INTEGER:
        raise SubmissionError(f"expected whole numbers of at most 2^53, got {text[:40]}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise SubmissionError(f"expected each name once in an object, got {twice[:40]!r} twice")
    return found


def _check_depth(data: Any) -> None:
    """Walk level by level, without recursion."""
    level = [data]
    for _ in range(DEPTH_LIMIT + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    raise SubmissionError(f"expected at most {DEPTH_LIMIT} levels of nesting")
