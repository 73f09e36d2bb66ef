"""Reads YAML as plain data, and refuses a mapping with a key twice: YAML 1.2 forbids it, PyYAML takes the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

# PyYAML has the C loader only where it was built with libyaml; both construct plain data only.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Strict(_Safe):  # type: ignore[misc]
    """A safe loader for which every key of a mapping is its own."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._checked: set[yaml.MappingNode] = set()

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Name the line of a value that its tag does not allow: PyYAML lets a date that is none end in a ValueError."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, f"{error}", node.start_mark) from error

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check the keys as they are written, before `<<` adds others, which they may replace."""
        if node not in self._checked:
            self._checked.add(node)
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value[:80]} is given twice", key.start_mark
                    )
                seen.add(key.value)
        super().flatten_mapping(node)


def load(text: str) -> Any:
    """Return the data of one YAML document. Raises yaml.YAMLError for what is none, and for a doubled key."""
    return yaml.load(text, Loader=_Strict)  # noqa: S506 - a safe loader


def documents(text: str, *, nodes: int, depth: int) -> Iterator[tuple[yaml.Node, Any]]:
    """Yield the root node of each document, whose marks know its lines, and its data.

    For files of strangers: at most ``nodes`` nodes, ``depth`` inside each other, and no alias, by which a short text
    stands for a long one. Raises yaml.YAMLError, also for a doubled key.
    """
    deep = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Safe)):
        mark: Any = event.start_mark
        deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem=f"write *{event.anchor} out", problem_mark=mark)
        if count >= nodes or deep > depth:
            said = f"expected at most {nodes} values, {depth} inside each other"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=mark)
    loader = _Strict(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield node, loader.construct_document(node)
    finally:
        loader.dispose()
