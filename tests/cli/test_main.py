"""The entry point: Ctrl-C at any moment and a system that refuses end in one line, never in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.codecs.checkpoints import checkpoint
from support.pipeline.runs import speech_folder
from support.pipeline.stats import card, draw_rows, write_run
from support.timing import PATIENCE_S

from codec_superb.cli.main import call

SLOW_IMPORT = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("now", flush=True)
            time.sleep(30)
sys.meta_path.insert(0, Slow())
from codec_superb.cli.main import run
run({arguments!r})
"""


@pytest.mark.sample(2, among="what is killed or has no room")
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("typer", ["codecs", "list"]),
        ("numpy", ["codecs", "list"]),
        ("codec_superb.data_manifests.clip_list", ["datasets", "list"]),
    ],
)
def test_ctrl_c_says_how_to_go_on(module: str, arguments: list[str]) -> None:
    """While the commands are imported, and inside a command: exit code 130, one line, no traceback."""
    program = SLOW_IMPORT.format(module=module, arguments=arguments)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert error == "\ncodec-superb: stopped; run the same command again to continue\n"


class TestPlacesThatCannotBeWritten:
    """A place that the system refuses is the user's to mend: exit code 2 and its name."""

    @pytest.mark.parametrize("command", [["report"], ["pack", "--samples", "0"]])
    def test_a_folder_of_a_file(self, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """A path below a file is named."""
        run = write_run(tmp_path, draw_rows(1, 6), card=card("opus_16k")).path
        (tmp_path / "file").write_text("")
        assert call([*command, str(run), "-o", str(tmp_path / "file/out.zip")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "file" in line

    def test_a_report_in_the_place_of_a_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The folder is named, not the temporary file, and nothing is left beside it."""
        run = write_run(tmp_path / "runs", draw_rows(1, 6), card=card("opus_16k")).path
        (tmp_path / "page").mkdir()
        assert call(["report", str(run), "-o", str(tmp_path / "page")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(tmp_path / "page") in line
        assert {path.name for path in tmp_path.iterdir()} == {"runs", "page"}

    @pytest.mark.sample(2, among="what is killed or has no room")
    def test_a_full_disk_under_the_report(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`report` onto a device that is always full ends in one line; the page that was there is kept."""
        run = write_run(tmp_path / "runs", draw_rows(1, 6), card=card("opus_16k")).path
        page = tmp_path / "page.html"
        page.write_text("the page of yesterday")
        limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
        program = (
            f"{limit}; import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            f"from codec_superb.cli.main import run; run(['report', {str(run)!r}, '-o', {str(page)!r}])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert "page.html" in line
        assert page.read_text() == "the page of yesterday"
        assert {path.name for path in tmp_path.iterdir()} == {"runs", "page.html"}

    def test_runs_below_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`resynth --out` below a file says which one."""
        import numpy as np
        import soundfile

        (tmp_path / "sound").mkdir()
        soundfile.write(tmp_path / "sound/a.wav", np.zeros(8000), 8000)
        (tmp_path / "file").write_text("")
        arguments = ["--codec", "codec2_700", "--dataset", str(tmp_path / "sound"), "--out", str(tmp_path / "file")]
        assert call(["resynth", *arguments, "--category", "speech"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(tmp_path / "file") in line

    @pytest.mark.parametrize("command", [["resynth"], ["bench"], ["precision", "encodec_24k_6bps"]])
    def test_runs_where_no_folder_can_be(
        self, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A place in which the system creates nothing is named with the system's reason, by all that make runs."""
        folder = speech_folder(tmp_path / "sound", 1)
        codec = ["--weights", str(checkpoint("encodec"))] if command[0] == "precision" else ["--codec", "codec2_700"]
        place = "/proc/nothing"
        assert call([*command, *codec, "--dataset", str(folder), "--out", place, "--device", "cpu"]) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith(f"codec-superb: cannot write {place}/")
        assert line.endswith(": No such file or directory; what is finished is kept: name another place")
