"""Finds the first name in a document that its record lacks or has not, before pydantic, which describes all of them.

A megabyte of unknown names made 90,000 descriptions, in a second and a half and 170 MB; 300,000 clips without a name
took 12 s. A missing name is described with the whole record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

_SHOWN = 60
"""Characters of a name that are shown."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What can be in a value: the names of a record, or others up to a number, and what is in each item."""

    record: type[BaseModel] | None = None
    items: _Shape | None = None
    most: int | None = None


_LEAF = _Shape()
"""Nothing that has names."""


def first_misnamed(kind: type[BaseModel], data: Any) -> str | None:
    """Return a sentence about the first name that is unknown or missing, or one too many; None where there is none.

    What else may be wrong is pydantic's to find: bound it by ``max_length``, and by ``FailFast`` where it is a list.
    """
    return next(_misnamed(_Shape(kind), data, ""), None)


def _misnamed(shape: _Shape, data: Any, where: str) -> Iterator[str]:
    if isinstance(data, list) and shape.items is not None:
        for number, item in enumerate(data):
            if isinstance(item, dict | list):  # a generator for each of 450,000 numbers takes half a second
                yield from _misnamed(shape.items, item, f"{where}{number}.")
    elif isinstance(data, dict) and shape.record is not None:
        yield from _in_record(shape.record, data, where)
    elif isinstance(data, dict) and shape.most is not None:
        if len(data) > shape.most:
            yield f"{where.removesuffix('.')}: expected at most {shape.most} of them, not {len(data)}"
        for name, value in data.items():
            yield from _misnamed(shape.items or _LEAF, value, f"{where}{name[:_SHOWN]}.")


def _in_record(record: type[BaseModel], data: Mapping[str, Any], where: str) -> Iterator[str]:
    fields, required = _fields(record)
    yield from (f"{where}{name} is missing: state it" for name in required if name not in data)
    for name, value in data.items():
        inner = fields.get(name)
        if inner is None:
            yield f"{where}{name[:_SHOWN]} is unknown: take it out, or correct its name"
        elif inner is not _LEAF:
            yield from _misnamed(inner, value, f"{where}{name}.")


@cache
def _fields(kind: type[BaseModel]) -> tuple[Mapping[str, _Shape], Sequence[str]]:
    """Return the shape of each field, and the names that must be there."""
    fields = kind.model_fields
    required = [name for name, field in fields.items() if field.is_required()]
    return {name: _shape(field.annotation, field.metadata) for name, field in fields.items()}, required


def _shape(annotation: Any, metadata: Any = ()) -> _Shape:
    origin, given = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(given[0], given[1:])
    if origin in {Union, UnionType}:  # of one record or list and None; of several pydantic chooses
        shapes = {_shape(each) for each in given if each is not NoneType} - {_LEAF}
        return shapes.pop() if len(shapes) == 1 else _LEAF
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Shape(record=annotation)
    if origin in {tuple, list}:
        inner = _shape(given[0])
        return _LEAF if inner is _LEAF else _Shape(items=inner)
    if origin is dict:
        inner = _shape(given[1])
        most = next((each.max_length for each in metadata if hasattr(each, "max_length")), None)
        return _Shape(items=None if inner is _LEAF else inner, most=most)
    return _LEAF
