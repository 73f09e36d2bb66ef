"""Reads YAML as plain data, and refuses a mapping with a key twice: YAML 1.2 forbids it, PyYAML takes the last."""

from __future__ import annotations

from typing import Any

import yaml

# PyYAML has the C loader only where it was built with libyaml; both construct plain data only.
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Strict(_Safe):  # type: ignore[misc]
    """A safe loader for which every key of a mapping is its own."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._checked: set[yaml.MappingNode] = set()

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
