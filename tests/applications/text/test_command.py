"""A program that answers questions: its protocol, its faults, and what they cost."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from codec_superb.applications.errors import ApplicationError, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Item, TextQuestion
from codec_superb.applications.text.command_reader import CommandReader

PROGRAM = """
    import json, os, sys, time
    for line in sys.stdin:
        asked = json.loads(line)
        word = asked["text"]
        if word == "dies":
            sys.exit("out of luck")
        if word == "coloured death":
            sys.exit("\\x1b[31mred")
        if word == "hangs":
            time.sleep(60)
        if word == "floods":
            sys.stdout.write("x" * 3_000_000)
            time.sleep(60)
        if word == "prose":
            print("I think it is 1889", flush=True)
        elif word == "refuses":
            print(json.dumps({"error": "cannot read it"}), flush=True)
        elif word == "colours":
            print(json.dumps({"error": "no\\n\\x1b[31mway"}), flush=True)
        elif word == "twice":
            sys.stdout.write(json.dumps({"answer": "one"}) + "\\n" + json.dumps({"answer": "other"}) + "\\n")
            sys.stdout.flush()
        elif word == "part":
            sys.stdout.write(json.dumps({"answer": "one"}) + "\\n{")
            sys.stdout.flush()
        elif word == "prints twice":
            print(json.dumps({"answer": "one"}), flush=True)
            print(json.dumps({"answer": "other"}), flush=True)
        elif word == "none":
            print('"No Answer"', flush=True)
        else:
            print(json.dumps({"answer": f"{os.getpid()} {asked['title']} {len(asked['context'])}"}), flush=True)
"""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[CommandReader]:
    """Give a reader behind a real program."""
    file = tmp_path / "reader.py"
    file.write_text(f"#!{sys.executable}\n" + textwrap.dedent(PROGRAM))
    file.chmod(0o755)
    found = CommandReader(str(file))
    found.load(found.prepare(), "cpu", 1)
    yield found
    found.close()


def ask(reader: CommandReader, *texts: str, context: str = "") -> list[object]:
    """Ask questions about a context."""
    return list(reader.answer([TextQuestion(Item("c", "speech"), text, "Title", context) for text in texts]))


def test_one_process_answers_all(reader: CommandReader) -> None:
    """Also over a context that no pipe holds at once; what is no JSON is an invalid answer, the empty one."""
    one, two = ask(reader, "a", "b", context="é" * 300_000)
    assert one == two
    assert str(one).endswith("Title 300000")
    assert ask(reader, "prose", "none") == ["", "No Answer"]
    assert ask(reader, "a", context="é" * 300_000) == [one]


def test_a_crash_costs_one_clip(reader: CommandReader) -> None:
    """The next question gets a new process; the reason has the last line that the program said."""
    first, dead, after = ask(reader, "a", "dies", "a")
    assert isinstance(dead, PredictionFailed)
    assert str(dead) == "reader.py: ended with status 1: out of luck"
    assert isinstance(first, str)
    assert isinstance(after, str)
    assert first.split()[0] != after.split()[0]
    assert str(ask(reader, "refuses")[0]) == "reader.py: cannot read it"


def test_what_a_program_says_is_shown_without_control_characters(reader: CommandReader) -> None:
    """Its own reason, and the last line of its standard error."""
    assert str(ask(reader, "colours")[0]) == r"reader.py: no\n\x1b[31mway"
    assert str(ask(reader, "coloured death")[0]) == r"reader.py: ended with status 1: \x1b[31mred"


@pytest.mark.parametrize("text", ["twice", "part", "prints twice"])
def test_a_line_too_many_is_no_answer_to_the_next_question(reader: CommandReader, text: str) -> None:
    """Wherever it is when that question comes: in hand, half in hand, in the pipe. Then a new process answers."""
    first, stale, after = ask(reader, text, "a", "a")
    assert first == "one"
    assert isinstance(stale, PredictionFailed)
    assert str(stale) == "reader.py: wrote a line that no question asked for; write exactly one line for each"
    assert str(after).endswith("Title 0")


@pytest.mark.parametrize(
    ("text", "reason"), [("hangs", "gave no answer within 1 s"), ("floods", "more than 1048576 bytes without an end")]
)
def test_a_program_that_hangs_or_floods_is_ended(reader: CommandReader, text: str, reason: str) -> None:
    """And started again."""
    ask(reader, "a")
    reader.timeout_s = 1.0 if text == "hangs" else 60.0
    (lost,) = ask(reader, text)
    assert reason in str(lost)
    reader.timeout_s = 60.0
    assert isinstance(ask(reader, "a")[0], str)


def test_three_deaths_in_a_row_end_the_stage(reader: CommandReader) -> None:
    """An answer between them begins the count anew."""
    ask(reader, "dies", "dies", "a", "dies", "dies", "a")
    with pytest.raises(ModelUnusable, match="over 3 questions in a row; mend it"):
        ask(reader, "dies", "dies", "dies")


def test_a_program_that_is_none(tmp_path: Path) -> None:
    """Not there, not executable, not startable."""
    with pytest.raises(ApplicationError, match="name one, command:PATH"):
        CommandReader().prepare()
    file = tmp_path / "plain"
    file.write_text("no program")
    with pytest.raises(MissingModel, match="expected a program that may be executed"):
        CommandReader(str(file)).prepare()
    file.chmod(0o755)
    reader = CommandReader(str(file))
    model = reader.prepare()
    assert model.name == "command:plain"
    reader.load(model, "cpu", 1)
    assert "cannot be started" in str(ask(reader, "a")[0])
    reader.close()
