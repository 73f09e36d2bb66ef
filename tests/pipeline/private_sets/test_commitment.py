"""Facts of a private dataset, and the commitment that anybody can check later."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.private_sets.commitment import commitment, private_facts

CANARY = "nightjar"


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three clips of two categories, and a home of their own."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    for category, seconds in (("audio", (0.5, 1.5)), ("music", (2.0,))):
        for number, length in enumerate(seconds):
            (tmp_path / "set" / category).mkdir(parents=True, exist_ok=True)
            sound = np.zeros(int(8000 * length), np.float32)
            soundfile.write(tmp_path / "set" / category / f"{CANARY}{number}.wav", sound, 8000)
    return tmp_path / "set"


def test_counts_seconds_and_commitment(clips: Path) -> None:
    """Counted by category; the documented command gives the commitment; another salt gives another."""
    facts = private_facts(str(clips))
    assert facts.counts == {"audio": 2, "music": 1}
    assert facts.seconds == {"audio": 2.0, "music": 2.0}
    command = f"printf %s%s {facts.salt} {facts.manifest_hash} | sha256sum"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert told.split()[0] == facts.commitment
    again = private_facts(str(clips))
    assert again.manifest_hash == facts.manifest_hash
    assert again.commitment != facts.commitment


def test_sounds_are_known_by_their_samples(clips: Path) -> None:
    """A copy as FLAC is the same clip, a longer one is another; each category has its own."""
    before = private_facts(str(clips)).sounds
    wav = clips / "music" / f"{CANARY}0.wav"
    soundfile.write(wav.with_suffix(".flac"), *soundfile.read(wav, dtype="int16"))
    wav.unlink()
    assert private_facts(str(clips)).sounds == before
    assert len({sound for sounds in before.values() for sound in sounds}) == 3


def test_any_change_breaks_it(clips: Path) -> None:
    """A clip renamed, replaced or left out is another dataset."""
    facts = private_facts(str(clips))
    (clips / "music" / f"{CANARY}0.wav").rename(clips / "music" / "other.wav")
    changed = private_facts(str(clips))
    assert commitment(facts.salt, changed.manifest_hash) != facts.commitment


def test_files_that_cannot_be_read_are_counted(clips: Path) -> None:
    """The error names none of them."""
    (clips / "audio" / f"{CANARY}9.wav").write_bytes(b"no sound")
    with pytest.raises(PipelineError, match="1 of 4 that cannot be read") as caught:
        private_facts(str(clips))
    assert CANARY not in str(caught.value)


def test_cached_names_are_for_this_user_alone(clips: Path) -> None:
    """The cache of hashes has clip names: nobody else reads it."""
    private_facts(str(clips))
    kept = [path for path in codec_superb_home().rglob("*") if path.is_file()]
    assert any(CANARY in path.read_text() for path in kept)
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in kept} == {0}
