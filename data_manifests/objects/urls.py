"""URLs of data in a store, and texts without what a URL must not carry: names, passwords, signatures."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from codec_superb.data_manifests.errors import DatasetError

SCHEMES = ("s3", "gs", "hf", "file")
"""Of URLs that name data."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
# the path ends where a text would end an address
_BEGIN = r"((?:[A-Za-z][A-Za-z0-9+.-]*:/|(?:s3|gs|hf|https?):)/"  # a path of a URL has lost a slash
_USER = re.compile(rf"{_BEGIN})[^\s/?#]*@")
_QUERY = re.compile(rf"{_BEGIN}[^\s?#'\"<>]*)[?#][^\s'\"<>)]*")


def is_url(text: str) -> bool:
    """Whether a text is a URL, of whatever scheme; a path is none."""
    return _SCHEME.match(text) is not None


def without_secrets(text: str) -> str:
    """Return a text without names, passwords and queries of the URLs in it: signatures and tokens stand in queries."""
    return _QUERY.sub(r"\1", _USER.sub(r"\1", text))


def checked_url(text: str) -> str:
    """Return a URL without a slash at its end.

    Raises DatasetError for another scheme, and for a name, password or query in it: they would stand in results.
    """
    scheme = _SCHEME.match(text)
    shown = without_secrets(text)
    if scheme is None or scheme[0] not in SCHEMES:
        raise DatasetError(f"{shown}: expected a URL that begins with {', '.join(f'{name}://' for name in SCHEMES)}")
    if shown != text:
        raise DatasetError(
            f"{shown} was given with a name, a password or a query: results would carry it; name it without, and give "
            "credentials as the store's own programs take them (docs/cluster.md)"
        )
    return text.rstrip("/")


def local_path(url: str) -> Path | None:
    """Return the path of a ``file://`` URL; None for a store. Raises DatasetError for one of another machine."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    if parts.netloc not in {"", "localhost"}:
        raise DatasetError(f"{url}: expected file:///PATH, got the machine {parts.netloc}")
    return Path(unquote(parts.path))
