"""Removes local paths from published texts: a folder name may identify a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_URL = r"[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s'\"]+"  # without the bound letters alone take quadratic time
_QUOTED = r"(?P<mark>['\"])(?P<inside>(?:~[\w.-]*|[A-Za-z]:)?[/\\][^'\"\n]*)(?P=mark)"
_PATH = r"(?<![\w.…/\\-])(?:~[\w.-]*|[A-Za-z]:)?(?:[/\\][^\s/\\:;,'\"()<>|=]+)+[/\\]?"
_ANY = re.compile(f"(?P<url>{_URL})|{_QUOTED}|(?P<path>{_PATH})")


def scrub(text: str, folders: Sequence[str] = ()) -> str:
    """Cut every absolute path to its last part (``/home/ann/voices/a.wav`` → ``…/a.wav``); web addresses stay.

    ``folders`` are paths that are known to occur, such as one with a space in its name, which no pattern can find.
    """
    # longest first: a folder inside another must not lose its beginning only
    for folder in sorted((folder.rstrip("/\\") for folder in folders), key=len, reverse=True):
        text = text.replace(folder, "…") if folder else text
    return _ANY.sub(_shorten, text)


def scrub_all(data: Any, folders: Sequence[str] = ()) -> Any:
    """Scrub every string inside lists and dictionaries, names excepted."""
    if isinstance(data, str):
        return scrub(data, folders)
    if isinstance(data, dict):
        return {name: scrub_all(value, folders) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [scrub_all(value, folders) for value in data]
    return data


def _shorten(match: re.Match[str]) -> str:
    if match["url"]:
        # file:///home/ann is a path as well.
        return "file://…" if match["url"].lower().startswith("file:") else match["url"]
    mark, path = match["mark"] or "", match["inside"] or match["path"]
    *_, last = re.split(r"[/\\]", path.rstrip("/\\"))
    return f"{mark}…/{last}{mark}"
