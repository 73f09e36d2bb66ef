"""Listening samples whose sound is not the submitted one to the last bit: rounding passes, a similar codec does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.audio import speech_like
from support.pipeline.stats import row

from codec_superb.base_codec.registry import open_codec
from codec_superb.pipeline.runs.audio_store import write_audio
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.pipeline.verification.beyond_rows import compare_samples
from codec_superb.pipeline.verification.statement import Difference

CLIPS, RATE = 4, 16_000
HALF_A_STEP = 2.0**-24


def _sounds(codec: str, off: float = 0.0) -> list[NDArray[np.float32]]:
    opened = open_codec(codec, "cpu")
    try:
        given = [speech_like(2.0, RATE, seed=seed) + np.float32(off) for seed in range(CLIPS)]
        return [opened.decode(opened.encode(sound[np.newaxis], RATE))[0] for sound in given]
    finally:
        opened.close()


def _compared(folder: Path, here: str, there: list[NDArray[np.float32]], *, rounds: bool) -> tuple[Difference, ...]:
    run, samples, members, found = RunFolder(folder), [], {}, {}
    for number, sound in enumerate(_sounds(here)):
        clip, name = f"c{number}", f"samples/{number:02}-resynthesis.ogg"
        path = run.audio_path(clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = write_audio(path, sound, RATE)
        found[clip] = row(clip, resynthesis_sha256=stored.sha256)
        members[name] = ogg_opus(there[number], RATE)
        samples.append(
            Sample(
                dataset="mini", clip=clip, category="speech", licence="CC0-1.0", attribution="", resynthesis=name,
                reference=f"samples/{number:02}-reference.ogg", reference_sha256="0" * 64, resynthesis_sha256="0" * 64,
            )
        )  # fmt: skip
    submitted = {clip: of.model_copy(update={"resynthesis_sha256": "0" * 64}) for clip, of in found.items()}
    return compare_samples(samples, members, submitted, found, run, rounds=rounds)


def test_a_similar_codec_is_told_from_rounding(tmp_path: Path) -> None:
    """Vorbis of another quality has its neighbour's levels and not its sound; half a step of the input has both."""
    assert _compared(tmp_path / "a", "vorbis_q0", _sounds("vorbis_q0", HALF_A_STEP), rounds=True) == ()
    neighbour = _sounds("vorbis_q2")
    (found,) = _compared(tmp_path / "b", "vorbis_q0", neighbour, rounds=True)
    assert "median" in found.quantity
    # of a codec that is the same everywhere other versions of libraries may be why: its rows say so
    assert _compared(tmp_path / "c", "vorbis_q0", neighbour, rounds=False) == ()
