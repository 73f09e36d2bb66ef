"""Several clips in one request: the same as one by one, and what a clip that kills the worker costs the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.codecs import isolated
from support.codecs.isolated import clip, make_clips, tiny_card
from support.timing import PATIENCE_S

from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.errors import GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.process import Timeouts
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.progress import SilentProgress

BATCHED, TINY = (f"{Path(isolated.__file__).resolve()}:{name}" for name in ("Batched", "Tiny"))


class Listener(SilentProgress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        """Keep a line."""
        self.said.append(text)


def opened(*batches: str) -> IsolatedCodec:
    """Open the tiny codec, whose guest takes batches in these calls."""
    return IsolatedCodec(tiny_card(settings={"batches": batches}, isolation={"timeout_s": PATIENCE_S})).load()


@pytest.fixture
def codec() -> Iterator[IsolatedCodec]:
    """Open the tiny codec with a guest that takes several clips in each call."""
    its = opened("encode", "decode")
    yield its
    its.close()


def heard(codec: IsolatedCodec) -> str:
    """Return what the guest said of the last request."""
    assert codec.worker is not None
    return codec.worker.log_tail()


def test_several_clips_are_one_request_and_give_what_each_gives(codec: IsolatedCodec) -> None:
    """Clips of many lengths, one of bytes and one with bytes beside its tokens, come back in order."""
    clips = [clip(), clip(13), clip(12), clip(0, 500_000), clip(0, 50)]
    assert codec.gains_from_batches
    together = codec.encode_batch(clips, 16000)
    assert heard(codec) == "5 clips together"
    sounds = codec.decode_batch(together)
    assert heard(codec) == "5 payloads together"
    for audio, its, sound in zip(clips, together, sounds, strict=True):
        alone = codec.encode(audio, 16000)
        assert (its.bits, its.samples, its.side) == (alone.bits, alone.samples, alone.side)
        assert np.array_equal(np.frombuffer(its.payload, "u1"), np.frombuffer(alone.payload, "u1"))
        assert np.array_equal(sound, codec.decode(alone))
        assert np.abs(sound - audio).max() < 1e-4


@pytest.mark.parametrize("batches", [(), ("encode",), ("decode",)])
def test_a_guest_without_batches_is_asked_clip_by_clip(batches: tuple[str, ...]) -> None:
    """What a guest has for single clips alone is called for each, and the results are the same."""
    codec = opened(*batches)
    assert codec.gains_from_batches == bool(batches)
    clips = [clip(), clip(0, 900)]
    sounds = codec.decode_batch(codec.encode_batch(clips, 16000))
    assert ("2 payloads together" in heard(codec)) == (batches == ("decode",))
    codec.close()
    assert all(np.abs(sound - audio).max() < 1e-4 for sound, audio in zip(sounds, clips, strict=True))


def test_a_guest_that_loses_a_clip_is_an_error(codec: IsolatedCodec) -> None:
    """Fewer results than clips could belong to any of them."""
    with pytest.raises(GuestFailed, match="expected a result for each clip of a batch of 2, got 1"):
        codec.encode_batch([clip(), clip(89)], 16000)


def test_a_batch_has_the_time_of_all_its_clips(codec: IsolatedCodec) -> None:
    """Six clips that take three seconds pass where one has two."""
    assert codec.worker is not None
    codec.worker.patience = Timeouts(call=2.0)
    assert len(codec.encode_batch([clip(81)] * 6, 16000)) == 6


@pytest.mark.sample(1, among="isolated runs lose clips")
def test_a_batch_that_dies_does_not_end_a_run(codec: IsolatedCodec) -> None:
    """Deaths of batches are not counted, since each clip is then tried by itself; those of single clips are."""
    for _ in range(4):
        with pytest.raises(WorkerDied):
            codec.encode_batch([clip(), clip(2)], 16000)
    for _ in range(2):
        with pytest.raises(WorkerDied):
            codec.encode(clip(2), 16000)
    assert codec.encode_batch([clip(), clip()], 16000)[1].bits == 16 * 1600


@pytest.mark.sample(1, among="isolated runs lose clips")
def test_in_a_run_only_the_clips_that_die_alone_are_lost(tmp_path: Path) -> None:
    """Three deadly clips among others, in batches, cost three rows; the others are those of a run without batches."""
    clips = make_clips(tmp_path / "clips", [0, 2, 0, 0, 2, 0, 4, 0])
    rows = {}
    for name, codec, batch in (("batches", BATCHED, 60.0), ("single", TINY, 0.0)):
        (outcome,) = resynthesise([codec], [str(clips)], out=tmp_path / name, batch=batch, workers=1)
        rows[name] = {row.clip: row for row in RunFolder(outcome.path).rows()}
    failed = {clip for clip, row in rows["batches"].items() if row.status == "failed"}
    assert failed == {"clip1.wav", "clip4.wav", "clip6.wav"}
    for clip_id, row in rows["single"].items():
        its = rows["batches"][clip_id]
        assert (its.status, its.error_type, its.bits) == (row.status, row.error_type, row.bits)
        assert its.resynthesis_sha256 == row.resynthesis_sha256


def test_a_guest_without_batches_says_so(tmp_path: Path) -> None:
    """Who asks for batches is told that this codec has none."""
    clips, listener = make_clips(tmp_path / "clips", [0]), Listener()
    resynthesise([TINY], [str(clips)], out=tmp_path / "runs", batch=60.0, workers=1, progress=listener)
    assert any("tiny does not support batches: it codes clip by clip" in said for said in listener.said)
