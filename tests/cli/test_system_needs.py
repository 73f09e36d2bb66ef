"""What the commands say of codecs whose library or program of the system is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.card import KINDS
from codec_superb.base_codec.errors import MissingDependency
from codec_superb.cli.selection import codec_names, usable

WITHOUT = (
    "import ctypes.util, shutil\n"
    "ctypes.util.find_library = lambda name: None\n"
    "shutil.which = lambda name: None\n"
    "from codec_superb.cli.main import run\n"
)
"""A process in which nothing of the system is found."""


def told(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process without libraries of the system."""
    program = f"{WITHOUT}import sys; sys.argv[1:] = {list(arguments)!r}; run()"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.sample(2, among="commands that lack packages")
def test_the_commands_say_what_is_not_installed() -> None:
    """``codecs list`` names each missing library once, with all codecs that need it, and ``show`` says no."""
    listed = told("codecs", "list")
    assert listed.returncode == 0
    lines = [line for line in listed.stdout.splitlines() if line.startswith("not installed: ")]
    assert len(lines) == 5
    (speex,) = [line for line in lines if "need the library speex," in line and "Debian: libspeex1" in line]
    assert set(speex.removeprefix("not installed: ").partition(" need ")[0].split(", ")) == {
        name for name in registry.names() if name.startswith("speex_")
    }
    shown = told("codecs", "show", "g729_8k")
    assert shown.returncode == 0
    assert any(line.split()[:2] == ["installed", "no"] for line in shown.stdout.replace("│", " ").splitlines())


def test_patterns_leave_out_what_cannot_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pattern takes the codecs that can run and tells of the others in one line; a name is taken as it is."""
    monkeypatch.setattr(system, "find", lambda need: "" if need.name == "speex" else need.name)
    chosen = codec_names(["*_8k"])
    assert "opus_8k" in chosen
    assert "speex_nb_8k" not in chosen
    assert usable(["speex_nb_8k", "opus_8k", "speex_wb_12.8k"]) == ["opus_8k"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(
        "left out: speex_nb_8k needs the library speex, which is not installed; its packages are"
    )
    assert lines[1].startswith("left out: speex_nb_8k, speex_wb_12.8k need the library")
    assert codec_names(["speex_nb_8k"]) == ["speex_nb_8k"]
    assert set(codec_names(["lossless", "alac"])) == {"alac", "flac", "wavpack"}
    assert {"opus_8k", "g711_alaw"} <= (classical := set(codec_names(["classical"])))
    assert not classical & {"speex_nb_8k", "flac", "lyra_6k"}
    assert not set(registry.names()) & set(KINDS)
    assert codec_names(["speex_*", "opus_8k"]) == ["opus_8k"]
    with pytest.raises(MissingDependency, match=r"^speex_\*: none of these codecs can run here"):
        codec_names(["speex_*"])
