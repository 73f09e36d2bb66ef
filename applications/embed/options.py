"""Options of an encoder behind its name: ``pooled-transformers:OWNER/NAME,layer=9,pooling=max``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Setting

_OPTIONS = re.compile(r",(\w+)=([^,=]*)")
_TAIL = re.compile(rf"(?:{_OPTIONS.pattern})*$")


def read_options(
    variant: str, defaults: Mapping[str, Setting], *, others: bool = False
) -> tuple[str, dict[str, Setting]]:
    """Return what stands before the options of ``NAME,key=value,…``, and all options; a number keeps its kind.

    The first one needs no comma where no name stands before it. Raises ApplicationError for an option without a
    default, which ``others`` leaves behind the name instead, one that comes twice, and a value of another kind.
    """
    named = not any(variant.startswith(f"{key}=") for key in defaults)
    text = variant if named else f",{variant}"
    found = _TAIL.search(text)
    assert found is not None  # it matches the empty end
    options = dict(defaults)
    given: set[str] = set()
    name = text[: found.start()]
    for match in _OPTIONS.finditer(found.group()):
        key, value = match.groups()
        if others and key not in defaults:
            name += match.group()
            continue
        if key not in defaults or key in given:
            raise ApplicationError(f"expected each of the options {', '.join(defaults) or '(none)'} once, got {key!r}")
        given.add(key)
        options[key] = _as(key, value, defaults[key])
    return name, options


def _as(key: str, value: str, default: Setting) -> Setting:
    try:
        return type(default)(value)
    except ValueError as error:
        raise ApplicationError(
            f"option {key}: expected a value such as {default!r}, got {value!r}; leave it out for {default!r}"
        ) from error
