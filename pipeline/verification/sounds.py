"""Whether the listening samples of a submission are the sounds that were made here, and their references the clips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.conditions.apply import heard as given
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import dataset_of_run, load_mono
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.facts.check_sound import LENGTH_SLACK, SOUND_DB
from codec_superb.pipeline.submission.facts.fingerprint import distance, fingerprint, frames_of
from codec_superb.pipeline.submission.samples import OPUS_RATE, as_sample, coder_input, decoded, ogg_opus
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.statement import Difference

Sound = NDArray[np.float32]
Bands = list[NDArray[np.complex128]]
"""Cells of the spectra of a sound, by band, each of shape ``(frames, bins)``."""
Audio = tuple[Sound, int]
"""Mono samples and their rate in Hz."""


class Apart(NamedTuple):
    """How far a sample lies from what the coder of samples makes here of the same sound."""

    errors: float
    """Amplitude of its error, in errors of the coder here."""
    level: float
    """Decibels by which the level of a band differs over the whole sample, of the band where that is most."""
    nearer: float
    """Decibels by which the damage in a band (its difference from the original) is less, likewise: of all of it, or in
    the mean over its cells, where the soft ones count as much."""


_TOLD = ("errors of its coder", "dB of level in a band", "dB nearer to the original in a band")
SAMPLE, SEVERAL, MEDIAN = Apart(3.0, 1.5, 2.5), 4, Apart(2.0, 1.0, 1.0)
"""Limits of a sample of the same sound, and of the median of several. Samples by PyAV 12.3 and 15.1 of 25 clips of
``mini`` by 12 codecs have 0.86 to 1.64 errors of 18.1 (of parts of a second up to 2.74), levels within 0.46 dB and lie
0.67 dB nearer at most (1.82); with the original in place of the codec's sound they lie 4 dB nearer and more, of codecs
of 64 kbps some by 1.3."""
REFERENCE = Apart(1.2, 1.0, 0.0)
"""Limits of a reference, whose errors are 0.978 to 1.011 times those here."""
TURNED, FEW = Apart(np.inf, 3.0, 3.0), Apart(4.0, 3.0, 3.0)
"""Limits of a sample of another sound, which may be that of a decision which rounding turned, and of their median where
there are less than several. Of 13 codecs that round, given half an LSB of 24 bits more, levels were off by 2.3 dB at
most, and as much nearer."""
WANDERING = frozenset({"amrwb", "codec2"})
"""Families of which one decision that rounding turned moves the phase of all that follows: of two samples of Codec2 at
700 and 1,200 bit/s, given half an LSB more, the error was 10 times that of the coder, at nearly the same levels."""
_SHORTER = 0.7
"""Power of the duration below a second, in seconds, by which decibels are less: over few cells they vary more. Of 0.1 s
samples by other versions of the coder lie 5 dB nearer, and their levels 4 dB apart."""
_EDGES_HZ = (0.0, 400.0, 1000.0, 2500.0, 4000.0, 6000.0, 9000.0, 13000.0, 20000.0)
_FRAME = 1920
"""40 ms at 48 kHz."""
_FLOOR, _SOFT = 1e-5, 1e-6
"""Power in a band, in that of the strongest band, below which it is the coder's business, and the same of a cell."""


def made_elsewhere(
    samples: Sequence[Sample], members: Mapping[str, bytes], found: Mapping[str, ClipRow], run: RunFolder
) -> list[Sample]:
    """Return the listening samples of one dataset that are not to the last byte what the coder of samples makes here.

    Those are by another version of it, of a sound that was rounded otherwise, or changed: nobody can tell them apart.
    """
    dataset = dataset_of_run(run.info().dataset)

    def is_made_here(sample: Sample) -> bool:
        row = found.get(sample.clip)
        if row is None or row.resynthesis_sha256 is None:
            return False
        audio = read_audio(run.audio_path(row.clip), row.resynthesis_sha256)
        return members[sample.resynthesis] == ogg_opus(*audio) and members[sample.reference] == ogg_opus(
            *load_mono(dataset.clip(sample.clip))
        )

    return [sample for sample in samples if not is_made_here(sample)]


