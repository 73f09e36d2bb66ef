"""Jinja templates of strangers: a part of the language that has no way out and a bounded cost.

A template may hold texts, the variables of :data:`VARIABLES` with their items and fields, the filters and tests below,
conditions, and loops. Everything else that Jinja knows (calls, assignments, macros, includes, imports, multiplication,
formatting) is refused when it is compiled, so nothing in it can hold a function, a class or a file. What it does is
counted while it renders: characters that are read and made, and steps of loops by the size of their body.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateRuntimeError, TemplateSyntaxError, Undefined, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 65_536
"""Characters of a template, and of what it renders to."""
VARIABLES = ("question", "choices", "classes", "language", "extra")
"""What a template sees of a clip and its task."""
_PLAIN = ("question", "choices", "classes", "language")
"""Texts and lists of texts among them, which have no fields."""
_PARTS = 4096
"""Syntax nodes of a template."""
_DEEPEST = 32
"""Syntax nodes inside each other; Python's own compiler has limits of its own not far above."""
_WORK = 1_000_000
"""Characters and steps of one rendering, about half a second."""
_LOOP = frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length"})
_FILTERS = (
    "capitalize", "count", "d", "default", "first", "last", "length", "list", "lower", "reverse", "sort", "string",
    "title", "trim", "unique", "upper",
)  # fmt: skip
_TESTS = ("defined", "undefined", "equalto", "==", "eq", "ne", "!=", "even", "odd", "in", "string", "none")
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Test, nodes.If, nodes.For, nodes.CondExpr, nodes.Compare, nodes.Operand,
    nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Add, nodes.Sub, nodes.List, nodes.Tuple, nodes.Keyword,
)  # fmt: skip
_left: ContextVar[list[int]] = ContextVar("_left")


@functools.lru_cache(maxsize=256)
def compiled(text: str, variables: tuple[str, ...] = VARIABLES) -> Template:
    """Return the template of a text. Raises jinja2.TemplateSyntaxError, with the line, for what is none or not allowed.

    Render it with :func:`rendered` alone.
    """
    if len(text) > LONGEST:
        raise TemplateSyntaxError(f"expected at most {LONGEST} characters, got {len(text)}", 1)
    environment = _environment()
    try:
        tree = environment.parse(text)
        _check(tree, variables)
        return environment.from_string(_counted(tree))
    # a number of thousands of digits is a ValueError, loops inside each other are a SyntaxError of Python's own
    except (RecursionError, ValueError, SyntaxError) as error:
        raise TemplateSyntaxError(f"cannot be read: {error}", 1) from error


def rendered(text: str, known: Mapping[str, Any], variables: tuple[str, ...] = VARIABLES) -> str:
    """Return a template with the values of ``variables``: texts, lists of texts, and texts by name.

    Raises jinja2.TemplateError for what is missing and for a template that does too much.
    """
    token = _left.set([_WORK])
    try:
        found, length = [], 0
        for piece in compiled(text, variables).generate(known):
            length += len(piece)
            if length > LONGEST:
                raise TemplateRuntimeError(f"expected a prompt of at most {LONGEST} characters, got more")
            found.append(piece)
        return "".join(found)
    finally:
        _left.reset(token)


class _Environment(ImmutableSandboxedEnvironment):
    """Knows items of lists, texts by name and the state of a loop, and no attribute of anything else."""

    intercepted_binops = frozenset({"+", "-"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj).__name__ == "LoopContext" and attribute in _LOOP:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute) if isinstance(obj, Mapping) else self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        named = isinstance(obj, Mapping) and isinstance(argument, str)
        if named or (isinstance(obj, str | list | tuple) and isinstance(argument, int | slice)):
            with suppress(LookupError):
                return _spent(obj[argument])
        return self.undefined(obj=obj, name=str(argument))

    def call_binop(self, _: Any, operator: str, left: Any, right: Any) -> Any:
        if not (isinstance(left, int) and isinstance(right, int)):
            raise TemplateRuntimeError(f"expected numbers around {operator}; write texts beside each other")
        return left + right if operator == "+" else left - right


@functools.cache
def _environment() -> _Environment:
    made = _Environment(undefined=StrictUndefined, autoescape=False)
    made.globals.clear()  # range, cycler, joiner, lipsum, namespace, dict
    known = made.filters
    made.filters = {name: _counting(known[name]) for name in _FILTERS}
    made.filters |= {"join": _join, "replace": _replace, _READ: _spent, _STEPS: _steps}
    made.tests = {name: made.tests[name] for name in _TESTS}
    return made


