"""Listening samples: those of another sound, of a similar codec or mixed with the original are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import signal
from support.audio import speech_like
from support.pipeline.stats import row

from codec_superb.base_codec.registry import open_codec
from codec_superb.pipeline.runs.audio_store import write_audio
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.samples import coder_input, ogg_opus
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.pipeline.verification import sounds
from codec_superb.pipeline.verification.sounds import Sound, compare_samples
from codec_superb.pipeline.verification.statement import Difference

CLIPS, RATE = 4, 16_000
HALF_A_STEP = 2.0**-24
OF_A_PHASE = 2.0**-8
"""An offset that turns decisions of Codec2."""


def _clips() -> list[Sound]:
    return [speech_like(2.0, RATE, seed=seed) for seed in range(CLIPS)]


def _sounds(codec: str, off: float = 0.0) -> list[Sound]:
    opened = open_codec(codec, "cpu")
    try:
        return [opened.decode(opened.encode((sound + np.float32(off))[np.newaxis], RATE))[0] for sound in _clips()]
    finally:
        opened.close()


@pytest.fixture(autouse=True)
def originals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the clips here those that the codecs are given."""
    clips = {f"c{number}": coder_input(sound, RATE) for number, sound in enumerate(_clips())}
    monkeypatch.setattr(sounds, "_originals", lambda _run: lambda clip: [clips[clip]])


