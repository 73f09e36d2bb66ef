"""EnCodec at 48 kHz: where its chunks begin and end, and how they are faded into one another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from support.codecs.checkpoints import opened

from codec_superb.base_codec.families.encodec import Encodec48k, _OverlapAdd

LENGTH, STRIDE = 480, 475


@pytest.mark.parametrize(("chunks", "last"), [(1, 32), (1, 477), (2, 477), (3, 3), (5, 200), (4, 480)])
def test_the_mixture_is_the_weighted_mean_of_the_chunks(chunks: int, last: int) -> None:
    """Each sample is the mean of the chunks that reach it, weighted with their triangles, however short the last is."""
    mix = _OverlapAdd(chunks, last, SimpleNamespace(chunk_length=LENGTH, chunk_stride=STRIDE), 2)
    full = LENGTH if chunks > 1 else last
    triangle = 0.5 - np.abs(np.linspace(0, 1, full + 2)[1:-1] - 0.5)
    total = STRIDE * (chunks - 1) + last
    sums, weights = np.zeros((2, total)), np.zeros(total)
    for index in [chunks - 1, *range(chunks - 1)]:  # the shortest chunk comes first
        size = last if index == chunks - 1 else LENGTH
        sound = np.random.default_rng(index).standard_normal((2, size)).astype(np.float32)
        mix.add(index, sound)
        end = min(index * STRIDE + size, total)
        reached = slice(index * STRIDE, end)
        sums[:, reached] += (triangle[:size] * sound)[:, : end - index * STRIDE]
        weights[reached] += triangle[: end - index * STRIDE]
    np.testing.assert_allclose(mix.result(), sums / weights, rtol=1e-4, atol=1e-5)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("samples", "frames"), [(47521, (149, 1)), (47680, (149, 1)), (47681, (150, 1)), (95100, (150, 149, 1))]
)
def test_a_last_chunk_of_less_than_half_a_frame_is_coded(samples: int, frames: tuple[int, ...]) -> None:
    """The chunk before it then has a frame less; the tokens are those of each chunk alone, and the clip comes back."""
    codec = opened("encodec_48k_3bps", "encodec_48k")
    assert isinstance(codec, Encodec48k)
    clip = (0.1 * np.random.default_rng(0).standard_normal((2, samples))).astype(np.float32)
    encoded = codec.encode(clip, 48000)
    with torch.inference_mode():
        parts = [
            codec._chunk_to_tokens(torch.from_numpy(clip[None, :, start : start + 48000].copy()))[0][0].numpy()
            for start in range(0, samples, 47520)
        ]
    assert tuple(part.shape[1] for part in parts) == frames
    assert np.array_equal(encoded.payload, np.concatenate(parts, axis=1))
    assert codec.decode(encoded).shape == clip.shape
    together = codec.encode_batch([clip, clip[:, :30000]], 48000)[0]
    assert np.array_equal(together.payload, encoded.payload)
