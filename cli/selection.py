"""Resolve codec and application names of the command line: exact names, shell patterns, files, comma lists."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import UnknownCodec


def codec_names(given: Sequence[str]) -> list[str]:
    """Resolve patterns such as ``opus_*`` against the registry; other names are returned unchanged, once each.

    Raises UnknownCodec when a pattern matches nothing.
    """
    chosen: dict[str, None] = {}
    for name in given:
        if any(sign in name for sign in "*?[") and ".py:" not in name:
            matches = [known for known in registry.names() if fnmatchcase(known, name)]
            if not matches:
                raise UnknownCodec(f"no codec matches {name!r}; `codec-superb codecs list` shows all names")
            chosen.update(dict.fromkeys(matches))
        else:
            chosen[name] = None
    return list(chosen)


def application_names(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names (``asr,asv``); each name is returned once, in order."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names)))
