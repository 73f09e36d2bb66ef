"""Reads JSON of others strictly (RFC 8259): no NaN, no repeated name, bounded bytes, depth and integers."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

DEPTH_LIMIT = 16
"""Levels of nesting; a submission has seven."""
LARGEST_INTEGER = 2**53
"""Beyond it a reader with doubles alone, such as a browser, reads another number (RFC 8259, section 6)."""
_DIGITS = len(str(-LARGEST_INTEGER))


class StrictJsonError(ValueError):
    """What is read is no such JSON, or too much; the text says what was expected and what came."""


def content(file: Path, limit: int) -> bytes:
    """Return the bytes of a file, and never read more than ``limit``. Raises StrictJsonError that names the file."""
    try:
        with file.open("rb") as opened:
            data = opened.read(limit + 1)
    except OSError as error:
        raise StrictJsonError(f"{file}: cannot be read: {error.strerror or error}") from error
    if len(data) > limit:
        raise StrictJsonError(f"{file}: expected at most {limit:,} bytes, got more")
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise StrictJsonError(f"expected finite numbers only, got {name}; a value that does not exist is null")


def _exact(text: str) -> int:
    # before int(), whose cost grows with the square of the digits
    if len(text) > _DIGITS or abs(value := int(text)) > LARGEST_INTEGER:
        raise StrictJsonError(f"expected whole numbers of at most 2^53, got {text[:40]}")
    return value


def loads(
    data: bytes | str, *, constant: Callable[[str], Any] = _refuse_constant, whole: Callable[[str], Any] = _exact
) -> Any:
    """Read JSON; StrictJsonError for anything that a strict reader elsewhere would read in another way.

    ``constant`` is asked for the words NaN, Infinity and -Infinity, ``whole`` for whole numbers.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = json.loads(
            text, parse_constant=constant, parse_float=_finite, parse_int=whole, object_pairs_hook=_unique
        )
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"expected UTF-8 text: {error}") from error
    # json.loads recurses for each level, and Python limits recursion
    except RecursionError:
        raise StrictJsonError(f"expected at most {DEPTH_LIMIT} levels of nesting, got far more") from None
    except StrictJsonError:
        raise
    except ValueError as error:
        raise StrictJsonError(f"expected JSON: {error}") from error
    _check_depth(found)
    return found


def _finite(text: str) -> float:
    # 1e999 is valid JSON and infinity in Python
    value = float(text)
    if not math.isfinite(value):
        raise StrictJsonError(f"expected finite numbers only, got {text[:40]}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise StrictJsonError(f"expected each name once in an object, got {twice[:40]!r} twice")
    return found


def _check_depth(data: Any) -> None:
    """Walk level by level, without recursion."""
    level = [data]
    for _ in range(DEPTH_LIMIT + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    raise StrictJsonError(f"expected at most {DEPTH_LIMIT} levels of nesting")
