"""Ogg Opus written anew: the same sound, and nothing else that would tell two files of it apart."""

from __future__ import annotations

import io
import struct

import av
import numpy as np
import pytest
import soundfile
from support.server.compare import tone

from codec_superb.server.compare.listening import without_tags


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


def libsndfile(seconds: float, channels: int) -> bytes:
    """Encode noise with another program than FFmpeg: other tags, other pages, and an end within a packet."""
    noise = np.random.default_rng(1).uniform(-0.3, 0.3, (round(seconds * 48_000), channels))
    out = io.BytesIO()
    soundfile.write(out, noise, 48_000, format="OGG", subtype="OPUS")
    return out.getvalue()


def last_granule(content: bytes) -> int:
    """Granule position of the last page: samples at 48 kHz with the pre-skip (RFC 7845, 4)."""
    return int(struct.unpack_from("<q", content, content.rindex(b"OggS") + 6)[0])


def packets(content: bytes) -> list[bytes]:
    """Return the coded packets."""
    with av.open(io.BytesIO(content)) as container:
        return [bytes(packet) for packet in container.demux(audio=0) if packet.size]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seconds", [0.0107, 1.0, 7.77])
@pytest.mark.parametrize("channels", [1, 2])
def test_head_packets_and_end_stay(seconds: float, channels: int) -> None:
    """Pre-skip, gain, packets and the cut at the end are those of the file, and so are the samples."""
    original = libsndfile(seconds, channels)
    bare = without_tags(original)
    head = original.index(b"OpusHead")
    assert original[head : head + 19] in bare
    assert packets(bare) == packets(original)
    assert last_granule(bare) == last_granule(original)
    assert decoded(bare) == decoded(original)
    assert len(decoded(bare)) == round(seconds * 48_000) * channels


def test_two_programs_write_the_same_file() -> None:
    """Nothing but the head and the packets tells where a file comes from: pages are cut in one way."""
    original, again = libsndfile(3, 1), io.BytesIO()
    with av.open(io.BytesIO(original)) as source, av.open(again, "w", format="ogg") as sink:
        stream = sink.add_stream_from_template(source.streams.audio[0])
        sink.metadata["title"] = "another"
        for packet in source.demux(audio=0):
            if packet.size:
                packet.stream = stream
                sink.mux(packet)
    assert again.getvalue() != original
    assert without_tags(again.getvalue()) == without_tags(original)


def test_again_changes_nothing() -> None:
    """A bare file stays as it is."""
    bare = without_tags(tone(440, title="one"))
    assert without_tags(bare) == bare


@pytest.mark.parametrize("content", [b"", b"OggS", b"RIFF" + bytes(100), bytes(1000)])
def test_what_is_not_ogg_opus_is_refused(content: bytes) -> None:
    """In words, never with half a file."""
    with pytest.raises(ValueError, match="expected"):
        without_tags(content)


def test_another_codec_in_ogg_is_refused() -> None:
    """Vorbis is no Opus."""
    out = io.BytesIO()
    soundfile.write(out, np.zeros(4800), 48_000, format="OGG", subtype="VORBIS")
    with pytest.raises(ValueError, match="expected one Opus stream with sound, got"):
        without_tags(out.getvalue())


def test_a_cut_file_is_refused() -> None:
    """A page that is not whole holds no sound."""
    whole = tone(440)
    for length in (1, 20, 40, 60, len(whole) - 1):
        with pytest.raises(ValueError, match="expected"):
            without_tags(whole[:length])