def _compared(
    folder: Path,
    here: str,
    there: list[Sound],
    *,
    rounds: bool = True,
    wanders: bool = False,
    same: bool = False,
    kbps: int = 64,
) -> tuple[Difference, ...]:
    run, samples, members, found = RunFolder(folder), [], {}, {}
    for number, sound in enumerate(_sounds(here)):
        clip, name = f"c{number}", f"samples/{number:02}-resynthesis.ogg"
        path = run.audio_path(clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = write_audio(path, sound, RATE)
        found[clip] = row(clip, resynthesis_sha256=stored.sha256)
        members[name] = ogg_opus(there[number], RATE, kbps)
        samples.append(
            Sample(
                dataset="mini", clip=clip, category="speech", licence="CC0-1.0", attribution="", resynthesis=name,
                reference=f"samples/{number:02}-reference.ogg", reference_sha256="0" * 64, resynthesis_sha256="0" * 64,
            )
        )  # fmt: skip
    other = {} if same else {"resynthesis_sha256": "0" * 64}
    submitted = {clip: of.model_copy(update=other) for clip, of in found.items()}
    return compare_samples(samples, members, submitted, found, run, rounds=rounds, wanders=wanders)


def test_a_similar_codec_is_told_from_rounding(tmp_path: Path) -> None:
    """Vorbis of another quality has its neighbour's levels and not its sound; half a step of the input has both."""
    assert _compared(tmp_path / "a", "vorbis_q0", _sounds("vorbis_q0", HALF_A_STEP), rounds=True) == ()
    neighbour = _sounds("vorbis_q2")
    assert _compared(tmp_path / "b", "vorbis_q0", neighbour, rounds=True)
    # of a codec that is the same everywhere other versions of libraries may be why: its rows say so
    assert _compared(tmp_path / "c", "vorbis_q0", neighbour, rounds=False) == ()


def test_codec2_wanders(tmp_path: Path) -> None:
    """One decision that rounding turned moves the phase of what follows: honest samples were held."""
    turned = _sounds("codec2_1200", OF_A_PHASE)
    (found,) = _compared(tmp_path / "a", "codec2_1200", turned)
    assert found.quantity == "median of the listening samples, errors of its coder"
    assert _compared(tmp_path / "b", "codec2_1200", turned, wanders=True) == ()
    clips = [clip[: one.size] for clip, one in zip(_clips(), turned, strict=True)]
    assert _compared(tmp_path / "c", "codec2_1200", clips, wanders=True)


CODECS = ("vorbis_q0", "g726_24k", "opus_6k", "mp3_32k")


@pytest.mark.parametrize("codec", CODECS)
def test_a_sample_is_what_the_coder_makes_of_the_sound(tmp_path: Path, codec: str) -> None:
    """The original in its place, whole or for a third, lies within the errors of a coder at 64 kbps of some codecs."""
    own = _sounds(codec)
    assert _compared(tmp_path / "own", codec, own, same=True) == ()
    for part, kbps in ((1.0, 64), (0.3, 256)):
        mixed = [one + np.float32(part) * (clip[: one.size] - one) for one, clip in zip(own, _clips(), strict=True)]
        found = _compared(tmp_path / f"{part}", codec, mixed, same=True, kbps=kbps)
        assert [of.quantity.partition(",")[0] for of in found] == [f"listening sample of c{at}" for at in range(CLIPS)]


def test_a_little_of_the_original_in_all_samples_tells_in_the_median(tmp_path: Path) -> None:
    """A sixth of the way passes in a single sample, as what another version of the coder may do to a short sound."""
    own = _sounds("mp3_32k")
    little = [one + np.float32(0.16) * (clip[: one.size] - one) for one, clip in zip(own, _clips(), strict=True)]
    (found,) = _compared(tmp_path / "all", "mp3_32k", little, same=True, kbps=96)
    assert found.quantity == "median of the listening samples, dB nearer to the original in a band"
    assert _compared(tmp_path / "one", "mp3_32k", [little[0], *own[1:]], same=True) == ()


def test_short_sounds_vary_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a fifth of a second another coder, here at 56 kbps, leaves levels of bands up to 5 dB elsewhere."""
    parts = [clip[4000:7200] for clip in _clips()]
    own = [sound[4000:7200] for sound in _sounds("g726_24k")]
    monkeypatch.setattr(sounds, "_originals", lambda _run: lambda clip: [coder_input(parts[int(clip[1:])], RATE)])
    monkeypatch.setitem(globals(), "_sounds", lambda _codec: own)
    assert _compared(tmp_path, "g726_24k", own, same=True, kbps=56) == ()
    monkeypatch.setattr(sounds, "_SHORTER", 0.0)
    assert _compared(tmp_path, "g726_24k", own, same=True, kbps=56)


def test_bands_that_a_codec_has_not_are_not_heard(tmp_path: Path) -> None:
    """Noise above the band of a telephone, of the original's level there, is no part of the original's wave."""
    own, noise = _sounds("g726_24k"), np.random.default_rng(0).normal(size=2 * RATE).astype(np.float32)
    high = signal.sosfilt(signal.butter(8, 4500, "high", fs=RATE, output="sos"), noise).astype(np.float32)
    for scale in (1e-3, 1e-2):
        found = _compared(tmp_path / f"{scale}", "g726_24k", [one + scale * high[: one.size] for one in own], same=True)
        assert [of.quantity for of in found] == [
            f"listening sample of c{at}, dB of level in a band" for at in range(CLIPS)
        ]


def test_soft_parts_are_the_codecs_too(tmp_path: Path) -> None:
    """The original in the cells with an eighth of the damage, two thirds of all, changes no band by a decibel."""
    mixed = []
    for own, clip in zip(_sounds("mp3_32k"), _clips(), strict=True):
        damaged, clean = (signal.stft(sound[: own.size], RATE, nperseg=320)[2] for sound in (own, clip))
        damage = np.abs(clean - damaged) ** 2
        order = np.argsort(damage, axis=1)
        total = np.cumsum(np.take_along_axis(damage, order, 1), axis=1)
        soft = np.zeros(damage.shape, np.bool_)
        np.put_along_axis(soft, order, total < total[:, -1:] / 8, 1)
        mixed.append(signal.istft(np.where(soft, clean, damaged), RATE, nperseg=320)[1][: own.size].astype(np.float32))
    found = _compared(tmp_path, "mp3_32k", mixed, same=True, kbps=76)
    assert [of.quantity.partition(", ")[2] for of in found] == ["dB nearer to the original in a band"] * CLIPS


@pytest.mark.parametrize("codec", CODECS[:1])
def test_one_sample_of_a_codec_that_rounds_is_not_the_original(tmp_path: Path, codec: str) -> None:
    """Where the sound is another, as rounding makes it, a single sample is held to what rounding does."""
    mixed = _sounds(codec, HALF_A_STEP)
    mixed[0] = _clips()[0][: mixed[0].size]
    (found,) = _compared(tmp_path, codec, mixed)
    assert found.quantity.startswith("listening sample of c0, dB")
