"""What options take: ``--codec opus_6k opus_12k`` as well as ``--codec a --codec b`` for some, one value for the rest.

The parser keeps the last value of an option that takes one and drops the others without a word: they are counted here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from typer.core import TyperArgument, TyperGroup, TyperOption

MULTI_VALUE_OPTIONS = ("--codec", "--dataset", "--metric", "--probe-codec", "--scope", "--variant")
"""They take several values after one name, in commands where they take several at all."""


class RepeatedOption(Exception):
    """An option that takes one value was given several."""


class _Given(NamedTuple):
    """An option with its value, and the words from there to the next option."""

    name: str
    own: list[str]
    """The name and the value, as one word or two."""
    more: list[str]


def repeat_option_names(arguments: Sequence[str], group: TyperGroup) -> list[str]:
    """Repeat the name of a many-valued option before each of its values, which is what the parser understands.

    Values end at the next option or at ``--``. ``group`` holds the commands, which know what their options take.
    Raises RepeatedOption for several values of an option that takes one: repeated, or one after another where the
    command takes nothing else that they could be.
    """
    parameters = _parameters(iter(arguments), group)
    options = {name: its for its in parameters if isinstance(its, TyperOption) and not its.is_flag for name in its.opts}
    has_arguments = any(isinstance(each, TyperArgument) for each in parameters)
    out, single = list[str](), defaultdict[str, list[str]](list)
    for name, own, more in _taken_apart(arguments, options):
        option = options.get(name)
        if option is not None and not option.multiple:
            values = [own[-1].removeprefix(f"{name}="), *([] if has_arguments else more)]
            single[max(option.opts, key=len)] += values
        if option is not None and option.multiple and name in MULTI_VALUE_OPTIONS:
            out += [*own, *(word for value in more for word in (name, value))]
        else:
            out += [*own, *more]
    for name, values in single.items():
        if len(values) > 1:
            raise RepeatedOption(f"expected one {name}, got {len(values)}: {', '.join(values)}; keep one of them")
    return out


def _parameters(words: Iterator[str], group: TyperGroup) -> Sequence[object]:
    """Return the options and arguments of the command that is called; none where there is no such command."""
    for word in words:
        found = group.commands.get(word)
        if isinstance(found, TyperGroup):
            return _parameters(words, found)
        if found is not None:
            return found.params
    return ()


def _taken_apart(arguments: Sequence[str], options: Container[str]) -> Iterator[_Given]:
    """Yield the arguments, a new item at each option and at ``--``; ``options`` are those that take values."""
    given = _Given("", [], [])
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield given
            given = _Given("", [argument, *rest], [])
        elif argument.startswith("-"):
            yield given
            name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
            # The word behind a bare name is its value, whatever it looks like.
            value = islice(rest, 1) if name == argument and name in options else ()
            given = _Given(name, [argument, *value], [])
        else:
            given.more.append(argument)
    yield given
