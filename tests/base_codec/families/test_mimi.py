"""Mimi as a stream: blocks of any size give what the whole clip gives, tokens and sound."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.codecs.checkpoints import opened

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.mimi import MimiCodec

FRAME = 1920
FRAMES = 24
"""1.9 s, 48 steps of attention; the tiny model looks back over 20 of them in each layer."""


def mimi() -> MimiCodec:
    """Open Mimi with 8 codebooks on its tiny model."""
    torch.set_num_threads(1)
    codec = opened("mimi_8cb", "mimi")
    assert isinstance(codec, MimiCodec)
    return codec


@pytest.mark.sample(1)
@pytest.mark.parametrize("block", [1, 3, 16])
def test_a_stream_gives_what_one_shot_gives(block: int) -> None:
    """Blocks of one, three and sixteen frames give the tokens of the whole clip, and its sound within 1e-4."""
    codec = mimi()
    clip = (0.2 * np.random.default_rng(3).standard_normal((1, FRAMES * FRAME))).astype(np.float32)
    encoded = codec.encode(clip, 24000)
    sound = codec.decode(encoded)
    stream = codec.stream()
    tokens, heard = [], []
    for start in range(0, FRAMES, block):
        piece = clip[None, :, start * FRAME : (start + block) * FRAME]
        tokens.append(stream.encode(piece))
        heard.append(stream.decode(tokens[-1]))
        assert tokens[-1].shape[2] == piece.shape[2] // FRAME
        assert heard[-1].shape == piece.shape
    assert len(np.unique(encoded.payload)) > 50
    assert np.mean(np.concatenate(tokens, axis=2)[0] == encoded.payload) > 0.995
    if np.array_equal(np.concatenate(tokens, axis=2)[0], encoded.payload):
        np.testing.assert_allclose(np.concatenate(heard, axis=2)[0], sound, atol=1e-4)
    again = codec.stream()
    parts = [again.decode(np.asarray(encoded.payload)[None, :, i : i + block]) for i in range(0, FRAMES, block)]
    np.testing.assert_allclose(np.concatenate(parts, axis=2)[0], sound, atol=1e-4)


def test_frames_that_are_decoded_each_by_itself_are_another_sound() -> None:
    """So UltraEval-Audio made its row for streaming: after the first, each frame lacks those before it."""
    codec = mimi()
    clip = (0.2 * np.random.default_rng(3).standard_normal((1, FRAMES * FRAME))).astype(np.float32)
    encoded = codec.encode(clip, 24000)
    tokens = torch.from_numpy(np.asarray(encoded.payload))[None]
    with torch.inference_mode():
        alone = [codec.model.decode(tokens[:, :, i : i + 1]).audio_values[0, 0].numpy() for i in range(FRAMES)]
    parts = codec.decode(encoded)[0].reshape(FRAMES, FRAME)
    np.testing.assert_allclose(alone[0], parts[0], atol=1e-4)
    differs = [np.abs(one - part).max() / np.abs(part).max() for one, part in zip(alone[1:], parts[1:], strict=True)]
    assert min(differs) > 0.1


def test_a_block_that_is_no_whole_frame_is_refused() -> None:
    """A stream takes whole frames of 1920 samples and says so."""
    with pytest.raises(RefusedSetting, match="whole frames of 1920 samples, got 100"):
        mimi().stream().encode(np.zeros((1, 1, 100), dtype=np.float32))
