"""Options that take several values, and those that take one."""

from __future__ import annotations

import pytest
from typer.main import get_group

from codec_superb.cli.app import app
from codec_superb.cli.arguments import RepeatedOption, repeat_option_names
from codec_superb.cli.main import call

GROUP = get_group(app)


def test_values_after_one_name_are_repeated() -> None:
    """`--codec a b` is read as `--codec a --codec b`."""
    assert repeat_option_names(["resynth", "--codec", "a", "b", "--dataset", "d"], GROUP) == (
        ["resynth", "--codec", "a", "--codec", "b", "--dataset", "d"]
    )
    assert repeat_option_names(["bench", "--dataset", "a.wav", "-"], GROUP) == (
        ["bench", "--dataset", "a.wav", "--dataset", "-"]  # a dash alone is standard input
    )
    assert repeat_option_names(["resynth", "--codec=a", "b"], GROUP) == ["resynth", "--codec=a", "--codec", "b"]


@pytest.mark.parametrize(
    "plain",
    [
        ["pack", "runs/a", "-o", "x.zip", "runs/b"],
        ["tokens", "decode", "--codec", "a", "x.parquet", "--out", "sound"],
        ["probe", "--application", "asr", "--backend", "asr:tiny", "--backend", "asv:x", "runs/b"],
        ["report", "runs/a", "--title", "-o", "-o", "x.html"],
        ["bench", "--codec", "a", "--codec", "b", "--overwrite", "--overwrite"],
        ["datasets", "show", "mini", "--title", ""],
        ["tokens", "export", "--dataset", "-", "--codec", "a"],
        ["nothing", "--codec", "a", "b"],
        [],
    ],
)
def test_what_the_parser_understands_stays_as_it_is(plain: list[str]) -> None:
    """A positional after a single-valued option, a value that looks like an option, flags, the usual spelling."""
    assert repeat_option_names(plain, GROUP) == plain


def test_double_dash_ends_the_values() -> None:
    """What follows `--` is positional."""
    assert repeat_option_names(["score", "--metric", "pesq", "stoi", "--", "runs", "--metric"], GROUP) == (
        ["score", "--metric", "pesq", "--metric", "stoi", "--", "runs", "--metric"]
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tokens", "export", "--codec", "a", "b", "--dataset", "d"], "expected one --codec, got 2: a, b"),
        (["tokens", "export", "--dataset=d", "--dataset", "e", "f"], "expected one --dataset, got 3: d, e, f"),
        (["tokens", "decode", "x.parquet", "--codec", "a", "--codec", "b"], "expected one --codec, got 2: a, b"),
        (["resynth", "--codec", "a", "--out", "here", "there"], "expected one --out, got 2: here, there"),
        (["pack", "runs", "-o", "a.zip", "--out", "b.zip"], "expected one --out, got 2: a.zip, b.zip"),
        (["admin", "submissions", "list", "--limit", "1", "--limit", "2"], "expected one --limit, got 2: 1, 2"),
    ],
)
def test_one_value_is_one(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Several values of an option that takes one are refused by name: none is dropped without a word."""
    with pytest.raises(RepeatedOption) as caught:
        repeat_option_names(arguments, GROUP)
    assert str(caught.value) == f"{told}; keep one of them"
    assert call(arguments) == 2
    assert capsys.readouterr().err == f"codec-superb: {told}; keep one of them\n"


def test_a_bitrate_in_words_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """What was expected, with an example, and what came."""
    assert call(["bench", "--codec", "my.py:f", "--kbps", "six"]) == 2
    assert "'--kbps': expected a number in kbps, such as 6 or 1.5, got 'six'" in capsys.readouterr().err
