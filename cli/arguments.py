"""Options that take several values after one name: ``--codec opus_6k opus_12k`` as well as ``--codec a --codec b``."""

from __future__ import annotations

from collections.abc import Sequence

MANY = ("--codec", "--dataset", "--metric", "--probe-codec", "--scope", "--variant")


def spread(arguments: Sequence[str]) -> list[str]:
    """Repeat the name of a many-valued option before each of its values, which is what the parser understands.

    Values end at the next option or at ``--``. A single value stays as it is.
    """
    out: list[str] = []
    name = ""
    fresh = False
    for argument in arguments:
        if argument.startswith("-"):
            out.append(argument)
            name, fresh = (argument, True) if argument in MANY else ("", False)
        elif name and not fresh:
            out += [name, argument]
        else:
            out.append(argument)
            fresh = False
    return out
