"""A user's script: mypy reads it in strict mode with the package, and tests/api runs it."""

from __future__ import annotations

import sys
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import codec_superb as cs


def halve(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Resynthesise badly: sixteen steps of the amplitude, whatever the rate."""
    assert rate > 0
    return np.asarray(np.round(audio * 16) / 16, dtype=np.float32)


def main(folder: str) -> cs.Result:
    """Use what docs/python.md names."""
    result = cs.evaluate(halve, folder, kbps=64, metrics=["mel", "stoi"], limit=2, workers=0, progress=False)
    assert_type(result, cs.Result)
    assert_type(result.flat(), dict[str, float])
    assert_type(result.card, cs.Card)
    clip = result.clips[0]
    assert_type(clip, cs.Clip)
    reference, rate = clip.reference()
    resynthesis, _ = clip.resynthesis()
    values = cs.score(reference, resynthesis, rate, ["mel"])
    assert abs(float(values["mel"]) - clip.values["mel"]) < 1e-3
    with cs.open_codec("g711_alaw") as codec:
        assert_type(codec, cs.OpenedCodec)
        assert_type(codec.encode(reference, rate), cs.Encoded)
        assert codec(reference, rate).shape == reference.shape
    assert_type(cs.codecs(), dict[str, cs.Card])
    assert cs.metrics()["mel"].label
    assert "mini" in cs.datasets()
    for one in cs.open_dataset(folder):
        assert one.audio.ndim == 2
    comparison = result.compare("g711_alaw", workers=0, progress=False)
    assert_type(comparison, cs.Comparison)
    return result


if __name__ == "__main__":
    main(sys.argv[1])
