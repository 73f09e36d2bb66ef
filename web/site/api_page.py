"""The page ``/api/docs``: the OpenAPI document in words, with a command line to try each path; needs no script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from codec_superb.web.site.page import PageContext, render

Json = Mapping[str, Any]
_SHORT = 3
"""Parameters that are listed again rather than referred to."""
_NAMED = 8
"""Choices that are listed of more: keys of metrics, which a page of their own explains."""
# of a Path Item Object (OpenAPI 3.1); its other keys, such as parameters, are no operations
_METHODS = ("get", "post", "put", "patch", "delete")
_REF = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Type:
    """Type of a value."""

    text: str
    schema: str = ""
    """Name of the schema that describes it further; '' for none."""
    choices: tuple[str, ...] = ()
    limits: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an address, or a field of a schema."""

    name: str
    place: str
    """``path``, ``query`` or ``header``; '' for a field."""
    type: Type
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class DocumentedAnswer:
    """One status and what comes with it."""

    status: str
    description: str
    kinds: tuple[tuple[str, Type], ...]
    """Media type and content."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path."""

    anchor: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    body: tuple[tuple[str, Type], ...]
    answers: tuple[DocumentedAnswer, ...]
    example: str
    """For a shell."""
    same_as: Operation | None = None
    """An earlier one with the same long list of parameters."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A named object of the answers."""

    name: str
    description: str
    fields: tuple[Parameter, ...]


def api_page(document: Json, server: str, page_context: PageContext) -> str:
    """Render the OpenAPI ``document``; ``server`` is the address that examples use, without a slash at the end."""
    groups: dict[str, list[Operation]] = {}
    first: dict[tuple[Parameter, ...], Operation] = {}
    for tag, operation in _operations(document, server):
        earlier = first.setdefault(operation.parameters, operation)
        repeated = earlier is not operation and len(operation.parameters) > _SHORT
        groups.setdefault(tag, []).append(replace(operation, same_as=earlier) if repeated else operation)
    schemas = [_schema(name, body) for name, body in document.get("components", {}).get("schemas", {}).items()]
    return render("api.html.j2", page_context, groups=groups, schemas=schemas, server=server)


def _operations(document: Json, server: str) -> Iterator[tuple[str, Operation]]:
    for path, methods in document.get("paths", {}).items():
        for method in _METHODS:
            if method in methods:
                body = methods[method]
                yield (body.get("tags") or ["other"])[0], _operation(method, path, body, server)


def _operation(method: str, path: str, body: Json, server: str) -> Operation:
    parameters = tuple(_parameter(each) for each in body.get("parameters", ()))
    content = body.get("requestBody", {}).get("content", {})
    return Operation(
        anchor=f"{method}-{path.strip('/').replace('/', '-').replace('{', '').replace('}', '')}",
        method=method.upper(),
        path=path,
        summary=body.get("summary", ""),
        description=body.get("description", ""),
        parameters=parameters,
        body=_kinds(content),
        answers=tuple(_answer(status, each) for status, each in body.get("responses", {}).items()),
        example=_example(method, path, body, server),
    )


def _parameter(body: Json) -> Parameter:
    described = _described(body.get("schema", {}))
    return Parameter(body["name"], body["in"], described, bool(body.get("required")), body.get("description", ""))


def _answer(status: str, body: Json) -> DocumentedAnswer:
    return DocumentedAnswer(status, body.get("description", ""), _kinds(body.get("content", {})))


def _kinds(content: Json) -> tuple[tuple[str, Type], ...]:
    return tuple((kind, _described(each.get("schema", {}))) for kind, each in content.items())


def _schema(name: str, body: Json) -> Schema:
    required = set(body.get("required", ()))
    fields = tuple(
        Parameter(key, "", _described(each), key in required, each.get("description", ""))
        for key, each in body.get("properties", {}).items()
    )
    return Schema(name, body.get("description", ""), fields)


def _described(schema: Json) -> Type:
    """Put a JSON schema into words."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        return Type(name, name)
    options = [each for each in schema.get("anyOf", schema.get("oneOf", ())) if each.get("type") != "null"]
    if options:
        return _joined(options, nullable=len(options) < len(schema.get("anyOf", schema.get("oneOf", ()))))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        more = len(values) - _NAMED
        limits = f"and {more} more: keys of /metrics" if more > _NAMED else ""
        named = values[:_NAMED] if limits else values
        return Type("one of", choices=tuple(_plain(value) for value in named), limits=limits)
    kind = schema.get("type", "anything")
    if kind == "array":
        inner = _described(schema.get("items", {}))
        return Type(f"list of {inner.text}", inner.schema, inner.choices, inner.limits)
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        inner = _described(schema["additionalProperties"])
        return Type(f"object, each value {inner.text}", inner.schema, inner.choices)
    text = "file" if schema.get("format") == "binary" else str(kind)
    return Type(text, limits=_limits(schema))


def _joined(options: Sequence[Json], *, nullable: bool) -> Type:
    parts = [_described(option) for option in options]
    text = " or ".join(dict.fromkeys(part.text for part in parts)) + (" or null" if nullable else "")
    choices = tuple(choice for part in parts for choice in part.choices)
    return Type(text, next((part.schema for part in parts if part.schema), ""), choices, parts[0].limits)


def _limits(schema: Json) -> str:
    words = (
        ("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"), ("exclusiveMaximum", "below"),
        ("minLength", "letters at least"), ("maxLength", "letters at most"),
    )  # fmt: skip
    parts = [f"{word} {_plain(schema[key])}" for key, word in words if key in schema]
    if "default" in schema and schema["default"] is not None:
        parts.append(f"{_plain(schema['default'])} unless given")
    return ", ".join(parts)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _example(method: str, path: str, body: Json, server: str) -> str:
    """Write a command that asks for the path; placeholders stand in capitals."""
    for each in body.get("parameters", ()):
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", each["name"].upper())
    needed = [each for each in body.get("parameters", ()) if each["in"] == "query" and each.get("required")]
    query = "&".join(f"{each['name']}={_sample(each.get('schema', {}))}" for each in needed)
    url = f"{server}{path}{'?' + query if query else ''}"
    if method == "get":
        return f"curl '{url}'"
    content = body.get("requestBody", {}).get("content", {})
    sent = ""
    if "multipart/form-data" in content:
        sent = " -F file=@submission.zip"
    elif "application/json" in content:
        sent = " -H 'Content-Type: application/json' -d @body.json"
    elif content:
        sent = f" -H 'Content-Type: {next(iter(content))}' --data-binary @submission.zip"
    return f"curl -X {method.upper()} -H 'Authorization: Bearer TOKEN'{sent} '{url}'"


def _sample(schema: Json) -> str:
    inner = schema.get("items", schema)
    return quote(str(inner["enum"][0])) if inner.get("enum") else "VALUE"
