"""What a chat is asked: messages of texts and sounds, and the prompt that they are rendered from."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Part(NamedTuple):
    """A text, or the place of the clip's sound."""

    kind: Literal["text", "audio"]
    text: str = ""
    """Of a text part; a prompt holds a Jinja template here."""


class Message(NamedTuple):
    """One turn."""

    role: Role
    parts: tuple[Part, ...]


class Prompt(NamedTuple):
    """The messages of a task for one family of chats, before they are rendered for a clip."""

    name: str
    """As results name it; ``task:NAME`` where the task's own file holds it."""
    messages: tuple[Message, ...]
    classes: tuple[str, ...] = ()
    """Classes of the task, which templates see as ``classes``."""

    @property
    def sha256(self) -> str:
        """Hash of all that decides what a clip is asked, without the name."""
        written = json.dumps([self.messages, self.classes], ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()


def digest(messages: tuple[Message, ...]) -> str:
    """Return the SHA-256 (hex) of rendered messages."""
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False).encode()).hexdigest()


def as_data(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return rendered messages for JSON, in the form of a prompt's file."""
    return [
        {
            "role": of.role,
            "contents": [{"type": "text", "value": p.text} if p.kind == "text" else {"type": p.kind} for p in of.parts],
        }
        for of in messages
    ]
