"""Every command and option is explained: in its own help, and in docs/commands.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from codec_superb.cli.app import app

DOCS = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(_commands(typer.main.get_command(app)))


def test_the_commands_are_those_of_the_contract() -> None:
    """None of the documented commands is missing."""
    assert set(COMMANDS) == {
        "metrics list",
        "codecs list", "codecs show", "codecs env list", "codecs env build", "codecs env remove", "conditions",
        "datasets list", "datasets show", "datasets prepare", "datasets index",
        "datasets check", "datasets export", "datasets make", "resynth", "import",
        "score", "probe", "applications", "check-task", "pack", "check", "check-judge", "report", "compare", "bench",
        "cite", "copy", "merge", "slurm",
        "precision", "doctor", "serve", "submit", "tokens export", "tokens decode", "tokens show", "tokens lm",
        "tasks convert",
        "tasks import",
        "admin token create", "admin token list", "admin token revoke", "admin submissions list",
        "admin submissions add",
        "admin submissions accept", "admin submissions reject", "admin submissions hold", "admin submissions verify",
        "admin submissions withdraw", "admin codec transfer", "admin datasets add", "admin datasets list",
        "admin private add", "admin private list", "admin private enqueue", "admin private retire",
        "admin private open",
        "admin audit", "admin backup", "admin restore", "admin listening create", "admin listening list",
        "admin listening open", "admin listening close", "admin listening results", "admin listening bind",
        "admin listening remove",
        "admin mseb import", "admin mseb list", "admin mseb remove",
        "admin tasks import", "admin tasks list", "admin tasks remove",
        "admin xares import", "admin xares list", "admin xares remove",
        "xares run", "xares train", "xares check", "xares shards",
        "mseb import", "mseb export", "verify", "verify-worker", "check-worker",
        "admin key create", "admin key add", "admin key list",
        "admin key revoke", "admin verify enqueue", "admin verify list", "admin verify add",
    }  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_documented(name: str) -> None:
    """A command has a help text, appears in docs/commands.md, and offers --json, unless it never ends."""
    command = COMMANDS[name]
    assert command.help
    assert f"codec-superb {name}" in DOCS
    assert name == "serve" or any("--json" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_documented(name: str) -> None:
    """Each option has a help text and stands in the command's section of docs/commands.md."""
    section = DOCS.split(f"## {name.split(maxsplit=1)[0]}\n", 1)[1].split("\n## ", 1)[0]
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{name} {parameter.name}"
            assert any(option in section for option in parameter.opts), f"{name} {parameter.opts}"
