"""What is said about failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from codec_superb.cli.outcomes import SHOWN, print_failures
from codec_superb.pipeline.runs.outcome import FailedClip, RunOutcome


def outcome(codec: str, stage: str, *clips: str) -> RunOutcome:
    """Make the outcome of a stage that could not read some clips."""
    failed = [FailedClip(clip, "load", "no audio") for clip in clips]
    return RunOutcome(Path(codec), codec, "birds", "score" if stage == "score" else "resynth", 9, failed=failed)


def test_a_clip_that_no_codec_reads_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Not one a codec and a stage: the same cause is told once, with the number of codecs."""
    print_failures([outcome(codec, stage, "a.wav") for stage in ("resynth", "score") for codec in ("one", "two")])
    assert capsys.readouterr().err == "  failed: 2 runs / birds / a.wav (load): no audio\n"


def test_what_is_not_shown_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    """25 clips that failed in resynth and stand in score's list too are 25, of which the rest is counted."""
    clips = [f"{number}.wav" for number in range(25)]
    print_failures([outcome("one", "resynth", *clips), outcome("one", "score", *clips)])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == SHOWN + 1
    assert lines[0] == "  failed: one / birds / 0.wav (load): no audio"
    assert lines[-1].startswith(f"  and {25 - SHOWN} more")