def compare_samples(
    samples: Sequence[Sample],
    members: Mapping[str, bytes],
    submitted: Mapping[str, ClipRow],
    found: Mapping[str, ClipRow],
    run: RunFolder,
    *,
    rounds: bool,
    wanders: bool = False,
) -> tuple[Difference, ...]:
    """Return the listening samples of one dataset that are not the sound of the codec that ran here.

    ``submitted`` and ``found`` are rows by clip, the latter those of ``run``; a clip that failed here, or has no row,
    says nothing.
    Of the same sound a sample is what the coder of samples makes of it, and so is the median. Of another one its levels
    are compared, and, of a codec that ``rounds``, all distances and their medians: rounding leaves most samples where
    they are, and the sound of another codec, however similar, is elsewhere in all of them; but of one that ``wanders``
    there are no medians.
    """
    differences: list[Difference] = []
    same: list[Apart] = []
    turned: list[Apart] = []
    originals = _originals(run)
    for sample in samples:
        row = found.get(sample.clip)
        if row is None or row.resynthesis_sha256 is None:
            continue
        audio, name = read_audio(run.audio_path(row.clip), row.resynthesis_sha256), f"listening sample of {sample.clip}"
        heard = _played(members[sample.resynthesis], audio, name)
        if isinstance(heard, Difference):
            differences.append(heard)
            continue
        far = _apart(audio, heard, originals(sample.clip))
        if submitted[sample.clip].resynthesis_sha256 == row.resynthesis_sha256:
            same.append(far)
            differences += _beyond(far, SAMPLE, name)
            continue
        if (levels := _by_levels(audio, heard)) > SOUND_DB:
            differences.append(_difference(f"{name}, dB of level", levels, 0.0, SOUND_DB))
        if rounds:
            turned.append(far)
            differences += _beyond(far, TURNED, name)
    for its, few in ((same, SAMPLE), ([] if wanders else turned, FEW)):
        if its and not differences:
            middle = Apart(*(median(values) for values in zip(*its, strict=True)))
            limits = MEDIAN if len(its) >= SEVERAL else few
            differences += _beyond(middle, limits, "median of the listening samples")
    return tuple(differences)


def compare_references(
    samples: Sequence[Sample], members: Mapping[str, bytes], run: RunFolder
) -> tuple[Difference, ...]:
    """Return the listening samples of one dataset beside which another sound than their clip's is heard.

    A reference made worse flatters every codec that is heard beside it.
    """
    dataset = dataset_of_run(run.info().dataset)
    differences: list[Difference] = []
    for sample in samples:
        audio, name = load_mono(dataset.clip(sample.clip)), f"reference beside {sample.clip}"
        heard = _played(members[sample.reference], audio, name)
        if isinstance(heard, Difference):
            differences.append(heard)
        else:
            differences += _beyond(_apart(audio, heard), REFERENCE, name)
    return tuple(differences)


def _originals(run: RunFolder) -> Callable[[str], Sequence[Sound]]:
    """Return what gives a clip as a sample holds it, and what a codec was given of it under a condition."""
    info = run.info()
    dataset, conditions = dataset_of_run(info.dataset), dict.fromkeys((None, info.condition))

    def originals(clip: str) -> list[Sound]:
        audio, rate = load_mono(found := dataset.clip(clip))
        return [coder_input(given(of, dataset, found, audio, rate).samples, rate) for of in conditions]

    return originals


