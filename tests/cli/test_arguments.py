"""Options that take several values."""

from __future__ import annotations

from codec_superb.cli.arguments import spread


def test_values_after_one_name_are_repeated() -> None:
    """`--codec a b` is read as `--codec a --codec b`."""
    assert spread(["resynth", "--codec", "a", "b", "--dataset", "d"]) == (
        ["resynth", "--codec", "a", "--codec", "b", "--dataset", "d"]
    )


def test_other_options_keep_one_value() -> None:
    """A positional after a single-valued option stays a positional."""
    assert spread(["pack", "runs/a", "-o", "x.zip", "runs/b"]) == ["pack", "runs/a", "-o", "x.zip", "runs/b"]


def test_double_dash_ends_the_values() -> None:
    """What follows `--` is positional."""
    assert spread(["score", "--metric", "pesq", "stoi", "--", "runs"]) == (
        ["score", "--metric", "pesq", "--metric", "stoi", "--", "runs"]
    )


def test_flags_and_repeats_pass_through() -> None:
    """The usual spelling is left as it is."""
    plain = ["bench", "--codec", "a", "--codec", "b", "--overwrite"]
    assert spread(plain) == plain
