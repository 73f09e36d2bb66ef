"""Ogg Opus without tags: the same sound, nothing else."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
from support_compare import tone

from codec_superb.server.compare.ogg import without_tags


def decoded(content: bytes) -> list[float]:
    """Decode with FFmpeg, which checks every page's checksum."""
    with av.open(io.BytesIO(content)) as container:
        return [float(x) for frame in container.decode(audio=0) for x in np.ravel(frame.to_ndarray())]


@pytest.mark.parametrize("length", [0, 10, 300, 70_000])
def test_tags_go_and_sound_stays(length: int) -> None:
    """Tags of no letter, of some, and of more than a page; the samples are bit for bit the same."""
    original = tone(440, title="x" * length)
    bare = without_tags(original)
    assert b"xxx" not in bare
    assert decoded(bare) == decoded(original)
    with av.open(io.BytesIO(bare)) as container:
        assert not {**container.metadata, **container.streams[0].metadata}.keys() & {"title", "TITLE"}


def test_the_same_sound_with_other_tags_becomes_the_same_file() -> None:
    """Stream numbers, which FFmpeg draws at random, go too."""
    assert without_tags(tone(440, title="one")) == without_tags(tone(440, title="another"))


def test_again_changes_nothing() -> None:
    """A bare file stays as it is."""
    bare = without_tags(tone(440, title="one"))
    assert without_tags(bare) == bare


@pytest.mark.parametrize("content", [b"", b"OggS", b"RIFF" + bytes(100), bytes(1000)])
def test_what_is_not_ogg_opus_is_refused(content: bytes) -> None:
    """In words, never with half a file."""
    with pytest.raises(ValueError, match="expected"):
        without_tags(content)


def test_a_cut_file_is_refused() -> None:
    """Wherever it is cut inside a page."""
    whole = tone(440)
    for length in (1, 20, 40, 60, len(whole) - 1):
        with pytest.raises(ValueError, match="expected"):
            without_tags(whole[:length])
