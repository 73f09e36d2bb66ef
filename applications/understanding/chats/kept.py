"""Answers of servers on disk, by the hash of their request, and the ledger of what was paid for them.

``<home>/chats/answers/<2 digits>/<SHA-256>.json`` holds an answer; ``<home>/chats/spent.jsonl`` a line for each that
was paid: the command, the request, the cost. An answer is written before it is used, and both survive a kill.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.home import codec_superb_home


def kept(key: str) -> dict[str, Any] | None:
    """Return what is kept of a request; None where there is nothing, or a damaged file."""
    try:
        found = json.loads(_place(key).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and ("found" in found or "refused" in found) else None


def keep(key: str, answer: dict[str, Any]) -> None:
    """Store ``found`` (the server's JSON) with its ``seconds``, or ``refused`` (the reason)."""
    place = _place(key)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, json.dumps(answer, ensure_ascii=True).encode(), sync=False)


def pay(command: str, key: str, model: str, cost: float) -> None:
    """Add a line to the ledger."""
    place = codec_superb_home() / "chats" / "spent.jsonl"
    # the break comes first: on a full disk the line before may be a part of one
    line = "\n" + json.dumps({"command": command, "request": key, "model": model, "cost": cost})
    place.parent.mkdir(parents=True, exist_ok=True)
    # O_APPEND: the kernel finds the end and writes in one step (write(2)), so that lines of two processes do not mix
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def paid(command: str, offset: int = 0) -> tuple[float, int]:
    """Return the sum of what a command has paid by the ledger's lines from byte ``offset`` on, and their end."""
    try:
        with (codec_superb_home() / "chats" / "spent.jsonl").open("rb") as ledger:
            ledger.seek(offset)
            content = ledger.read()
    except FileNotFoundError:
        return 0.0, offset
    mark = json.dumps(command).encode()
    lines = (line for line in content.splitlines() if mark in line and line.endswith(b"}"))
    return float(sum(json.loads(line)["cost"] for line in lines)), offset + len(content)


def _place(key: str) -> Path:
    return codec_superb_home() / "chats" / "answers" / key[:2] / f"{key}.json"