def _played(data: bytes, audio: Audio, name: str) -> Sound | Difference:
    """Decode a sample; where it does not play, or is longer or shorter than what a sample holds, the difference."""
    length = as_sample(*audio).size / audio[1]
    try:
        heard = decoded(data)
    except ValueError:
        return _difference(f"{name}, seconds", None, length)
    if abs(heard.size / OPUS_RATE - length) > LENGTH_SLACK:
        return _difference(f"{name}, seconds", heard.size / OPUS_RATE, length, LENGTH_SLACK)
    return heard


def _difference(quantity: str, submitted: float | None, found: float, allowed: float | None = None) -> Difference:
    return Difference(quantity=quantity[:200], submitted=submitted, found=found, allowed=allowed)


def _beyond(far: Apart, limits: Apart, name: str) -> list[Difference]:
    """Return what lies beyond its limit first, if anything does; the coder here has one error and nothing else."""
    beyond = [
        _difference(f"{name[:150]}, {told}", value, found, limit)
        for value, limit, told, found in zip(far, limits, _TOLD, (1.0, 0.0, 0.0), strict=True)
        if value > limit
    ]
    return beyond[:1]


def _apart(audio: Audio, heard: Sound, originals: Sequence[Sound] = ()) -> Apart:
    """Compare what is heard with what the coder of samples makes here of the same sound."""
    source, coded = coder_input(*audio), decoded(ogg_opus(*audio))
    size = min(source.size, coded.size, heard.size)
    own, its = (float(np.linalg.norm(sound[:size] - source[:size])) for sound in (coded, heard))
    errors = its / max(own, 1e-4 * float(np.sqrt(size)))  # digital silence is coded without an error
    damaged, here, there = (_bands(sound[:size]) for sound in (source, coded, heard))
    floor = _FLOOR * max(_power(band) for band in damaged) + 1e-12
    soft = _SOFT * max(_power(band) / band.size for band in damaged) + 1e-12
    level = float(np.abs(_ratios(there, here, floor)).max())
    nearer = [0.0]
    for original in originals:
        clean = _bands(original[:size])
        damage = _damage(here, clean), _damage(there, clean)
        nearer += [*_ratios(*damage, floor), *_cells(*damage, soft)]
    shorter = min(1.0, size / OPUS_RATE) ** _SHORTER
    return Apart(errors, shorter * level, shorter * max(nearer))


def _damage(sound: Bands, clean: Bands) -> Bands:
    return [its - original for its, original in zip(sound, clean, strict=True)]


def _ratios(one: Bands, two: Bands, floor: float) -> NDArray[np.float64]:
    """Return the level of one above the other in each band, in decibels."""
    powers = np.array([[_power(band) for band in sound] for sound in (one, two)]) + floor
    ratios: NDArray[np.float64] = 10 * np.log10(powers[0] / powers[1])
    return ratios


def _bands(sound: Sound) -> Bands:
    """Transform overlapping Hann windows."""
    hop = _FRAME // 2
    count = max(1, -(-(sound.size - hop) // hop))
    padded = np.pad(sound, (0, (count + 1) * hop - sound.size)) if sound.size < (count + 1) * hop else sound
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME)[::hop][:count]
    spectra = np.fft.rfft(frames * np.hanning(_FRAME))
    places = np.fft.rfftfreq(_FRAME, 1 / OPUS_RATE)
    return [spectra[:, (places >= low) & (places < high)] for low, high in pairwise(_EDGES_HZ)]


def _cells(one: Bands, two: Bands, floor: float) -> list[float]:
    """Return the mean of the levels of single cells, likewise."""
    return [
        float(np.mean(10 * np.log10((np.abs(its) ** 2 + floor) / (np.abs(other) ** 2 + floor))))
        for its, other in zip(one, two, strict=True)
    ]


def _power(cells: NDArray[np.complex128]) -> float:
    return float(np.vdot(cells, cells).real)


def _by_levels(audio: Audio, heard: Sound) -> float:
    own = fingerprint(coder_input(*audio), OPUS_RATE)
    return distance(own, fingerprint(heard, OPUS_RATE, frames_of(own)))
