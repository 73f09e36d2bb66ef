"""Tables and progress: nothing is ever cut, whatever the width of the terminal."""

from __future__ import annotations

import re

import pytest

from codec_superb.cli import console
from codec_superb.cli.console import DatasetProgress, TerminalProgress, print_prose, print_table
from codec_superb.data_manifests.progress import ProgressUpdate

HEAD = ("codec", "kbps", "pesq", "stoi")
ROWS = [("opus_12k incomplete", "11.46", "3.969", "0.965"), ("codec2_700", "0.71", "1.417", "0.726")]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rich take the captured output for a terminal of 38 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "38")


class TestPipe:
    """A pipe gets everything."""

    def test_long_cells_are_whole(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A line of 500 characters stays one line, and no line ends in spaces."""
        print_table("title", ("a", "b"), [("x" * 250, "y" * 250), ("x", "y")], numbers_from=2, spare=("b",))
        lines = capsys.readouterr().out.splitlines()
        assert lines[2] == "x" * 250 + "  " + "y" * 250
        assert lines == [line.rstrip() for line in lines]


@pytest.mark.usefixtures("terminal")
class TestNarrowTerminal:
    """A terminal of 38 columns."""

    def test_indented_lines_go_on_indented(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A clause that is broken between words stays below its own beginning; brackets are text."""
        print_prose("Best:\n  in speech opus_12k from 11.2 kbps (0.790 [bold]).")
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert lines == ["Best:", "  in speech opus_12k from 11.2 kbps", "  (0.790 [bold])."]

    def test_spare_columns_make_room_from_the_back(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What does not fit is left out and named; what is shown is whole."""
        print_table("", HEAD, ROWS, spare=("pesq", "stoi"))
        out = capsys.readouterr().out
        assert "opus_12k incomplete  11.46  3.969" in out
        assert "0.965" not in out
        assert "no space for stoi" in out
        assert "…" not in out

    def test_columns_that_matter_are_never_cut(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A table that is too wide without spare columns is printed whole."""
        print_table("", HEAD, ROWS)
        assert "opus_12k incomplete  11.46  3.969  0.965" in capsys.readouterr().out

    def test_a_folding_column_loses_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Prose goes on in the next line under itself."""
        words = [f"word{number}" for number in range(30)]
        print_table("", ("field", "value"), [("note", " ".join(words))], numbers_from=2, folds=True)
        out = capsys.readouterr().out
        assert all(word in out.split() for word in words)
        assert "…" not in out


def test_a_download_ends_at_its_total(capsys: pytest.CaptureFixture[str]) -> None:
    """Megabytes are rounded, and still the last line says that all of them are there."""
    show = DatasetProgress(TerminalProgress())
    for done in (0, 900_000, 1_900_000, 2_400_000):
        show(ProgressUpdate("download", done, 2_400_000, "birds.tar.gz"))
    assert "3/3" in capsys.readouterr().err


def test_a_download_of_unknown_size_has_no_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has come and how fast, and neither a total of 0 nor negative seconds."""
    monkeypatch.setattr(console, "EVERY_SECONDS", 0.0)
    show = DatasetProgress(TerminalProgress())
    show(ProgressUpdate("download", 2_400_000, 0, "birds.tar.gz"))
    assert re.fullmatch(r"downloading, MB: 2, [\d.]+/s\n", capsys.readouterr().err)