_READ, _STEPS = "_read", "_steps"


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple) else 1


def _spend(amount: int) -> None:
    left = _left.get()
    left[0] -= amount + 1
    if left[0] < 0:
        raise TemplateRuntimeError("it does too much: shorten its loops")


def _spent(value: Any) -> Any:
    if not isinstance(value, Undefined):
        _spend(_size(value))
    return value


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that is charged for what it is given and gives, and gives lists in place of iterators."""

    @functools.wraps(function)  # also what it asks Jinja to hand over
    def counted(*given: Any, **named: Any) -> Any:
        _spend(sum(0 if isinstance(of, Undefined) else _size(of) for of in given))
        found = function(*given, **named)
        return _spent(list(found) if isinstance(found, Iterator) else found)

    return counted


def _join(value: Sequence[Any], d: str = "") -> str:
    """Join the items of a list."""
    items = [str(item) for item in value]
    _spend(sum(map(len, items)) + len(items) * len(str(d)))
    return str(d).join(items)


def _replace(text: str, old: str, new: str) -> str:
    """Replace a text that is not empty, everywhere."""
    if not old:
        raise TemplateRuntimeError("replace: expected a text to be replaced, got an empty one")
    _spend(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _steps(value: Any, weight: int) -> list[Any]:
    """Return what a loop goes over, after its steps have been paid for."""
    items = list(value)
    _spend(len(items) * weight)
    return items


def _check(tree: nodes.Template, variables: tuple[str, ...]) -> None:
    """Refuse what is not allowed, with its line."""
    todo: list[tuple[nodes.Node, int, frozenset[str]]] = [(tree, 1, frozenset(variables))]
    for count, (node, depth, known) in enumerate(_growing(todo), 1):
        if count > _PARTS or depth > _DEEPEST:
            raise TemplateSyntaxError(f"expected at most {_PARTS} parts, {_DEEPEST} inside each other", node.lineno)
        _refuse(node, known)
        names = known
        if isinstance(node, nodes.For):
            targets = [of.name for of in (node.target, *node.target.find_all(nodes.Name)) if isinstance(of, nodes.Name)]
            names = known | {*targets, "loop"}
        todo += [(child, depth + 1, names) for child in node.iter_child_nodes()]


def _growing(todo: list[Any]) -> Iterator[Any]:
    while todo:
        yield todo.pop()


def _refuse(node: nodes.Node, names: frozenset[str]) -> None:
    match node:
        case nodes.For(recursive=True):
            said = "a loop may not be recursive"
        case nodes.Name(name=name) if node.ctx == "load" and name not in names:
            said = f"there is no variable {name!r}; {_near(name, tuple(sorted(names)))}"
        case nodes.Getattr(node=nodes.Name(name=name), attr=attr) if name in _PLAIN:
            said = f"{name} has no field {attr!r}: write {name} alone, or extra.{attr} for a label of your own"
        case nodes.Filter(name=name) if name not in (*_FILTERS, "join", "replace"):
            said = f"there is no filter {name!r} here; {_near(name, (*_FILTERS, 'join', 'replace'))}"
        case nodes.Test(name=name) if name not in _TESTS:
            said = f"there is no test {name!r} here; {_near(name, _TESTS)}"
        case nodes.Const(value=str(value)) if len(value) > LONGEST:
            said = "a text is too long"
        case _ if not isinstance(node, _NODES):
            said = f"{type(node).__name__.lower()} is not allowed: use texts, variables, filters, conditions and loops"
        case _:
            return
    raise TemplateSyntaxError(said, node.lineno)


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"


def _counted(tree: nodes.Template) -> nodes.Template:
    """Let every variable that is read and every loop pay."""
    for loop in list(tree.find_all(nodes.For)):
        weight = sum(1 for _ in loop.find_all(nodes.Node))
        loop.iter = _filtered(loop.iter, _STEPS, [nodes.Const(weight, lineno=loop.lineno)])
    _read_names(tree)
    return tree


def _read_names(node: nodes.Node) -> None:
    for field, value in list(node.iter_fields()):
        if isinstance(value, list):
            setattr(node, field, [_paying(of) for of in value])
        elif isinstance(value, nodes.Node):
            setattr(node, field, _paying(value))


def _paying(value: Any) -> Any:
    if isinstance(value, nodes.Name) and value.ctx == "load" and value.name != "loop":
        return _filtered(value, _READ, [])
    if isinstance(value, nodes.Node):
        _read_names(value)
    return value


def _filtered(node: nodes.Node, name: str, arguments: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(node, name, arguments, [], None, None, lineno=node.lineno)
