"""Names of conditions: read, written in one way, refused with what there is; the table and its guide agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codec_superb.pipeline.conditions.record import Condition, parse_condition, suffix_of
from codec_superb.pipeline.conditions.table import KINDS
from codec_superb.pipeline.errors import PipelineError

GUIDE = Path(__file__).parents[3] / "docs" / "conditions.md"


@pytest.mark.parametrize(
    ("text", "name", "strength", "suffix"),
    [
        ("loss:10", "loss:10", 10, "@loss_10"),
        ("loss:10.0", "loss:10", 10, "@loss_10"),
        ("noise:white:-5", "noise:white:-5", -5, "@noise_white_-5"),
        ("level:-0", "level:0", 0, "@level_0"),
        ("band:telephone", "band:telephone", 0, "@band_telephone"),
        ("bits:0.0001", "bits:0.0001", 0.0001, "@bits_0.0001"),
        ("repeat:3", "repeat:3", 3, "@repeat_3"),
    ],
)
def test_a_name_is_written_in_one_way(text: str, name: str, strength: float, suffix: str) -> None:
    """Two spellings of one condition are one run, and its folder has a name that every file system takes."""
    found = parse_condition(text)
    assert (found.name, found.strength, suffix_of(found)) == (name, strength, suffix)
    assert parse_condition(found.name) == found
    assert Condition.model_validate_json(found.model_dump_json()) == found
    assert re.fullmatch(r"@[a-z0-9_.@-]+", suffix)


@pytest.mark.parametrize(
    "text",
    ["", "loss", "loss:", "loss:x", "loss:0", "loss:61", "loss:nan", "loss:inf", "loss:10:10", "noise", "noise:pink:5",
     "noise:white", "band:telephone:3", "band", "repeat:1", "repeat:2.5", "lossy:10", "level:1", "LOSS:10"],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    """With what was expected and what came."""
    with pytest.raises(PipelineError, match="expected") as error:
        parse_condition(text)
    assert repr(text) in str(error.value)


def test_the_reference_counts_where_the_sound_is_changed() -> None:
    """The input of a codec whose payload is damaged is the clean original."""
    assert parse_condition("noise:white:10", "input").suffix == "@noise_white_10@input"
    assert parse_condition("loss:10", "input") == parse_condition("loss:10")


def test_the_guide_has_every_condition_with_its_range() -> None:
    """The table of the guide is the table of the program."""
    rows = re.findall(r"^\| `([a-z:]+?)(?::[A-Z]+)?` \| the (\w+) \|.*\| (.+?) \|$", GUIDE.read_text(), re.MULTILINE)
    assert [(key, place) for key, place, _ in rows] == [(kind.key, kind.place) for kind in KINDS.values()]
    for (_, _, told), kind in zip(rows, KINDS.values(), strict=True):
        assert told == (f"{kind.low:g} to {kind.high:g} {kind.unit}".strip() if kind.parameter else "–")


def test_every_row_of_the_table_is_whole() -> None:
    """Usual strengths are in range and can be parsed, and each row says what is done and where that comes from."""
    for key, kind in KINDS.items():
        assert kind.definition
        assert kind.source
        for value in kind.usual:
            assert parse_condition(f"{key}:{value:g}").strength == value
