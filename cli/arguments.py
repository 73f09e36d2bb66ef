"""What Typer lacks: ``--codec opus_6k opus_12k`` besides ``--codec opus_6k --codec opus_12k``, and whole summaries.

Click, on which Typer builds, keeps the last value of a repeated single-value option and drops the others silently;
such repetitions are detected here and refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from typer.core import TyperArgument, TyperGroup, TyperOption

MULTI_VALUE_OPTIONS = (
    "--codec", "--condition", "--dataset", "--matched", "--metric", "--probe-codec", "--scope", "--seed", "--share",
    "--variant",
)  # fmt: skip
"""Options that accept several values after one name, in commands where they accept several at all."""


class Group(TyperGroup):
    """Commands, listed with the whole first paragraph of their help, which Click cuts off after a line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is Click's
        """Write the list of commands in the order in which they were added."""
        rows = [(name, " ".join((of.help or "").split("\n\n")[0].split())) for name, of in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_help_option(self, ctx: Any) -> Any:
        """Return --help with False where it is not given: of None, Typer makes a flag by way of pydantic, for 80 ms."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class RepeatedOption(Exception):
    """A single-value option was given several values."""


class _Given(NamedTuple):
    """An option with its value, and the words up to the next option."""

    name: str
    own: list[str]
    """The name and the value, as one word or two."""
    more: list[str]


def repeat_option_names(arguments: Sequence[str], group: TyperGroup) -> list[str]:
    """Repeat the name of a multi-value option before each of its values, the form that Click parses.

    Values end at the next option or at ``--``. ``group`` holds the commands with their parameters.
    Raises RepeatedOption for several values of a single-value option: repeated, or one after another where the
    command has no positional arguments that they could be.
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
    """Return the options and arguments of the called command; empty where there is no such command."""
    for word in words:
        found = group.commands.get(word)
        if isinstance(found, TyperGroup):
            return _parameters(words, found)
        if found is not None:
            return found.params
    return ()


def _taken_apart(arguments: Sequence[str], options: Container[str]) -> Iterator[_Given]:
    """Split the arguments at each option and at ``--``; ``options`` are those that take values."""
    given = _Given("", [], [])
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield given
            given = _Given("", [argument, *rest], [])
        elif argument.startswith("-") and argument != "-":  # alone it is standard input
            yield given
            name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
            # The word after an option's name is its value, even if it begins with a dash.
            value = islice(rest, 1) if name == argument and name in options else ()
            given = _Given(name, [argument, *value], [])
        else:
            given.more.append(argument)
    yield given
